/**
 * Separates the data of a namespace from data that an earlier namespace of the same name has left.
 * Deletes that data when the authority has not known its namespace on 30 days.
 *
 * In the store's keys, a namespace is `acme@<id>`, because each namespace gets an ID when it is
 * created. The namespace `default` has no ID there. No call can reach data under another ID.
 *
 * To delete data later, a mark `~trash/<service>/acme@<id>` is written for it. The data itself does
 * not move. If the namespace comes back, for example after a failover or after the authority was
 * restored from a backup, calls reach the data again, and the mark is deleted.
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

/**
 * The time from the opening of the store to a process's first sweep, and the time between sweeps,
 * in milliseconds.
 */
const FIRST_MS = 60_000;
const INTERVAL_MS = 600_000;
/** On how many days a namespace must have been seen as gone. */
export const TRASH_DAYS = 30;
/** The minimum time between two counts of a namespace, in milliseconds. */
const DAY_MS = 86_400_000;
/** The maximum number of entries that one commit deletes, and of marks that are read at once. */
const MAX_DELETED = 100;
/** The pause between two commits, so that other writes do not wait for long, in milliseconds. */
const PAUSE_MS = 20;

/** What the authority knows about namespaces. */
interface KnownNamespaces {
  /** The ID of the authority's installation. */
  readonly installation: string;
  /** The IDs of the existing namespaces, by their names; empty for a namespace without an ID. */
  readonly ids: ReadonlyMap<string, string>;
}

/** Asks the authority for the namespaces. The result is not older than the request. */
export type ListNamespaces = () => Promise<KnownNamespaces>;

/**
 * The segment for a namespace in the store's keys.
 * @param id as in Admission
 */
export function namespaceSegment(name: string, id: string | undefined): string {
  return id ? `${name}@${id}` : name;
}

/** Returns a function that asks the authority over this connection. */
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

/** The services whose data is swept, and the log for reports. */
export interface SweepOptions {
  /** The services of this process. The data of other services is not touched. */
  readonly services: readonly string[];
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** In milliseconds since 1970. */
  readonly now?: () => number;
}

/** The mark of a namespace whose data is to be deleted. */
interface Mark {
  /** When the namespace was first seen as gone, in milliseconds since 1970. */
  readonly since: number;
  /**
   * When it was last counted, and the number of counts. A jump of the clock adds one count, however
   * far it jumps.
   */
  readonly counted: number;
  readonly days: number;
}

/**
 * Marks the data of namespaces that are gone. Deletes the data of namespaces that were seen as gone
 * on 30 days. A sweep may be stopped at any time. Several processes may sweep at once.
 * @returns the reason why nothing was done; undefined if the sweep was done
 * @throws {StoreError} {StatusError} (rejects) if the store or the authority fails
 */
export async function sweepNamespaces(
  store: KeyValueStore,
  list: ListNamespaces,
  options: SweepOptions,
): Promise<string | undefined> {
  const places: Place[] = [];
  // The store is read before the authority is asked. So a namespace with data existed before the
  // authority responds.
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

/** The reason why the list of namespaces must not be trusted; undefined if it may be. */
function doubtOf({ installation, ids }: KnownNamespaces, owner: string | undefined): string | undefined {
  if (installation !== owner) return `the store belongs to the installation ${owner}, the authority to ${installation}`;
  return ids.has(DEFAULT_NAMESPACE) ? undefined : `the authority knows no namespace ${DEFAULT_NAMESPACE}`;
}

/** The data of one service for one namespace. */
interface Place {
  readonly service: string;
  readonly segment: string;
  /** The mark, if the data is to be deleted. */
  readonly mark: StoredEntry | undefined;
}

/** A service's namespaces that have entries or marks. */
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

/** The namespace exists again. */
async function unmark(store: KeyValueStore, { service, segment, mark }: Place, { log }: SweepOptions): Promise<void> {
  const { key, version } = mark as StoredEntry;
  const { committed } = await store.commit([{ kind: "delete", key, condition: { version } }]);
  if (committed)
    log.info({ service, namespace: segment }, "the authority knows this namespace again: what is kept for it stays");
}

/** Returns false if another process was first. */
async function setMark(store: KeyValueStore, { service, segment, mark }: Place, value: Mark): Promise<boolean> {
  const condition = mark === undefined ? "absent" : { version: mark.version };
  const key = markKey(service, segment);
  const write = { kind: "set", key, value: JSON.stringify(value), expires: undefined, condition } as const;
  return (await store.commit([write])).committed;
}

/**
 * An entry's key begins with a service's name, and so with a digit or a lower-case letter. No
 * service's name begins with `~`.
 */
function markKey(service: string, segment: string): string {
  return `~trash/${service}/${segment}`;
}

/** @returns the number of deleted entries */
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

/** The first key after all keys with the prefix, which ends in `/`. */
function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

/** Sweeps the data of namespaces that are gone, again and again, until it is closed. */
export class NamespaceDataSweeper {
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

  /** Resolves when it no longer uses the store. */
  close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#end.abort();
    return this.#running;
  }

  #after(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => {
      // The next sweep repeats what failed. No call can reach the data meanwhile.
      this.#running = this.#sweep(this.#end.signal)
        .then((doubt) => this.#report(doubt))
        .catch((err) => this.#log.debug({ err }, "data of deleted namespaces was not looked for; trying again"))
        .then(() => {
          if (!this.#end.signal.aborted) this.#timer = this.#after(INTERVAL_MS);
        });
    }, milliseconds).unref();
  }

  #report(doubt: string | undefined): void {
    if (doubt !== undefined && doubt !== this.#doubt) {
      this.#log.warn({ reason: doubt }, "data of deleted namespaces is kept: it is not sure which these are");
    }
    this.#doubt = doubt;
  }
}
