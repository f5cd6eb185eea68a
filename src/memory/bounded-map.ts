/** The maximum size of a map's entries. */
export interface BoundedMapSize<V> {
  readonly maxBytes: number;
  /** Estimates the memory of an entry. */
  readonly bytesOf: (value: V) => number;
}

const NO_LIMIT: BoundedMapSize<unknown> = { maxBytes: Number.POSITIVE_INFINITY, bytesOf: () => 0 };

/**
 * A map that evicts entries that have not been used for long (roughly LRU). It has two generations:
 * when the younger one is full, the older one is dropped. An entry that is found in the older one
 * moves to the younger one. So a hit costs one lookup, and there is no list to update.
 */
export class BoundedMap<K, V> {
  readonly #generation: number;
  readonly #size: BoundedMapSize<V>;
  #younger = new Map<K, V>();
  #older = new Map<K, V>();
  /** Of the younger generation. */
  #bytes = 0;

  /**
   * @param bound maximum number of entries. Unless the size is limited too, at least the newest
   * half of this number stays.
   */
  constructor(bound: number, size: BoundedMapSize<V> = NO_LIMIT) {
    this.#generation = Math.ceil(bound / 2);
    this.#size = size;
  }

  get size(): number {
    return this.#younger.size + this.#older.size;
  }

  get(key: K): V | undefined {
    const young = this.#younger.get(key);
    if (young !== undefined) return young;
    const old = this.#older.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: K, value: V): void {
    this.#older.delete(key);
    const { maxBytes, bytesOf } = this.#size;
    const bytes = bytesOf(value);
    const isFull = this.#younger.size >= this.#generation && !this.#younger.has(key);
    if (isFull || this.#bytes + bytes > maxBytes / 2) {
      this.#older = this.#younger;
      this.#older.delete(key);
      this.#younger = new Map();
      this.#bytes = 0;
    }
    this.#younger.set(key, value);
    this.#bytes += bytes;
  }

  /** All values, in no order; reading them does not count as use. */
  *values(): Generator<V> {
    yield* this.#younger.values();
    yield* this.#older.values();
  }

  delete(key: K): void {
    this.#younger.delete(key);
    this.#older.delete(key);
  }

  clear(): void {
    this.#younger.clear();
    this.#older.clear();
    this.#bytes = 0;
  }
}
