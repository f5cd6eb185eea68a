/** The streams of a connection by ID: the open ones, and the ones that were closed last. */
import type { Stream } from "./stream.js";

/** The initial number of slots, as a power of two. */
const MIN_BITS = 4;
/**
 * 2 ** 32 divided by the golden ratio (Knuth, The Art of Computer Programming, volume 3, section
 * 6.4).
 */
const GOLDEN = 0x9e3779b1;

/**
 * The open streams, in a hash table with open addressing and linear probing. A deletion moves later
 * streams into the free slot.
 *
 * It is used instead of `Map`, because a `Map` that grows keeps its old tables linked to the new
 * ones. Once an old table is in V8's old generation, it keeps all later ones alive, and the streams
 * in them, until a full garbage collection (docs/performance.md, "Collections").
 */
export class StreamTable implements Iterable<Stream> {
  #bits = MIN_BITS;
  /** At most half of the slots are used. */
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

  /** @returns false when no stream has the ID */
  delete(id: number): boolean {
    const slots = this.#slots;
    let hole = this.#find(id);
    if (slots[hole] === undefined) return false;
    const mask = slots.length - 1;
    for (let at = hole; ; ) {
      at = (at + 1) & mask;
      const stream = slots[at];
      if (stream === undefined) break;
      // A stream may move to its home slot or to any slot after it, but not before it.
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

  /** Iterates over a copy, so streams may be added and deleted during the iteration. */
  [Symbol.iterator](): Iterator<Stream> {
    return this.#slots.filter((stream) => stream !== undefined).values();
  }

  /** The slot of the stream with this ID, or the empty slot where it would be added. */
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

  /** The first slot to try for an ID (Fibonacci hashing: consecutive IDs are far apart). */
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

/** The number of closed streams that are remembered; older ones are forgotten. */
const REMEMBERED = 512;

/** Which end closed a stream. */
export type Ending = "by us" | "by the peer";

/**
 * The streams that were closed last. The treatment of a frame for a closed stream depends on how
 * the stream was closed (RFC 9113, section 5.1). If this end has reset the stream, the frame was in
 * transit and is ignored. If the peer has ended it, the frame is an error.
 */
export class ClosedStreams {
  readonly #ids = new Uint32Array(REMEMBERED);
  readonly #byUs = new Uint8Array(REMEMBERED);
  #next = 0;

  add(id: number, ending: Ending): void {
    this.#ids[this.#next] = id;
    this.#byUs[this.#next] = ending === "by us" ? 1 : 0;
    this.#next = (this.#next + 1) % REMEMBERED;
  }

  find(id: number): Ending | undefined {
    const index = this.#ids.indexOf(id);
    if (index < 0) return undefined;
    return this.#byUs[index] ? "by us" : "by the peer";
  }

  /**
   * The peer has also ended a stream that this end has reset, so no more of its frames are in
   * transit.
   */
  endedByPeer(id: number): void {
    const index = this.#ids.indexOf(id);
    if (index >= 0) this.#byUs[index] = 0;
  }
}
