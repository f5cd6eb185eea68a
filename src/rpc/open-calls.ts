/** The open calls of a process: a list of them, and their deadlines. */

export interface Indexed {
  /** The position in the list that contains the item; -1 when no list does. */
  index: number;
}

/**
 * An unordered list with O(1) removal: each item stores its index. Used instead of `Set` on the
 * call path; see docs/performance.md, "Collections".
 */
export class IndexedList<T extends Indexed> implements Iterable<T> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** Adds an item that is in no list yet. */
  add(item: T): void {
    item.index = this.#items.length;
    this.#items.push(item);
  }

  /** @returns false when the item is not in this list */
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

  /** Iterates over a copy, so items may be added and deleted during the iteration. */
  [Symbol.iterator](): Iterator<T> {
    return this.#items.slice().values();
  }
}

/**
 * How long after its deadline a call is ended at the latest, in milliseconds. It is never ended
 * before.
 */
const SLOT = 16;
/** The longest delay that `setTimeout` accepts. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Expiring extends Indexed {
  /** In milliseconds of `performance.now()`. */
  readonly deadlineMonotonicMs: number;
  expire(): void;
}

/**
 * Calls `expire` of each entry when its deadline has passed, unless the entry was deleted before.
 * All entries share one timer: nearly all calls end long before their deadline, and then cost no
 * more than removal from a list.
 */
export class Deadlines {
  #calls = new IndexedList<Expiring>();
  #timer: NodeJS.Timeout | undefined;
  /**
   * When the timer fires: a multiple of `SLOT`, so a slightly earlier deadline needs no new timer.
   */
  #armed = Number.POSITIVE_INFINITY;

  add(call: Expiring): void {
    this.#calls.add(call);
    if (call.deadlineMonotonicMs < this.#armed - SLOT) this.#arm(call.deadlineMonotonicMs);
  }

  delete(call: Expiring): void {
    this.#calls.delete(call);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#calls = new IndexedList();
    this.#armed = Number.POSITIVE_INFINITY;
  }

  #arm(deadlineMonotonicMs: number): void {
    clearTimeout(this.#timer);
    this.#armed = (Math.floor(deadlineMonotonicMs / SLOT) + 1) * SLOT;
    this.#timer = setTimeout(this.#expire, Math.min(Math.max(this.#armed - performance.now(), 1), MAX_TIMER_MS));
    // This timer must not keep the process alive: open connections and listening ports do that.
    this.#timer.unref();
  }

  readonly #expire = (): void => {
    const now = performance.now();
    this.#armed = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const call of this.#calls) {
      if (call.deadlineMonotonicMs > now) next = Math.min(next, call.deadlineMonotonicMs);
      else if (this.#calls.delete(call)) call.expire();
    }
    if (next < this.#armed - SLOT) this.#arm(next);
  };
}
