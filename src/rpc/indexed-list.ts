/**
 * An unordered list with O(1) removal: each item stores its index. Used instead of `Set` on the call path; see
 * docs/performance.md, "Collections".
 */

export interface Indexed {
  /** Set by the list that holds the item; -1 while none does. */
  index: number;
}

export class IndexedList<T extends Indexed> implements Iterable<T> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** Adds an item that is in no list. */
  add(item: T): void {
    item.index = this.#items.length;
    this.#items.push(item);
  }

  /** @returns false where the item is not in this list */
  delete(item: T): boolean {
    const { index } = item;
    if (this.#items[index] !== item) return false;
    const last = this.#items.pop() as T;
    if (last !== item) {
      this.#items[index] = last;
      last.index = index;
    }
    item.index = -1;
    return true;
  }

  /** Iterates over a copy, so that items may be added and deleted meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return this.#items.slice().values();
  }
}
