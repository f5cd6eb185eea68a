/**
 * The open streams of a connection by their IDs. A Map would do the same, but leaves its former tables behind, each of
 * which refers to the one that came after it: once a table has been moved to V8's old generation, all later ones follow
 * it there, with the streams that they held, and stay until everything is collected. That cost a gateway a fifth of a
 * small call, and twice the heap.
 */
import type { Stream } from "./stream.js";

/** Slots at first, as a power of two. */
const MIN_BITS = 4;
/** 2 ** 32 by the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4). */
const GOLDEN = 0x9e3779b1;

/** Open addressing, linear probing; where a stream is taken out those behind it move up. */
export class StreamTable implements Iterable<Stream> {
  #bits = MIN_BITS;
  /** At most half of them are taken. */
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

  /** Adds a stream whose ID is not in. */
  add(stream: Stream): void {
    if (2 * ++this.#size > this.#slots.length) this.#grow();
    this.#slots[this.#find(stream.id)] = stream;
  }

  /** @returns false where it is not in */
  delete(id: number): boolean {
    const slots = this.#slots;
    let hole = this.#find(id);
    if (slots[hole] === undefined) return false;
    const mask = slots.length - 1;
    for (let at = hole; ; ) {
      at = (at + 1) & mask;
      const stream = slots[at];
      if (stream === undefined) break;
      // It may move up to its own place, and to any behind that.
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

  /** Those that are in now, whatever happens meanwhile. */
  [Symbol.iterator](): Iterator<Stream> {
    return this.#slots.filter((stream) => stream !== undefined).values();
  }

  /** The slot of this stream, or the empty one where it would be. */
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

  /** Where a stream stands unless others are in its way. IDs come one after the other: multiplied, they lie far apart. */
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
