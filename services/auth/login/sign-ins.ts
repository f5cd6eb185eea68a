/** Counts the sign-ins that this authority has written to the log, for metrics. */
import type { Entry } from "../../../src/gen/portico/auth/log/v1/log.js";

type Kind = "login" | "page" | "client";

/** By the event: a login of the command line, a session of the pages, or a grant for a client. */
const KINDS = new Map<string, Kind>([
  ["loggedIn", "login"],
  ["pageSessionStarted", "page"],
  ["grantCreated", "client"],
]);

export class SignIns {
  // Every kind has a count from the start: a rate needs the 0 before the first sign-in.
  readonly counts = new Map<Kind, number>([...KINDS.values()].map((kind) => [kind, 0]));

  /** @param entry that this authority has written */
  count({ events }: Pick<Entry, "events">): void {
    for (const { event } of events) {
      const kind = event && KINDS.get(event.$case);
      if (kind !== undefined) this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    }
  }
}
