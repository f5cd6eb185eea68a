/**
 * Copies a store to another store, which may use another engine. Compares the two before the copy
 * becomes a usable store.
 */

import { collectionOf } from "./collection.js";
import { type KeyRange, type KeyValueStore, type StoredEntry, StoreError, type StoreKind } from "./store.js";

/** How many entries are read and written at a time. An entry of a service may have a megabyte. */
const BATCH = 32;
/** Greater than every key: keys begin with the name of a service or of a collection. */
const END = "\u{10ffff}";
/**
 * How far the expiry times in two stores may differ, in milliseconds. A store does not adjust times
 * to a clock that differs by less than a second (postgres.ts).
 */
const CLOCK_TOLERANCE_MS = 2_000;

/** Who writes to a store of each kind, for messages. */
const WRITERS: Readonly<Record<StoreKind, string>> = { authority: "an authority", services: "a service" };

interface CopyOptions {
  readonly kind: StoreKind;
  /**
   * True: the copy belongs to no installation yet, so another installation may claim it. False: it
   * belongs to the installation of the original.
   */
  readonly asCopy: boolean;
}

/**
 * Copies every entry of a store that no process writes to. The copied entries get new versions.
 * @param to empty, or with entries of an earlier copy
 * @returns the number of entries in the copy, by the part of their keys before the first `/`
 * @throws {StoreError} if the two stores differ afterwards
 */
export async function copyStore(
  from: KeyValueStore,
  to: KeyValueStore,
  { kind, asCopy }: CopyOptions,
): Promise<ReadonlyMap<string, number>> {
  for await (const entries of batchesOf(from)) {
    await to.commit(entries.map(({ key, value, expires }) => ({ kind: "set", key, value, expires })));
  }
  const owner = asCopy ? undefined : await from.owner();
  if (owner !== undefined) await to.claim(owner, { withEntries: true });
  const differ = new StoreError(
    `store ${to.name} is no copy of ${from.name}. Either ${WRITERS[kind]} writes to ${from.name}; stop it. Or ${to.name} ` +
      "has entries of another copy; delete it. Then copy again",
  );
  if ((await to.owner()) !== owner) throw differ;
  await checkContains(to, from, differ);
  return checkContains(from, to, differ);
}

/**
 * @returns the number of entries in `other`
 * @throws {StoreError} (`error`) if one of them is not in `store`
 */
async function checkContains(
  store: KeyValueStore,
  other: KeyValueStore,
  error: StoreError,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const entries of batchesOf(other)) {
    const found = await store.get(entries.map(({ key }) => key));
    if (!entries.every((entry, index) => isSame(entry, found[index]))) throw error;
    for (const { key } of entries) {
      const name = key.slice(0, key.indexOf("/"));
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

/** @param found also undefined if the entry has expired since it was read */
function isSame({ value, expires }: StoredEntry, found: StoredEntry | undefined): boolean {
  if (found === undefined) return expires !== undefined && expires <= Date.now() + CLOCK_TOLERANCE_MS;
  if (found.value !== value) return false;
  if (expires === undefined || found.expires === undefined) return expires === found.expires;
  return Math.abs(found.expires - expires) <= CLOCK_TOLERANCE_MS;
}

async function* batchesOf(store: KeyValueStore): AsyncGenerator<readonly StoredEntry[], void> {
  let range: KeyRange = { from: "", to: END, limit: BATCH };
  for (let more = true; more; ) {
    const read = await store.range(range);
    if (read.entries.length > 0) yield read.entries;
    range = { ...range, from: read.entries.at(-1)?.key ?? END, afterFrom: true };
    more = read.more;
  }
}

/**
 * Whether an authority may be using the store: its lease record is there. An authority deletes its
 * lease record when it stops.
 */
export async function isInUse(store: KeyValueStore): Promise<boolean> {
  const keys = await collectionOf(store, "grantors").keys();
  return keys.some((key) => !/^(?:retired|applied)\//.test(key));
}
