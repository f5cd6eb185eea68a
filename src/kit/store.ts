/**
 * The result of `call.store(collection)`: a collection in which a service stores entries for the
 * namespace of the call. Values are JSON. src/store/store.ts states the guarantees. The kit adds
 * types, limits, and the prefix `service/namespace/collection/`, which separates services,
 * namespaces and collections.
 */

/** An entry as it was read. */
export interface Entry<T> {
  readonly key: string;
  readonly value: T;
  /** Opaque; changes with each write. For `compareAndSet` and `ifVersion`. */
  readonly version: string;
  /** When the entry expires, in milliseconds of `Date.now()`; undefined for never. */
  readonly expires: number | undefined;
}

/** How long an entry is stored. */
export interface Lifetime {
  /** Milliseconds from now; without it the entry is stored until it is deleted. */
  readonly ttlMs?: number | undefined;
}

/** How `increment` counts. */
export interface IncrementOptions extends Lifetime {
  /** Bounds of the result; default the safe integers. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** Which entries `range` returns. */
export interface RangeOptions {
  /** Only keys with this prefix. */
  readonly prefix?: string | undefined;
  /** Only keys after this one; with `reverse`, keys before it. It must begin with the prefix. */
  readonly after?: string | undefined;
  /** 1 to 1000; default 100. */
  readonly limit?: number | undefined;
  /** Descending instead of ascending. */
  readonly reverse?: boolean | undefined;
}

/** Entries in the order of their keys. */
export interface Range<T> {
  readonly entries: readonly Entry<T>[];
  /** The `after` of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** A change of an entry. */
export interface EntryChange<T> {
  /**
   * Grows with each change of the collection. `watch` goes on after it. Revisions of a watch with
   * a prefix have gaps.
   */
  readonly revision: number;
  readonly key: string;
  /** What the change has written; undefined if it has deleted the entry. */
  readonly value: T | undefined;
}

/** Changes as they happen. `return` ends it at once, also while `next` waits. */
export interface ChangeWatch<T> extends AsyncIterableIterator<EntryChange<T>, void> {
  readonly return: () => Promise<IteratorResult<EntryChange<T>, void>>;
}

/** A condition on the key for a write of a commit; at most one of them. */
export interface Precondition {
  readonly ifAbsent?: true | undefined;
  readonly ifPresent?: true | undefined;
  readonly ifVersion?: string | undefined;
}

/** One write of a commit. */
export type Write = Precondition & {
  /** Another collection of the same service and namespace. */
  readonly collection?: string | undefined;
} & (
    | { readonly set: string; readonly value: unknown; readonly ttlMs?: number | undefined }
    | {
        readonly increment: string;
        readonly by: number;
        readonly min?: number | undefined;
        readonly max?: number | undefined;
        readonly ttlMs?: number | undefined;
      }
    | { readonly delete: string }
    /** Writes nothing, only checks its precondition. */
    | { readonly check: string }
  );

/** The result of a commit. */
export type Committed =
  | {
      readonly committed: true;
      /** For each write the value that its key has now; undefined if the key is absent. */
      readonly values: readonly unknown[];
    }
  | {
      readonly committed: false;
      /**
       * The index of the first write whose precondition, `min` or `max` is not met. Nothing was
       * written.
       */
      readonly failed: number;
    };

/**
 * A collection of a service in one namespace. When a method resolves, its writes are on disk. Keys
 * have 1 to 512 bytes and no NUL, and are ordered by their UTF-8 bytes. Values are JSON of at most
 * 1 MiB.
 *
 * Every method rejects with INVALID_ARGUMENT if a key, a value or an option is outside its limits,
 * and with UNAVAILABLE while the store cannot be used. After UNAVAILABLE, a write may have
 * happened.
 */
export interface Store<T> {
  /** The value of a key; undefined if it is absent. Includes every write that has resolved. */
  get(key: string): Promise<T | undefined>;
  /** The value with its version. */
  getEntry(key: string): Promise<Entry<T> | undefined>;
  /** The values of at most 100 keys, read at one moment. */
  getMany(keys: readonly string[]): Promise<(T | undefined)[]>;
  set(key: string, value: T, lifetime?: Lifetime): Promise<void>;
  /** Resolves to whether the key existed. */
  delete(key: string): Promise<boolean>;
  /**
   * Writes if the key is absent. Resolves to whether it was written: of concurrent calls, one gets
   * `true`.
   */
  createIfAbsent(key: string, value: T, lifetime?: Lifetime): Promise<boolean>;
  /** Writes if the key has this version. Resolves to whether it was written. */
  compareAndSet(key: string, version: string, value: T, lifetime?: Lifetime): Promise<boolean>;
  /**
   * Adds to a whole number; an absent key counts as 0. Resolves to the result. Resolves to
   * undefined, and writes nothing, if the result would be less than `min` or greater than `max`.
   * Does not change the expiry time of a present key.
   * @throws {StatusError} (rejects) FAILED_PRECONDITION if the value is not a whole number
   */
  increment(key: string, by?: number, options?: IncrementOptions): Promise<number | undefined>;
  /**
   * Replaces the value by the result of `change`; undefined deletes the entry. The replacement is
   * atomic: after a concurrent write, `change` is called again with the new value. The expiry time
   * stays the same unless `ttlMs` is given. Resolves to the new value.
   * @throws {StatusError} (rejects) ABORTED after a thousand attempts, and with what `change`
   *   throws
   */
  update(
    key: string,
    change: (value: T | undefined) => T | undefined | Promise<T | undefined>,
    lifetime?: Lifetime,
  ): Promise<T | undefined>;
  /**
   * The first entries of the collection, read at one moment: at most `limit`, and at most 4 MiB.
   */
  range(options?: RangeOptions): Promise<Range<T>>;
  /** The number of entries whose keys have the prefix. Reads all these keys. */
  count(prefix?: string): Promise<number>;
  /**
   * Makes all of at most 100 writes, in their order, or none. Their values have at most 4 MiB in
   * total.
   */
  commit(writes: readonly Write[]): Promise<Committed>;
  /**
   * The revision of the collection's last change. The store keeps the changes of a collection from
   * the first `revision` or `watch` on: the last 10,000, for a day each.
   */
  revision(): Promise<number>;
  /**
   * The changes of the entries whose keys have the prefix, whichever process made them: each at
   * least once, in their order. An entry that expires is no change. The watch ends when the call
   * ends. It reads on only when the changes that it has read are taken.
   *
   * To show entries live, get the `revision`, read the entries, and watch after that revision: then
   * no change is missed. After a loss of connection, watch after the last change's revision.
   * @param after a revision; default the current one
   * @throws {StatusError} (from the iterator) OUT_OF_RANGE if changes after the revision are not
   *   kept any more: begin again as above; UNAVAILABLE also when the process stops
   */
  watch(prefix?: string, after?: number): ChangeWatch<T>;
}
