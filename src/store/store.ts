/**
 * The store: one ordered map from text keys to text values, which survives a crash. An installation
 * has two stores, each in its own file or schema: one for the authority (collection.ts), and one
 * for its services (src/kit/collection-store.ts). This file is the interface. Each engine
 * implements it in its own file (sqlite.ts, postgres.ts), and open.ts opens the store that a URL
 * names. For each sentence below, test/contract/store.ts has a test that runs on every engine.
 *
 * Keys are ordered by their UTF-8 bytes. For every operation, an expired entry is absent. Every
 * operation ends within the store's deadline, or rejects with StoreError. A failure is never
 * reported as an absent key. A write that waits or fails because of a full or locked disk does not
 * block reads.
 *
 * This room does not know what the texts mean.
 */

/** Why a store accepts no writes, if it can tell. */
export type WriteRefusal = "disk_full" | "read_only";

/** The store cannot be used. The message names the store and says what to do. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /** Set if the error is that the store accepts no writes. */
  readonly reason: WriteRefusal | undefined;

  constructor(message: string, { reason, ...options }: ErrorOptions & { reason?: WriteRefusal | undefined } = {}) {
    super(message, options);
    this.reason = reason;
  }
}

/** What to do about a store that cannot be used. */
export const REMEDY = "restore it from a backup, or name another store in PORTICO_STORE";

/** The error text for a store with a format from before the first release. */
export function unreleased(format: number, oldest: number, setting: string): string {
  return (
    `was written before Portico's first release: its format is ${format}, and this version reads formats from ${oldest} on; ` +
    `run the build that wrote it, or start anew with an empty folder in PORTICO_DATA, and another store in ${setting} if it is set`
  );
}

/**
 * The maximum number of bytes in the entries that `range` returns; a single entry may have more.
 * The values of one commit must not exceed it either, which the caller of `commit` checks.
 */
export const MAX_TOTAL_BYTES = 4 * 1024 ** 2;

/** A key with its value. */
export interface StoredEntry {
  readonly key: string;
  readonly value: string;
  /**
   * Changes with each write, even if the value stays the same or the key was deleted before.
   * Compare it only for equality.
   */
  readonly version: string;
  /** When the entry expires, in milliseconds of `Date.now()`; undefined for never. */
  readonly expires: number | undefined;
}

/** Which keys `range` returns. */
export interface KeyRange {
  /** The smallest key. It is included unless `afterFrom` is set. */
  readonly from: string;
  readonly afterFrom?: boolean | undefined;
  /** The end, which is excluded. */
  readonly to: string;
  readonly limit: number;
  /** Descending instead of ascending. */
  readonly reverse?: boolean | undefined;
}

/** A condition for a write: the key is absent, is present, or has this version or value. */
export type Condition = "absent" | "present" | { readonly version: string } | { readonly value: string };

/**
 * One write of a commit. `increment` treats an absent key as 0, and does not change the expiry time
 * of a present key.
 */
export type StoredWrite = {
  readonly key: string;
  readonly condition?: Condition | undefined;
  /**
   * The key of a log of changes (change-log.ts). If this key is present, the write appends its
   * change to the log, which has the last MAX_CHANGES changes, for CHANGE_TTL_MS each. Revisions
   * grow by 1, in the order in which the commits take effect. An entry that expires is no change.
   */
  readonly log?: string | undefined;
} & (
  | { readonly kind: "set"; readonly value: string; readonly expires: number | undefined }
  | {
      readonly kind: "increment";
      readonly by: number;
      readonly min: number;
      readonly max: number;
      readonly expires: number | undefined;
    }
  | { readonly kind: "delete" }
  | { readonly kind: "check" }
  /**
   * Counts the bytes of the keys and values from `from` to `to` (excluded) under its own key, which
   * is outside of them. It adds what the writes before it in the commit have added, which must be
   * in this range. If the key is absent, or with `recount`, all entries of the range are counted
   * first. The commit fails if the count grows and is then greater than `max`. An entry that
   * expires is counted until a recount after it was swept.
   */
  | {
      readonly kind: "usage";
      readonly from: string;
      readonly to: string;
      readonly max: number;
      readonly recount?: boolean | undefined;
    }
);

/** The bytes of an entry for the write `usage`. */
export function bytesOf(entry: { readonly key: string; readonly value: string } | undefined): number {
  return entry === undefined ? 0 : Buffer.byteLength(entry.key) + Buffer.byteLength(entry.value);
}

/** The result of a commit. */
export type CommitResult =
  | {
      readonly committed: true;
      /**
       * For each write the value of its key before and after it; undefined if the key was or is
       * absent. `revision` is set if the change was appended to a log.
       */
      readonly changes: readonly {
        readonly before: string | undefined;
        readonly after: string | undefined;
        readonly revision?: number;
      }[];
    }
  | {
      readonly committed: false;
      /**
       * The index of the first write whose condition is not met, or whose number would be less than
       * `min` or greater than `max`, or of a `usage` that would be greater.
       */
      readonly failed: number;
    };

export interface CommitOptions {
  /** Default true: see `commit`. */
  readonly durable?: boolean | undefined;
}

/** Who uses the store. */
export type StoreKind = "authority" | "services";

/** The name of each kind of store for messages, and the setting that names another store. */
export const STORE_TITLES = {
  authority: { title: "a store of Portico", setting: "PORTICO_STORE" },
  services: { title: "a store of Portico's services", setting: "PORTICO_SERVICE_STORE" },
} as const satisfies Readonly<Record<StoreKind, object>>;

/** Fills a store that is being created. */
export type Fill = (store: KeyValueStore) => Promise<void>;

/** An open store. */
export interface KeyValueStore {
  /** The file or server, for messages: `/var/lib/portico/portico.sqlite`. */
  readonly name: string;
  /**
   * The store's ID: equal in all processes that open this store, and different for other stores. A
   * copy of its file, or a restored backup, has the same ID.
   */
  readonly id: string;
  /**
   * Whether processes on several machines may use the store at once, and a read may be served by a
   * server that another one has replaced. Then a read may miss what other processes have written.
   * But after a durable commit of this open store has resolved, its reads are served only by a
   * server that has this commit.
   */
  readonly mayBeStale: boolean;
  /**
   * The entries of the keys, in the order of the keys, read at one moment. Includes every commit
   * that had resolved, by any process.
   */
  get(keys: readonly string[]): Promise<(StoredEntry | undefined)[]>;
  /**
   * The first entries of a range, read at one moment: at most `limit`, and fewer if they would
   * exceed MAX_TOTAL_BYTES, but at least one if there is one. `more` says whether more entries
   * follow. Includes the same commits as `get`. The cost depends only on what it returns.
   */
  range(range: KeyRange): Promise<{ readonly entries: readonly StoredEntry[]; readonly more: boolean }>;
  /** The number of entries with keys from `from` to `to` (excluded). Reads all these keys. */
  count(from: string, to: string): Promise<number>;
  /**
   * The keys from `from` to `to` (excluded), ascending, read at one moment. Includes the same
   * commits as `get`.
   */
  keys(from: string, to: string): Promise<string[]>;
  /**
   * Makes all the writes in their order, or none if a condition is not met. The commit is atomic,
   * and each write sees the writes before it. Concurrent commits, in any processes, take effect one
   * after the other. When it resolves, all its writes are on disk, and on the synchronous standbys
   * of a server. With `durable: false` they may not be: a crash may restore the earlier values. If
   * it rejects with StoreError, either all writes were made or none.
   * @throws {StatusError} (rejects) FAILED_PRECONDITION if an increment meets a value that is not a
   *   whole number, and RESOURCE_EXHAUSTED while too many commits wait; then nothing is written
   */
  commit(writes: readonly StoredWrite[], options?: CommitOptions): Promise<CommitResult>;
  /**
   * Calls the listener soon after another process has written to a collection of the authority, or
   * appended to a log of changes of a service, if the engine can detect it. This is a hint: it may
   * come late, more than once, or never. Only a read shows the state. Call the returned function to
   * stop.
   * @param topic the name of the collection, or the key of the log
   */
  follow(topic: string, listener: () => void): () => void;
  /**
   * The clock of the store's server, in milliseconds since 1970; undefined for an engine without a
   * server.
   */
  time(): Promise<number | undefined>;
  /**
   * Whether the store is where it was opened. Returns false from when its file was deleted or
   * replaced: then commits reject. Reads no entries. A server's store is always in place.
   */
  isInPlace(): boolean;
  /** The size of the entries on disk in bytes, including the engine's overhead. */
  size(): Promise<number>;
  /**
   * The ID of the installation that the store belongs to; undefined if it belongs to none. A copy
   * of its file has the same ID.
   */
  owner(): Promise<string | undefined>;
  /**
   * Assigns the store to an installation, if it belongs to none. The store must have no entries,
   * unless `withEntries` is set. If several processes race, one of them succeeds. The assignment is
   * on disk when this resolves.
   * @returns the installation that the store belongs to now; undefined if it has entries and
   *   belongs to none
   */
  claim(installation: string, options?: { readonly withEntries?: boolean }): Promise<string | undefined>;
  /** Deletes expired entries to free disk space. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}
