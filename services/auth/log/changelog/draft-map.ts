/** A map that is read and changed over another one, which stays as it is. */

/** What the state uses of a map. */
export interface MapEntries<K, V> extends Iterable<[K, V]> {
  readonly size: number;
  get(key: K): V | undefined;
  has(key: K): boolean;
  set(key: K, value: V): unknown;
  delete(key: K): boolean;
  keys(): Iterable<K>;
  values(): Iterable<V>;
}

/** The entries of another map, but for the changes that were made here. Making one costs no look at the entries. */
export class DraftMap<K, V> implements MapEntries<K, V> {
  readonly #base: MapEntries<K, V>;
  readonly #draftOf: (value: V) => V;
  /** By key: what was set, or undefined where the key was deleted. */
  readonly #changed = new Map<K, V | undefined>();
  #size: number;

  /**
   * @param base must not change as long as the draft is used
   * @param draftOf makes a draft of a value that can be changed in place; it is called once for each value that is read
   */
  constructor(base: MapEntries<K, V>, draftOf: (value: V) => V = (value) => value) {
    this.#base = base;
    this.#draftOf = draftOf;
    this.#size = base.size;
  }

  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    if (this.#changed.has(key)) return this.#changed.get(key);
    const value = this.#base.get(key);
    if (value === undefined) return undefined;
    const draft = this.#draftOf(value);
    if (draft !== value) this.#changed.set(key, draft);
    return draft;
  }

  has(key: K): boolean {
    return this.#changed.has(key) ? this.#changed.get(key) !== undefined : this.#base.has(key);
  }

  set(key: K, value: V): void {
    if (!this.has(key)) this.#size++;
    this.#changed.set(key, value);
  }

  delete(key: K): boolean {
    if (!this.has(key)) return false;
    this.#size--;
    this.#changed.set(key, undefined);
    return true;
  }

  *keys(): Generator<K> {
    for (const key of this.#base.keys()) if (this.has(key)) yield key;
    for (const [key, value] of this.#changed) if (value !== undefined && !this.#base.has(key)) yield key;
  }

  *values(): Generator<V> {
    for (const key of this.keys()) yield this.get(key)!;
  }

  *[Symbol.iterator](): Generator<[K, V]> {
    for (const key of this.keys()) yield [key, this.get(key)!];
  }
}
