/**
 * Deferred delete of many entries. A commit has at most 100 writes. So the commit that deletes a
 * list or a table only records the ID of its entries. No call uses this ID any more, so the entries
 * are not visible. `deleteExpired` deletes them later, in several commits. If a crash interrupts
 * it, the next deferred delete of the namespace continues.
 */
import type { Call, Write } from "../../src/kit/index.js";

// Stores that exist have the collection under this name.
const COLLECTION = "trash";
/** The maximum number of entries that one commit deletes. */
const MAX_DELETED = 100;

/**
 * What is to be deleted: all entries of these collections whose keys begin with the ID and `/`. The
 * entry is stored under the ID.
 */
interface DeferredDelete {
  readonly collections: readonly string[];
}

/** The write that records an ID for deferred deletion. */
export function deferDelete(id: string, collections: readonly string[]): Write {
  const value: DeferredDelete = { collections };
  return { set: id, value, collection: COLLECTION };
}

/** Deletes everything that was recorded, until the call ends. */
export async function deleteExpired(call: Call): Promise<void> {
  const deferred = call.store<DeferredDelete>(COLLECTION);
  const { entries } = await deferred.range();
  for (const { key: id, value } of entries) {
    for (const collection of value.collections) await deleteAll(call, collection, `${id}/`);
    if (call.signal.aborted) return;
    await deferred.delete(id);
  }
}

async function deleteAll(call: Call, collection: string, prefix: string): Promise<void> {
  const store = call.store(collection);
  while (!call.signal.aborted) {
    const { entries } = await store.range({ prefix, limit: MAX_DELETED });
    if (entries.length === 0) return;
    await store.commit(entries.map(({ key }) => ({ delete: key })));
  }
}
