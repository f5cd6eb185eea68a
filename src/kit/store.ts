/**
 * What `call.store(collection)` gives: the entries that a service keeps in a collection, for the namespace of the call.
 * Values are JSON. The guarantees are those of src/store/service-store.ts; this adds the types, the limits, and the prefix
 * `service/namespace/collection/` that keeps services, namespaces and collections apart.
 */

/** An entry as it was read. */
export interface Entry<T> {
  readonly key: string;
  readonly value: T;
  /** Opaque; another one with each write. For `compareAndSet` and `ifVersion`. */
  readonly version: string;
  /** When it becomes absent, in milliseconds of `Date.now()`; undefined for never. */
  readonly expires: number | undefined;
}

/** How long an entry is kept. */
export interface Lifetime {
  /** Milliseconds from now; without it the entry is kept until it is deleted. */
  readonly ttlMs?: number | undefined;
}

/** How `increment` counts. */
export interface IncrementOptions extends Lifetime {
  /** Bounds of the result; default the safe integers. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** Which entries `range` gives. */
export interface RangeOptions {
  /** Keys begin with it. */
  readonly prefix?: string | undefined;
  /** Only keys after this one; with `reverse` before it. It begins with the prefix. */
  readonly after?: string | undefined;
  /** 1 to 1000; default 100. */
  readonly limit?: number | undefined;
  /** Descending instead of ascending. */
  readonly reverse?: boolean | undefined;
}

/** Entries in the order of their keys. */
export interface Range<T> {
  readonly entries: readonly Entry<T>[];
  /** The `after` of the next page; undefined where this is the last. */
  readonly next: string | undefined;
}

/** What must hold of the key for a write of a commit; at most one of them. */
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
    /** Writes nothing: only its precondition counts. */
    | { readonly check: string }
  );

/** What became of a commit. */
export type Committed =
  | {
      readonly committed: true;
      /** For each write the value that its key has now; undefined where it is absent. */
      readonly values: readonly unknown[];
    }
  | {
      readonly committed: false;
      /** The index of the first write whose precondition, `min` or `max` does not hold. Nothing was written. */
      readonly failed: number;
    };

/**
 * A collection of a service in one namespace. What a method has written is on disk when it resolves. Keys have 1 to 512
 * bytes and no NUL, and are ordered by the bytes of their UTF-8; values are JSON of at most 1 MiB.
 *
 * Every method rejects with INVALID_ARGUMENT for a key, a value or an option outside its limits, and with UNAVAILABLE while
 * the store cannot be used; a write may have been made all the same then.
 */
export interface Store<T> {
  /** The value of a key; undefined where it is absent. Sees every write that has resolved. */
  get(key: string): Promise<T | undefined>;
  /** The value with its version. */
  getEntry(key: string): Promise<Entry<T> | undefined>;
  /** The values of at most 100 keys, as they were at one moment. */
  getMany(keys: readonly string[]): Promise<(T | undefined)[]>;
  set(key: string, value: T, lifetime?: Lifetime): Promise<void>;
  /** Resolves to whether the key was there. */
  delete(key: string): Promise<boolean>;
  /** Writes where the key is absent. Resolves to whether it was written: of several that race one gets `true`. */
  createIfAbsent(key: string, value: T, lifetime?: Lifetime): Promise<boolean>;
  /** Writes where the key has this version. Resolves to whether it was written. */
  compareAndSet(key: string, version: string, value: T, lifetime?: Lifetime): Promise<boolean>;
  /**
   * Adds to a whole number; an absent key counts as 0. Resolves to the result, or to undefined where it would be less than
   * `min` or more than `max`; nothing is written then. A key that is present keeps its time.
   * @throws {StatusError} (rejects) FAILED_PRECONDITION where the value is not a whole number
   */
  increment(key: string, by?: number, options?: IncrementOptions): Promise<number | undefined>;
  /**
   * Replaces the value by what `change` makes of it; undefined deletes. No write comes between: where another did,
   * `change` is called again with the new value. An entry keeps its time unless `ttlMs` is given. Resolves to the new value.
   * @throws {StatusError} (rejects) ABORTED after a thousand attempts, and with what `change` throws
   */
  update(
    key: string,
    change: (value: T | undefined) => T | undefined | Promise<T | undefined>,
    lifetime?: Lifetime,
  ): Promise<T | undefined>;
  /** The first entries of the collection, as they were at one moment: `limit` of them, or as many as 4 MiB hold. */
  range(options?: RangeOptions): Promise<Range<T>>;
  /** How many entries have keys that begin with a prefix. Reads all these keys. */
  count(prefix?: string): Promise<number>;
  /** Makes all of at most 100 writes, in their order, or none; their values have at most 4 MiB in all. */
  commit(writes: readonly Write[]): Promise<Committed>;
}
