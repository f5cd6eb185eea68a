/**
 * Keeps what services store for a namespace apart from what an earlier namespace of the same name has left, and deletes the
 * latter, 30 days after the authority no longer knew the namespace.
 *
 * In the store's keys a namespace is `acme@<id>`: it has an identity from its creation on. For `default` it is the name alone. What
 * is under another identity cannot be reached by any call.
 *
 * The trash is a mark for each of these, `~trash/<service>/acme@<id>`. The data stays where it is: calls reach it again, and the
 * mark goes, where the namespace is back, such as after a failover or the restoration of a backup of the authority.
 *
 *     gone ──► mark ──► seen gone on 30 days ──► deleted
 *      ▲        │
 *      └─ back ◄┘
 */

import { setTimeout as pause } from "node:timers/promises";
import type { AuthorityAccess } from "../access/follow/authority-access.js";
import { DEFAULT_NAMESPACE } from "../contract/names.js";
import { PolicyService } from "../gen/portico/auth/v1/policy.js";
import type { Logger } from "../log.js";
import { repeated } from "../rpc/client.js";
import type { KeyValueStore, StoredEntry } from "../store/store.js";

/** When a process first looks for what is left, after it has opened the store, and how often then; in milliseconds. */
const FIRST_MS = 60_000;
const INTERVAL_MS = 600_000;
/** How often a namespace must have been seen gone, and how long after each other; in milliseconds. */
export const TRASH_DAYS = 30;
const DAY_MS = 86_400_000;
/** Entries that one commit deletes, and marks that are read at a time. */
const MAX_DELETED = 100;
/** Between two commits, so that others are not kept waiting; in milliseconds. */
const PAUSE_MS = 20;

/** What the authority knows. */
interface KnownNamespaces {
  /** The ID of its installation. */
  readonly installation: string;
  /** The identities of the namespaces that there are, by their names; empty for one without. */
  readonly ids: ReadonlyMap<string, string>;
}

/** Gives what the authority knows, as of a moment after the question. */
export type ListNamespaces = () => Promise<KnownNamespaces>;

/** The segment of the store's keys that stands for a namespace. @param id as in Admission */
export function namespaceSegment(name: string, id: string | undefined): string {
  return id ? `${name}@${id}` : name;
}

/** Asks the authority. The answer is as of a moment after the question. */
export function listNamespacesOf(access: Pick<AuthorityAccess, "channel" | "metadata" | "admission">): ListNamespaces {
  const { channel, metadata, admission } = access;
  return async () => {
    const response = await repeated(channel, PolicyService.listNamespaceIds, {}, { metadata, admission });
    return {
      installation: response.installationId,
      ids: new Map(response.namespaces.map(({ name, id }) => [name, id])),
    };
  };
}

/** Whose data is looked through, and who is told. */
export interface SweepOptions {
  /** The services of this process. Data of others is theirs. */
  readonly services: readonly string[];
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** In milliseconds since 1970. */
  readonly now?: () => number;
}

/** The mark of a namespace in the trash. */
interface Mark {
  /** When it was first seen gone, in milliseconds since 1970. */
  readonly since: number;
  /** When it was counted last, and how often. A clock that jumps counts once, however far. */
  readonly counted: number;
  readonly days: number;
}

/**
 * Marks what is kept for namespaces that are gone, and deletes what was seen gone on 30 days. May be ended and begun again at
 * any time, by several processes at once.
 * @returns why nothing was done; undefined where it was
 * @throws {StoreError} {StatusError} (rejects) where the store or the authority fails
 */
export async function sweepNamespaces(
  store: KeyValueStore,
  list: ListNamespaces,
  options: SweepOptions,
): Promise<string | undefined> {
  const places: Place[] = [];
  // What is in the store is read first: a namespace that has kept something was there before the authority is asked.
  for (const service of options.services) places.push(...(await placesOf(store, service)));
  if (places.length === 0) return undefined;
  const known = await list();
  const doubt = doubtOf(known, await store.owner());
  if (doubt !== undefined) return doubt;
  for (const place of places) {
    options.signal.throwIfAborted();
    if (isGone(place.segment, known.ids)) await markOrDelete(store, place, options);
    else if (place.mark !== undefined) await unmark(store, place, options);
  }
  return undefined;
}

/** Why the list must not be gone by; undefined where it may. */
function doubtOf({ installation, ids }: KnownNamespaces, owner: string | undefined): string | undefined {
  if (installation !== owner) return `the store belongs to the installation ${owner}, the authority to ${installation}`;
  return ids.has(DEFAULT_NAMESPACE) ? undefined : `the authority knows no namespace ${DEFAULT_NAMESPACE}`;
}

/** What a service keeps for a namespace. */
interface Place {
  readonly service: string;
  readonly segment: string;
  /** Where it is in the trash. */
  readonly mark: StoredEntry | undefined;
}

/** A service's namespaces that have entries, or marks. */
async function placesOf(store: KeyValueStore, service: string): Promise<Place[]> {
  const marks = new Map<string, StoredEntry>();
  const marked = markKey(service, "");
  for (let [from, more] = [marked, true]; more; ) {
    const page = await store.range({ from, afterFrom: true, to: endOf(marked), limit: MAX_DELETED });
    for (const entry of page.entries) marks.set(entry.key.slice(marked.length), entry);
    from = page.entries.at(-1)?.key ?? from;
    more = page.more;
  }
  const segments = new Set(marks.keys());
  for (let from = `${service}/`; ; ) {
    const { entries } = await store.range({ from, to: endOf(`${service}/`), limit: 1 });
    if (entries[0] === undefined) break;
    const segment = entries[0].key.split("/", 2)[1] ?? "";
    segments.add(segment);
    from = endOf(`${service}/${segment}/`);
  }
  return [...segments].map((segment) => ({ service, segment, mark: marks.get(segment) }));
}

function isGone(segment: string, ids: ReadonlyMap<string, string>): boolean {
  const [name = "", id = ""] = segment.split("@", 2);
  const current = ids.get(name);
  return current !== id;
}

async function markOrDelete(store: KeyValueStore, place: Place, options: SweepOptions): Promise<void> {
  const { service, segment, mark } = place;
  const now = (options.now ?? Date.now)();
  const reported = { service, namespace: segment };
  if (mark === undefined) {
    if (!(await setMark(store, place, { since: now, counted: now, days: 0 }))) return;
    const entries = await store.count(`${service}/${segment}/`, endOf(`${service}/${segment}/`));
    const what = `the authority does not know this namespace: what is kept for it is deleted in ${TRASH_DAYS} days`;
    options.log.warn({ ...reported, entries }, what);
    return;
  }
  let { since, counted, days } = JSON.parse(mark.value) as Mark;
  if (days < TRASH_DAYS) {
    if (Math.abs(now - counted) < DAY_MS) return;
    days += 1;
    if (!(await setMark(store, place, { since, counted: now, days })) || days < TRASH_DAYS) return;
  }
  const entries = await deleteAll(store, `${service}/${segment}/`, options.signal);
  await store.commit([{ kind: "delete", key: mark.key }]);
  const what = "deleted what was kept for a namespace that the authority has not known for so long";
  options.log.warn({ ...reported, entries, days }, what);
}

/** The namespace is there again. */
async function unmark(store: KeyValueStore, { service, segment, mark }: Place, { log }: SweepOptions): Promise<void> {
  const { key, version } = mark as StoredEntry;
  const { committed } = await store.commit([{ kind: "delete", key, condition: { version } }]);
  if (committed)
    log.info({ service, namespace: segment }, "the authority knows this namespace again: what is kept for it stays");
}

/** Whether no other process was first. */
async function setMark(store: KeyValueStore, { service, segment, mark }: Place, value: Mark): Promise<boolean> {
  const condition = mark === undefined ? "absent" : { version: mark.version };
  const key = markKey(service, segment);
  const write = { kind: "set", key, value: JSON.stringify(value), expires: undefined, condition } as const;
  return (await store.commit([write])).committed;
}

/** Keys of entries begin with a service's name: with a digit or a small letter. */
function markKey(service: string, segment: string): string {
  return `~trash/${service}/${segment}`;
}

/** @returns how many entries it has deleted */
async function deleteAll(store: KeyValueStore, prefix: string, signal: AbortSignal): Promise<number> {
  const range = { from: prefix, to: endOf(prefix), limit: MAX_DELETED };
  for (let deleted = 0; ; ) {
    signal.throwIfAborted();
    const { entries, more } = await store.range(range);
    if (entries.length > 0) await store.commit(entries.map(({ key }) => ({ key, kind: "delete" })));
    deleted += entries.length;
    if (!more) return deleted;
    await pause(PAUSE_MS, undefined, { signal });
  }
}

/** The first key after all that begin with the prefix, which ends in `/`. */
function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

/** Looks again and again for what is left of namespaces, until it is closed. */
export class LeftData {
  readonly #sweep: (signal: AbortSignal) => Promise<string | undefined>;
  readonly #log: Logger;
  readonly #end = new AbortController();
  #timer: NodeJS.Timeout;
  #running: Promise<void> = Promise.resolve();
  #doubt: string | undefined;

  constructor(store: KeyValueStore, list: ListNamespaces, options: Omit<SweepOptions, "signal">) {
    this.#sweep = (signal) => sweepNamespaces(store, list, { ...options, signal });
    this.#log = options.log;
    this.#timer = this.#after(FIRST_MS);
  }

  /** Resolves when the store is not used any more. */
  close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#end.abort();
    return this.#running;
  }

  #after(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => {
      // What fails is done the next time: nothing can reach the data meanwhile.
      this.#running = this.#sweep(this.#end.signal)
        .then((doubt) => this.#tell(doubt))
        .catch((err) => this.#log.debug({ err }, "data of deleted namespaces was not looked for; trying again"))
        .then(() => {
          if (!this.#end.signal.aborted) this.#timer = this.#after(INTERVAL_MS);
        });
    }, milliseconds).unref();
  }

  #tell(doubt: string | undefined): void {
    if (doubt !== undefined && doubt !== this.#doubt) {
      this.#log.warn({ reason: doubt }, "data of deleted namespaces is kept: it is not sure which these are");
    }
    this.#doubt = doubt;
  }
}
