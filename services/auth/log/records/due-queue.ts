/** Finds the record that expires next: a binary heap in typed arrays. */

/** A copy with more capacity if the array is shorter than `length`. */
export function grown<A extends Uint8Array | Uint32Array | Float64Array>(array: A, length: number): A {
  if (length <= array.length) return array;
  const larger = new (array.constructor as new (length: number) => A)(Math.max(length, 2 * array.length, 64));
  larger.set(array);
  return larger;
}

/** Records by the moment at which they expire. */
export class DueQueue {
  readonly #compare: (a: number, b: number) => number;
  /** The records' numbers as a heap: a parent expires before its children. */
  #heap = new Uint32Array(0);
  #size = 0;
  /**
   * By record number: its place in the heap plus 1, or 0 if it is not in it; and when it expires.
   */
  #places = new Uint32Array(0);
  #times = new Float64Array(0);

  /** @param compare orders records that expire at the same moment, independent of their numbers */
  constructor(compare: (a: number, b: number) => number) {
    this.#compare = compare;
  }

  /** @param time in milliseconds since 1970 */
  add(record: number, time: number): void {
    this.#heap = grown(this.#heap, this.#size + 1);
    this.#places = grown(this.#places, record + 1);
    this.#times = grown(this.#times, record + 1);
    this.#times[record] = time;
    this.#put(this.#size++, record);
    this.#up(this.#size - 1);
  }

  remove(record: number): void {
    const place = (this.#places[record] ?? 0) - 1;
    if (place < 0) return;
    this.#places[record] = 0;
    const last = this.#heap[--this.#size]!;
    if (last === record) return;
    this.#put(place, last);
    this.#up(place);
    this.#down(this.#places[last]! - 1);
  }

  /** The record that expires first, if it expires at `now` or before; otherwise undefined. */
  next(now: number): number | undefined {
    if (this.#size === 0) return undefined;
    const record = this.#heap[0]!;
    return this.#times[record]! <= now ? record : undefined;
  }

  #put(place: number, record: number): void {
    this.#heap[place] = record;
    this.#places[record] = place + 1;
  }

  #isBefore(a: number, b: number): boolean {
    const difference = this.#times[a]! - this.#times[b]!;
    return difference < 0 || (difference === 0 && this.#compare(a, b) < 0);
  }

  #up(start: number): void {
    const record = this.#heap[start]!;
    let place = start;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#isBefore(record, this.#heap[parent]!)) break;
      this.#put(place, this.#heap[parent]!);
      place = parent;
    }
    this.#put(place, record);
  }

  #down(start: number): void {
    const record = this.#heap[start]!;
    let place = start;
    for (let child = 2 * place + 1; child < this.#size; child = 2 * place + 1) {
      if (child + 1 < this.#size && this.#isBefore(this.#heap[child + 1]!, this.#heap[child]!)) child++;
      if (!this.#isBefore(this.#heap[child]!, record)) break;
      this.#put(place, this.#heap[child]!);
      place = child;
    }
    this.#put(place, record);
  }
}
