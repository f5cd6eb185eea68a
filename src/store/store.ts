/**
 * The store: a few collections of text by key, which survive a crash. This file is the interface; each engine implements
 * it in a file of its own (sqlite.ts), open.ts opens the one that a URL names, and test/contract/store.ts has a test for
 * each sentence below, which runs on every engine.
 */

/** The store cannot be used. The message names it and says what to do. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}

/** What to do about a store that cannot be used. */
export const REMEDY = "restore it from a backup, or name another file in PORTICO_STORE";

/** A key with its value. */
export type Entry = readonly [key: string, value: string];

/**
 * Text by key; keys are ASCII. Every operation ends within the store's deadline, else it rejects with StoreError. A
 * failure is never taken for an absent key. A write that waits or fails, on a full or locked disk, holds up no read.
 */
export interface Collection {
  /** The value of a key; undefined where it is absent. Sees every write that had resolved, by any process. */
  get(key: string): Promise<string | undefined>;
  /** The values of the keys, in the order of the keys, as they were at one moment. Sees what `get` sees. */
  getMany(keys: readonly string[]): Promise<(string | undefined)[]>;
  /**
   * The first `limit` entries whose key is greater than `key`, ascending, as they were at one moment. Sees what `get`
   * sees. Costs no more than what it returns.
   */
  after(key: string, limit: number): Promise<Entry[]>;
  /**
   * Writes the value where the key is absent and, if `previous` is given, that key is present; both at one moment.
   * Resolves to whether it was written. Of several writers of a key, in any processes, one gets `true`. Once it
   * resolves, the value is on disk. Where it rejects, the value may have been written all the same.
   */
  create(key: string, value: string, previous?: string): Promise<boolean>;
  /** Deletes the keys, all at one moment. Absent keys are ignored. A deleted key can be created again. */
  delete(keys: readonly string[]): Promise<void>;
  /** Every key, ascending, as they were at one moment. Sees what `get` sees. */
  keys(): Promise<string[]>;
}

/** The collections of the authority, each described by the file that uses it. */
export const COLLECTIONS = ["log", "snapshots", "grantors", "usage", "time"] as const;
/** The name of a collection. */
export type CollectionName = (typeof COLLECTIONS)[number];

/** An open store. */
export interface Store {
  /** The file or server, for messages: `/var/lib/portico/portico.sqlite`. */
  readonly name: string;
  /** The collections share nothing: the same key may be in each, with different values. */
  collection(name: CollectionName): Collection;
  close(): Promise<void>;
}
