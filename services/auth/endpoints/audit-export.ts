/**
 * Audit.Export: sends the records of a trail in their order, and later ones as they are written.
 */

import { Code, failedPrecondition, invalidArgument, StatusError } from "../../../src/errors.js";
import type { ExportAuditRequest, ExportAuditResponse } from "../../../src/gen/portico/auth/v1/audit.js";
import type { BuiltInContext } from "../../../src/rpc/service.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";
import { CURSOR, trailOf } from "../log/audit/audit-records.js";
import { type Journal, unavailable } from "../log/changelog/journal.js";
import { accountOf } from "./checks.js";

/** Maximum number of records in a message: about 100 KiB. */
const BATCH = 256;
/** Maximum number of exports that follow the trail at once. Each reads the store at each change. */
const MAX_FOLLOWING = 100;

export interface ExportOptions {
  readonly journal: Journal;
  /** Aborted when the authority is about to stop. */
  readonly stopping: AbortSignal;
}

/** The handler of Audit.Export. */
export function exportAudit({ journal, stopping }: ExportOptions) {
  let following = 0;
  return async function* (request: ExportAuditRequest, context: BuiltInContext): AsyncGenerator<ExportAuditResponse> {
    const { namespace } = accountOf(context);
    check(request);
    if (request.follow && following >= MAX_FOLLOWING) {
      const detail = `${MAX_FOLLOWING} exports follow the audit trail here already; end one of them, and try again`;
      throw new StatusError(Code.RESOURCE_EXHAUSTED, detail);
    }
    following += request.follow ? 1 : 0;
    try {
      await journal.sync();
      const found = journal.state.namespaces.get(namespace);
      if (found !== undefined) yield* send({ journal, stopping, trail: trailOf(found) }, request, context.signal);
    } catch (error) {
      throw unavailable(error);
    } finally {
      following -= request.follow ? 1 : 0;
    }
  };
}

/** @throws {StatusError} INVALID_ARGUMENT naming the field */
function check({ after, until, follow }: ExportAuditRequest): void {
  if (after !== "" && !CURSOR.test(after)) {
    throw invalidArgument("after: must be the cursor of a record, such as 512.0, or a revision, such as 512");
  }
  if (follow && until !== undefined)
    throw invalidArgument("until: leave it out to follow the trail, or leave out follow");
}

async function* send(
  { journal, stopping, trail }: ExportOptions & { readonly trail: string },
  { after: given, until, follow }: ExportAuditRequest,
  signal: AbortSignal,
): AsyncGenerator<ExportAuditResponse> {
  if (Number(given.split(".")[0]) > journal.state.revision) {
    throw failedPrecondition(
      `after: ${given} is later than the newest change, ${journal.state.revision}: the store is another one, or was restored ` +
        "from a backup that is older. Export again from the revision of the backup, or from the beginning",
    );
  }
  const ended = AbortSignal.any([signal, stopping]);
  const end = until === undefined ? Number.POSITIVE_INFINITY : timestampMs(until);
  for (let after = given; ; ) {
    const { revision } = journal.state;
    const page = await journal.audit.after(trail, after, BATCH);
    // Read after the page, so that no deletion is overlooked. An export that begins with the oldest
    // record misses nothing.
    const deleted = after === "" ? undefined : await journal.audit.deletedAfter(trail, after);
    if (deleted !== undefined) {
      const gone = { after, until: deleted.cursor, time: toTimestamp(deleted.time) };
      yield { records: [], deleted: gone };
    }
    const records = page.filter(({ time }) => timestampMs(time) < end);
    if (records.length > 0) yield { records, deleted: undefined };
    after = page.at(-1)?.cursor ?? deleted?.cursor ?? after;
    if (records.length < page.length) return;
    if (page.length === BATCH) continue;
    if (!follow) return;
    await nextChange(journal, revision, ended);
    if (signal.aborted) return;
    if (stopping.aborted) throw new StatusError(Code.UNAVAILABLE, "the authority is about to stop");
  }
}

/** Resolves when the state has another revision than this, or the signal is aborted. */
function nextChange(journal: Journal, revision: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      unfollow();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const unfollow = journal.follow({ changed: done, replaced: done });
    signal.addEventListener("abort", done);
    if (signal.aborted || journal.state.revision !== revision) done();
  });
}
