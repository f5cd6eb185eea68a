/**
 * The store: one ordered set of entries, text by key, which survives a crash. An installation has two, each in a file or a
 * schema of its own: one for the authority (collection.ts), one for its services (src/kit/collection-store.ts). This
 * file is the interface; each engine implements it in a file of its own (sqlite.ts, postgres.ts), open.ts opens the one
 * that a URL names, and test/contract/store.ts has a test for each sentence below, which runs on every engine.
 *
 * Keys are ordered by the bytes of their UTF-8. An entry whose time has passed is absent for every operation. Every
 * operation ends within the store's deadline, else it rejects with StoreError. A failure is never taken for an absent key. A
 * write that waits or fails, on a full or locked disk, holds up no read.
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

/** Bytes of the values of a commit, which its caller sees to, and of the entries that `range` gives, unless one alone has more. */
export const MAX_TOTAL_BYTES = 4 * 1024 ** 2;

/** A key with its value. */
export interface StoredEntry {
  readonly key: string;
  readonly value: string;
  /** Another with each write, also of the same value, and after a deletion; compared for equality alone. */
  readonly version: string;
  /** When it becomes absent, in milliseconds of `Date.now()`; undefined for never. */
  readonly expires: number | undefined;
}

/** Which keys `range` gives. */
export interface KeyRange {
  /** The least key, itself included unless `afterFrom` is set. */
  readonly from: string;
  readonly afterFrom?: boolean | undefined;
  /** The end, which is not included. */
  readonly to: string;
  readonly limit: number;
  /** Descending instead of ascending. */
  readonly reverse?: boolean | undefined;
}

/** What must hold of the key for a write: that it is absent, that it is present, or that it has this version or value. */
export type Condition = "absent" | "present" | { readonly version: string } | { readonly value: string };

/** One write of a commit. `increment` counts an absent key as 0, and keeps the time of a present one. */
export type StoredWrite = { readonly key: string; readonly condition?: Condition | undefined } & (
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
);

/** What became of a commit. */
export type CommitResult =
  | {
      readonly committed: true;
      /** For each write the value of its key before and after it; undefined where the key was, or is, absent. */
      readonly changes: readonly { readonly before: string | undefined; readonly after: string | undefined }[];
    }
  | {
      readonly committed: false;
      /** The index of the first write whose condition does not hold, or whose number would be less than `min` or more than `max`. */
      readonly failed: number;
    };

/** How a commit is made. */
export interface CommitOptions {
  /** Default true: see `commit`. */
  readonly durable?: boolean | undefined;
}

/** Whose store it is. */
export type StoreKind = "authority" | "services";

/** What a store of a kind is, for messages, and the setting that names another. */
export const STORE_TITLES = {
  authority: { title: "a store of Portico", setting: "PORTICO_STORE" },
  services: { title: "a store of Portico's services", setting: "PORTICO_SERVICE_STORE" },
} as const satisfies Readonly<Record<StoreKind, object>>;

/** Fills a store that is being made. */
export type Fill = (store: KeyValueStore) => Promise<void>;

/** An open store. */
export interface KeyValueStore {
  /** The file or server, for messages: `/var/lib/portico/portico.sqlite`. */
  readonly name: string;
  /** The same for all that open this store, and no other's. A copy of its file, or a restored backup, has the same. */
  readonly id: string;
  /**
   * Whether processes on several machines may use the store at once, and a read may be answered by a server that another
   * one has replaced. Then a read proves nothing of what others have written. But a read that begins after a commit of this
   * open store has resolved, durable, is answered by a server that has that commit.
   */
  readonly mayBeStale: boolean;
  /** The entries of the keys, in the order of the keys, as they were at one moment. Sees every commit that had resolved, by any process. */
  get(keys: readonly string[]): Promise<(StoredEntry | undefined)[]>;
  /**
   * The first entries of a range, as they were at one moment: `limit` of them, or fewer where they would exceed
   * MAX_TOTAL_BYTES; at least one, where there is one. `more` is whether others follow. Sees what `get` sees. Costs no more
   * than what it returns.
   */
  range(range: KeyRange): Promise<{ readonly entries: readonly StoredEntry[]; readonly more: boolean }>;
  /** How many entries the keys from `from` to `to`, which is not included, have. Reads all these keys. */
  count(from: string, to: string): Promise<number>;
  /** The keys from `from` to `to`, which is not included, ascending, as they were at one moment. Sees what `get` sees. */
  keys(from: string, to: string): Promise<string[]>;
  /**
   * Makes all the writes in their order, or none where the condition of one does not hold. All of it happens at one moment;
   * each write sees those before it. Of several commits that race, in any processes, one is after the other. Once it
   * resolves, all its writes are on disk, and on the synchronous standbys of a server; with `durable: false` they need not
   * be: a crash may bring back what was before them. Where it rejects with StoreError, they may have been made all the same,
   * but never some of them.
   * @throws {StatusError} (rejects) FAILED_PRECONDITION for an increment of what is not a whole number, and
   * RESOURCE_EXHAUSTED while too many commits wait; nothing is written then
   */
  commit(writes: readonly StoredWrite[], options?: CommitOptions): Promise<CommitResult>;
  /**
   * Calls the listener soon after another process has written to a collection of the authority, where the engine can tell.
   * It is a hint: it may come late, more than once, or never; reading is the truth. The returned function ends it.
   */
  follow(collection: string, listener: () => void): () => void;
  /** What the clock of the store's server says, in milliseconds since 1970; undefined for an engine without a server. */
  time(): Promise<number | undefined>;
  /** How many bytes the entries take on disk, with what the engine keeps beside them. */
  size(): Promise<number>;
  /** The ID of the installation that the store belongs to; undefined where it belongs to none. A copy of its file has the same. */
  owner(): Promise<string | undefined>;
  /**
   * Has the store belong to an installation, unless it belongs to one. It must have no entry, unless `withEntries` is set. Of
   * several that race one gets it. It is on disk when this resolves.
   * @returns the installation that it belongs to now; undefined where it has entries and belongs to none.
   */
  claim(installation: string, options?: { readonly withEntries?: boolean }): Promise<string | undefined>;
  /** Deletes entries whose time has passed, for their room on disk. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}
