/** Copies a store to another one, which may be of another engine, and compares the two before the copy becomes a store. */
import { COLLECTIONS, type Collection, type CollectionName, type Entry, type Store, StoreError } from "./store.js";

/** How many entries are read at a time. A part of a snapshot may have a megabyte. */
const BATCH = 32;

/** How many entries of each collection were copied. */
export type Copied = Readonly<Record<CollectionName, number>>;

/**
 * Copies every entry of a store that nobody writes to.
 * @param to empty, or with entries of an earlier copy
 * @throws {StoreError} where the two differ afterwards.
 */
export async function copyStore(from: Store, to: Store): Promise<Copied> {
  const copied: Partial<Record<CollectionName, number>> = {};
  for (const name of COLLECTIONS) {
    for await (const entries of batchesOf(from.collection(name))) {
      await Promise.all(entries.map(([key, value]) => to.collection(name).create(key, value)));
    }
  }
  for (const name of COLLECTIONS) copied[name] = await compare(from, to, name);
  return copied as Copied;
}

/** How many entries both have. */
async function compare(from: Store, to: Store, name: CollectionName): Promise<number> {
  let count = 0;
  const copies = batchesOf(to.collection(name));
  for await (const entries of batchesOf(from.collection(name))) {
    const { value: copy = [] } = await copies.next();
    const isSame = entries.every(([key, value], index) => copy[index]?.[0] === key && copy[index]?.[1] === value);
    if (!isSame || copy.length !== entries.length) throw differ(from, to, name);
    count += entries.length;
  }
  if (!(await copies.next()).done) throw differ(from, to, name);
  return count;
}

function differ(from: Store, to: Store, name: CollectionName): StoreError {
  return new StoreError(
    `store ${to.name} is no copy of ${from.name}: ${name} differs. Either an authority writes to ${from.name}; stop it. Or ` +
      `${to.name} has entries of another copy; delete it. Then copy again`,
  );
}

async function* batchesOf(collection: Collection): AsyncGenerator<Entry[], void> {
  for (let last = ""; ; ) {
    const entries = await collection.after(last, BATCH);
    if (entries.length === 0) return;
    yield entries;
    last = entries.at(-1)![0];
  }
}

/** Whether an authority may be using the store: it has a claim there, which one that is stopped deletes. */
export async function isInUse(store: Store): Promise<boolean> {
  const keys = await store.collection("grantors").keys();
  return keys.some((key) => !/^(?:retired|applied)\//.test(key));
}
