/**
 * The store: a few collections of text by key, which survive a crash. This file is the interface; each engine implements
 * it in a file of its own (sqlite.ts, postgres.ts), open.ts opens the one that a URL names, and test/contract/store.ts has a test for
 * each sentence below, which runs on every engine.
 */

/** Why a store takes no writes, where it can tell. */
export type WriteRefusal = "disk_full" | "read_only";

/** The store cannot be used. The message names it and says what to do. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /** Why it takes no writes, where that is what failed. */
  readonly reason: WriteRefusal | undefined;

  constructor(message: string, { reason, ...options }: ErrorOptions & { reason?: WriteRefusal | undefined } = {}) {
    super(message, options);
    this.reason = reason;
  }
}

/** What to do about a store that cannot be used. */
export const REMEDY = "restore it from a backup, or name another store in PORTICO_STORE";

/** What is wrong with a store of a format from before the first release, and what to do. */
export function unreleased(format: number, oldest: number, setting: string): string {
  return (
    `was written before Portico's first release: its format is ${format}, and this version reads formats from ${oldest} on; ` +
    `run the build that wrote it, or start anew with an empty folder in PORTICO_DATA, and another store in ${setting} if it is set`
  );
}

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
   * Writes the value where the key is absent. Resolves to whether it was written. Of several writers of a key, in any
   * processes, one gets `true`. Once it resolves, the value is on disk, and on the synchronous standbys of a server. Where
   * it rejects, the value may have been written all the same.
   */
  create(key: string, value: string): Promise<boolean>;
  /**
   * Writes entries, at least one, with one wait for the disk: all of them where the first one's key is absent and
   * `previous` is there with its value, else none; all that at one moment. Resolves to whether they were written, as
   * `create` does. Where it rejects, all of them may have been written all the same, or none; where another key than
   * the first one is taken, it rejects, and none was.
   */
  createAfter(previous: Entry, entries: readonly Entry[]): Promise<boolean>;
  /**
   * Writes the value where the key is present, and resolves to whether it was. Once it resolves, the value is where that
   * of `create` is; with `durable: false` it need not be: a crash may bring back the value before it. Where it rejects,
   * the value may have been written all the same.
   */
  replace(key: string, value: string, options?: { readonly durable?: boolean }): Promise<boolean>;
  /** Deletes the keys, all at one moment. Absent keys are ignored. A deleted key can be created again. */
  delete(keys: readonly string[]): Promise<void>;
  /** Deletes the key where it has this value, at one moment; resolves to whether it had. */
  deleteIf(key: string, value: string): Promise<boolean>;
  /** Every key, ascending, as they were at one moment. Sees what `get` sees. */
  keys(): Promise<string[]>;
}

/** The collections of the authority, each described by the file that uses it. */
export const COLLECTIONS = ["log", "snapshots", "grantors", "usage", "time"] as const;
/** The name of a collection. */
export type CollectionName = (typeof COLLECTIONS)[number];

/** Fills a store that is being made. */
export type Fill = (store: Store) => Promise<void>;

/** An open store. */
export interface Store {
  /** The file or server, for messages: `/var/lib/portico/portico.sqlite`. */
  readonly name: string;
  /**
   * Whether authorities on several machines may use the store at once, and a read may be answered by a server that another
   * one has replaced. Then a read proves nothing of what others have written. But a read that begins after a `create` or
   * `replace` of this open store has resolved, durable, is answered by a server that has that write.
   */
  readonly mayBeStale: boolean;
  /** The collections share nothing: the same key may be in each, with different values. */
  collection(name: CollectionName): Collection;
  /**
   * Calls the listener soon after another process has created or replaced an entry of the collection, where the engine can
   * tell. It is a hint: it may come late, more than once, or never; reading is the truth. The returned function ends it.
   */
  follow(name: CollectionName, listener: () => void): () => void;
  /** What the clock of the store's server says, in milliseconds since 1970; undefined for an engine without a server. */
  time(): Promise<number | undefined>;
  close(): Promise<void>;
}
