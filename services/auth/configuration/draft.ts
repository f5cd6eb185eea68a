/**
 * Collects the events of a plan. Each is applied to a draft of the state, on which the next one is
 * decided.
 */
import { invalidArgument, StatusError } from "../../../src/errors.js";
import type { Timestamp } from "../../../src/gen/google/protobuf/timestamp.js";
import type { LogEvent } from "../log/changelog/decide.js";
import { fold } from "../log/state/fold.js";
import type { State } from "../log/state/state.js";
import { type ConfiguredItem, keyOf, type Section } from "./sections.js";

export class Draft {
  readonly events: LogEvent[] = [];
  readonly state: State;
  readonly namespace: string;
  readonly #time: Timestamp;

  /** @param base is not changed, and must not change while the draft is used */
  constructor(base: State, { namespace, time }: { namespace: string; time: Timestamp }) {
    this.state = base.draft();
    this.namespace = namespace;
    this.#time = time;
  }

  add(...events: readonly LogEvent[]): void {
    if (events.length === 0) return;
    const { namespace } = this;
    fold(this.state, { time: this.#time, actor: "", namespace, events: events.map((event) => ({ event })) });
    this.events.push(...events);
  }
}

/** An item that is to be in the configuration. */
export interface Wanted<T> {
  readonly item: T;
  /** The place in the request, such as `rules[3]`. */
  readonly place: string;
  /** The item as it is in the state; undefined if it is new. */
  readonly present: T | undefined;
}

/** What must change in a section. */
export interface Differences<T> {
  /** Items to create or change. */
  readonly wanted: readonly Wanted<T>[];
  /** Items that are there and not listed. */
  readonly unlisted: readonly T[];
}

/**
 * Compares the listed items of a section with the state.
 * @param checked checks and completes an item; its error names the place
 * @throws {StatusError} INVALID_ARGUMENT for an item that is listed twice
 */
export function differencesIn<T extends ConfiguredItem>(
  section: Section<T>,
  listed: readonly T[],
  { state, namespace }: Pick<Draft, "state" | "namespace">,
  checked: (item: T, place: string) => T,
): Differences<T> {
  const present = new Map(section.read(state, namespace).map((item) => [keyOf(item), item]));
  const seen = new Set<string>();
  const wanted = listed.flatMap((given, index) => {
    const place = `${section.name}[${index}]`;
    const item = checked(given, place);
    const key = keyOf(item);
    if (seen.has(key)) throw invalidArgument(`${place}: ${key} is listed twice`);
    seen.add(key);
    const before = present.get(key);
    const isSame = before !== undefined && Buffer.from(section.encode(before)).equals(section.encode(item));
    return isSame ? [] : [{ item, place, present: before }];
  });
  return { wanted, unlisted: [...present.values()].filter((item) => !seen.has(keyOf(item))) };
}

/** Text that begins with a field, such as `scopes[2]: `. */
const FIELD = /^[a-z_]+(?:\[\d+\])?(?:\.[a-z_]+(?:\[\d+\])?)*: /;

/**
 * Runs a check. Its error names the place of the item, and the field that it names itself.
 * @throws {StatusError}
 */
export function inItem<T>(place: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const message = error.message.replace(/^service\./, "");
    const text = FIELD.test(message) ? `${place}.${message}` : `${place}: ${message}`;
    throw new StatusError(error.code, text, { cause: error });
  }
}
