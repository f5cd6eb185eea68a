/**
 * The store: a few collections of text by key, which survive a crash. This file is the interface; each engine implements
 * it in a file of its own (sqlite.ts, postgres.ts), open.ts opens the one that a URL names, and test/contract/store.ts has a test for
 * each sentence below, which runs on every engine.
 *
 * This room does not know what the texts mean.
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

/** What a commit writes. */
export interface Commit {
  /** An entry that must be there with its value. */
  readonly expect?: Entry | undefined;
  /** Entries whose keys must be absent, at least one. */
  readonly create: readonly Entry[];
  /** What is written with them in another collection, or in the same one under other keys. */
  readonly beside?: Beside | undefined;
}

/** What a commit writes without a condition. */
export interface Beside {
  readonly collection: CollectionName;
  /** Entries that replace those of the same keys, each key once. */
  readonly set: readonly Entry[];
  /** Keys to delete, none of them in `set`. Absent keys are ignored. */
  readonly delete: readonly string[];
}

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
  /** The last `limit` entries whose key is less than `key`, descending; else as `after`. */
  before(key: string, limit: number): Promise<Entry[]>;
  /**
   * Writes the value where the key is absent. Resolves to whether it was written. Of several writers of a key, in any
   * processes, one gets `true`. Once it resolves, the value is on disk, and on the synchronous standbys of a server. Where
   * it rejects, the value may have been written all the same.
   */
  create(key: string, value: string): Promise<boolean>;
  /**
   * Makes a commit, with one wait for the disk: all that it writes where the first of the entries to create is absent, and
   * the expected one is there with its value, else nothing; all that at one moment. Resolves to whether it was made; once it
   * has, all of it is where that of `create` is. Where it rejects, all of it may have been written all the same, or nothing;
   * where another entry to create than the first is there, it rejects, and nothing was written.
   */
  commit(commit: Commit): Promise<boolean>;
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
  /** How many bytes the collection takes on disk; of an engine that can tell it only for the whole store, what that takes. */
  size(): Promise<number>;
}

/** The collections of the authority, each described by the file that uses it. */
export const COLLECTIONS = ["log", "snapshots", "grantors", "usage", "time", "audit"] as const;
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
