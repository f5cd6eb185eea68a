/**
 * A map that forgets what has not been used for longest, roughly. It has two generations: when the younger one is full,
 * the older one is dropped. What is found in the older one moves to the younger. So a hit costs one lookup and no list.
 */
export class BoundedMap<K, V> {
  readonly #generation: number;
  #younger = new Map<K, V>();
  #older = new Map<K, V>();

  /** @param bound the most entries that are kept; at least half as many are. */
  constructor(bound: number) {
    this.#generation = Math.ceil(bound / 2);
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
    if (this.#younger.size >= this.#generation && !this.#younger.has(key)) {
      this.#older = this.#younger;
      this.#younger = new Map();
    }
    this.#younger.set(key, value);
  }

  delete(key: K): void {
    this.#younger.delete(key);
    this.#older.delete(key);
  }

  deleteWhere(unwanted: (value: V) => boolean): void {
    for (const generation of [this.#younger, this.#older]) {
      for (const [key, value] of generation) if (unwanted(value)) generation.delete(key);
    }
  }

  clear(): void {
    this.#younger.clear();
    this.#older.clear();
  }
}
