/** A map with changes on top of a base map, which stays unchanged. */

/** The methods of Map that the state uses. */
export interface MapEntries<K, V> extends Iterable<[K, V]> {
  readonly size: number;
  get(key: K): V | undefined;
  has(key: K): boolean;
  set(key: K, value: V): unknown;
  delete(key: K): boolean;
  keys(): Iterable<K>;
  values(): Iterable<V>;
}

/** The entries of a base map with the changes made here. Creating one does not read the entries. */
export class DraftMap<K, V> implements MapEntries<K, V> {
  readonly #base: MapEntries<K, V>;
  readonly #draftOf: (value: V) => V;
  /** The value that was set for a key, or undefined if the key was deleted. */
  readonly #changed = new Map<K, V | undefined>();
  #size: number;

  /**
   * @param base must not change while the draft is used
   * @param draftOf makes a draft of a value that can be changed in place; called once for each
   *   value that is read
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
