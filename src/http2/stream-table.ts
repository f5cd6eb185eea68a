/**
 * The open streams of a connection by their IDs. Used instead of `Map`, whose replaced tables refer to their successors:
 * once one of them is in V8's old generation, it keeps all later ones alive, with the streams in them, until a full
 * collection (see docs/performance.md, "Collections").
 */
import type { Stream } from "./stream.js";

/** The number of slots at first, as a power of two. */
const MIN_BITS = 4;
/** 2 ** 32 by the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4). */
const GOLDEN = 0x9e3779b1;

/** A hash table with open addressing and linear probing; a deletion moves the streams behind it up. */
export class StreamTable implements Iterable<Stream> {
  #bits = MIN_BITS;
  /** At most half of them are used. */
  #slots = empty(MIN_BITS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): Stream | undefined {
    return this.#slots[this.#find(id)];
  }

  has(id: number): boolean {
    return this.get(id) !== undefined;
  }

  /** Adds a stream whose ID is not in the table. */
  add(stream: Stream): void {
    if (2 * ++this.#size > this.#slots.length) this.#grow();
    this.#slots[this.#find(stream.id)] = stream;
  }

  /** @returns false where no stream has the ID */
  delete(id: number): boolean {
    const slots = this.#slots;
    let hole = this.#find(id);
    if (slots[hole] === undefined) return false;
    const mask = slots.length - 1;
    for (let at = hole; ; ) {
      at = (at + 1) & mask;
      const stream = slots[at];
      if (stream === undefined) break;
      // It may move up to its home slot, and to any behind that.
      if (((at - this.#home(stream.id)) & mask) < ((at - hole) & mask)) continue;
      slots[hole] = stream;
      hole = at;
    }
    slots[hole] = undefined;
    this.#size--;
    return true;
  }

  clear(): void {
    this.#bits = MIN_BITS;
    this.#slots = empty(MIN_BITS);
    this.#size = 0;
  }

  /** Iterates over a copy, so that streams may be added and deleted meanwhile. */
  [Symbol.iterator](): Iterator<Stream> {
    return this.#slots.filter((stream) => stream !== undefined).values();
  }

  /** The slot of the stream with this ID, or the empty one where it would be. */
  #find(id: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = this.#home(id);
    for (;;) {
      const stream = slots[at];
      if (stream === undefined || stream.id === id) return at;
      at = (at + 1) & mask;
    }
  }

  /** The slot of an ID unless it is taken (Fibonacci hashing: consecutive IDs lie far apart). */
  #home(id: number): number {
    return Math.imul(id, GOLDEN) >>> (32 - this.#bits);
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = empty(++this.#bits);
    for (const stream of before) if (stream !== undefined) this.#slots[this.#find(stream.id)] = stream;
  }
}

function empty(bits: number): (Stream | undefined)[] {
  return new Array(2 ** bits).fill(undefined);
}
