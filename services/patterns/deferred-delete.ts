/**
 * Deletes many entries. A commit has 100 writes at most, so the commit that deletes a list or a table only puts the entries that
 * belong to it into the trash. They are under an ID that nobody asks for any more, so nobody sees them; here they are
 * deleted, in pieces. What a crash leaves is deleted with the next trash of the namespace.
 */
import type { Call, Write } from "../../src/kit/index.js";

const COLLECTION = "trash";
/** Entries that are deleted together. */
const MAX_PIECE = 100;

/** What belongs to an ID: all entries of these collections whose key begins with the ID and `/`. */
interface DeferredDelete {
  readonly collections: readonly string[];
}

/** The write that puts what belongs to an ID into the trash. */
export function deferDelete(id: string, collections: readonly string[]): Write {
  const value: DeferredDelete = { collections };
  return { set: id, value, collection: COLLECTION };
}

/** Deletes all that is in the trash, until the call ends. */
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
    const { entries } = await store.range({ prefix, limit: MAX_PIECE });
    if (entries.length === 0) return;
    await store.commit(entries.map(({ key }) => ({ delete: key })));
  }
}
