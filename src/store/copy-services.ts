/** Copies a store of services to another one, which may be of another engine, and compares the two before the copy becomes a store. */
import type { KeyRange, ServiceStore, StoredEntry } from "./service-store.js";
import { StoreError } from "./store.js";

/** How many entries are read, and written, at a time. */
const BATCH = 200;
/** The least key that is greater than all: keys begin with the name of a service. */
const END = "\u{10ffff}";
/** How far the times of two stores may differ, in milliseconds: neither moves times by less than a second (service-postgres.ts). */
const CLOCK_TOLERANCE_MS = 2_000;

/**
 * Copies every entry of a store that nobody writes to. Entries have other versions in the copy.
 * @param to empty, or with entries of an earlier copy
 * @param options whether the copy belongs to no installation yet, so that another one may take it; else to that of the original
 * @returns how many entries the copy has
 * @throws {StoreError} where the two differ afterwards.
 */
export async function copyServices(from: ServiceStore, to: ServiceStore, { asCopy = false } = {}): Promise<number> {
  for await (const entries of batchesOf(from)) {
    await to.commit(entries.map(({ key, value, expires }) => ({ kind: "set", key, value, expires })));
  }
  const owner = asCopy ? undefined : await from.owner();
  if (owner !== undefined) await to.claim(owner, { withEntries: true });
  if ((await to.owner()) !== owner) throw differ(from, to);
  await checkContains(to, from, differ(from, to));
  return checkContains(from, to, differ(from, to));
}

/** @returns how many entries `other` has. @throws {StoreError} (`error`) where one of them is not in `store`. */
async function checkContains(store: ServiceStore, other: ServiceStore, error: StoreError): Promise<number> {
  let count = 0;
  for await (const entries of batchesOf(other)) {
    const found = await store.get(entries.map(({ key }) => key));
    if (!entries.every((entry, index) => isSame(entry, found[index]))) throw error;
    count += entries.length;
  }
  return count;
}

/** @param found undefined also where its time has passed since the entry was read */
function isSame({ value, expires }: StoredEntry, found: StoredEntry | undefined): boolean {
  if (found === undefined) return expires !== undefined && expires <= Date.now() + CLOCK_TOLERANCE_MS;
  if (found.value !== value) return false;
  if (expires === undefined || found.expires === undefined) return expires === found.expires;
  return Math.abs(found.expires - expires) <= CLOCK_TOLERANCE_MS;
}

function differ(from: ServiceStore, to: ServiceStore): StoreError {
  return new StoreError(
    `store ${to.name} is no copy of ${from.name}. Either a service writes to ${from.name}; stop it. Or ${to.name} has ` +
      "entries of another copy; delete it. Then copy again",
  );
}

async function* batchesOf(store: ServiceStore): AsyncGenerator<readonly StoredEntry[], void> {
  let range: KeyRange = { from: "", to: END, limit: BATCH };
  for (let more = true; more; ) {
    const read = await store.range(range);
    if (read.entries.length > 0) yield read.entries;
    range = { ...range, from: read.entries.at(-1)?.key ?? END, afterFrom: true };
    more = read.more;
  }
}
