/**
 * What services keep: one ordered set of entries, text by key, which survives a crash. This file is the interface; each
 * engine implements it in a file of its own (service-sqlite.ts), open.ts opens the one that a URL names, and
 * test/contract/service-store.ts has a test for each sentence below, which runs on every engine.
 *
 * Keys are ordered by the bytes of their UTF-8. An entry whose time has passed is absent for every operation. Every
 * operation ends within the store's deadline, else it rejects with StoreError. A failure is never taken for an absent key.
 */

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

/** What must hold of the key for a write: that it is absent, that it is present, or that it has this version. */
export type Condition = "absent" | "present" | { readonly version: string };

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

/** Fills a store of services that is being made. */
export type FillServices = (store: ServiceStore) => Promise<void>;

/** An open store of services. */
export interface ServiceStore {
  /** The file or server, for messages: `/var/lib/portico/services.sqlite`. */
  readonly name: string;
  /** The same for all that open this store, and no other's. A copy of its file, or a restored backup, has the same. */
  readonly id: string;
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
  /**
   * Makes all the writes in their order, or none where the condition of one does not hold. All of it happens at one moment;
   * each write sees those before it. Of several commits that race, in any processes, one is after the other. Once it
   * resolves, all its writes are on disk. Where it rejects with StoreError, they may have been made all the same, but
   * never some of them.
   * @throws {StatusError} (rejects) FAILED_PRECONDITION for an increment of what is not a whole number, and
   * RESOURCE_EXHAUSTED while too many commits wait; nothing is written then
   */
  commit(writes: readonly StoredWrite[]): Promise<CommitResult>;
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
