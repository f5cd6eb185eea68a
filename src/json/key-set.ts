/**
 * Finds out whether a map has a key twice, without making a string of any key. A key is known by a hash and by where
 * it stands; whether two with one hash are the same is for the caller to say.
 *
 * Maps nest, and only the innermost grows, so all share one stack. A map of a few keys is searched from end to end, a
 * larger one has a table. The hash has a secret that is new in each process: without it, whoever knows the hash could
 * send keys that all meet in one place, and make the search quadratic.
 */
import { randomBytes } from "node:crypto";

const FEW = 16;
/** What has at most so many places is kept for the next map, or the next message. */
const KEPT = 4096;
const secret = randomBytes(8);
const SEED = secret.readInt32LE(0);
const FACTOR = secret.readInt32LE(4) | 1;

/** Says whether the key at `offset` is the same as the one at `other`. */
export type SameKey = (offset: number, other: number) => boolean;

export class KeySet {
  /** Hash and offset of each key. */
  #entries = new Int32Array(FEW * 8);
  #top = 0;
  #start = 0;
  /** Of the innermost set, once it is large: positions in the stack, plus one; 0 is free. */
  #table: Int32Array | undefined;
  readonly #outer: { start: number; table: Int32Array | undefined }[] = [];
  #depth = 0;
  /** The last table of each depth. */
  readonly #kept: (Int32Array | undefined)[] = [];

  clear(): void {
    if (this.#entries.length > KEPT) this.#entries = new Int32Array(FEW * 8);
    this.#top = 0;
    this.#start = 0;
    this.#table = undefined;
    this.#depth = 0;
  }

  /** Starts the set of a map within the one before. */
  open(): void {
    const outer = this.#outer[this.#depth];
    if (outer === undefined) this.#outer.push({ start: this.#start, table: this.#table });
    else {
      outer.start = this.#start;
      outer.table = this.#table;
    }
    this.#depth++;
    this.#start = this.#top;
    this.#table = undefined;
  }

  /** Ends the innermost set. */
  close(): void {
    this.#top = this.#start;
    const outer = this.#outer[--this.#depth]!;
    this.#start = outer.start;
    this.#table = outer.table;
    outer.table = undefined;
  }

  /** Adds a key to the innermost set. False when it is in it. */
  add(hash: number, offset: number, same: SameKey): boolean {
    const entries = this.#entries;
    const top = this.#top;
    let slot = -1;
    if (this.#table !== undefined) {
      slot = this.#find(this.#table, hash, offset, same);
      if (slot < 0) return false;
      this.#table[slot] = top + 1;
    } else {
      for (let at = this.#start; at < top; at += 2) {
        if (entries[at] === hash && same(offset, entries[at + 1]!)) return false;
      }
    }
    if (top + 2 > entries.length) {
      this.#entries = new Int32Array(entries.length * 2);
      this.#entries.set(entries);
    }
    this.#entries[top] = hash;
    this.#entries[top + 1] = offset;
    this.#top = top + 2;
    const size = (this.#top - this.#start) >> 1;
    if (size > FEW && (this.#table === undefined || size * 2 > this.#table.length)) this.#rebuild((size - 1) * 4);
    return true;
  }

  /** The free place for a key, or -1 when it is there. */
  #find(table: Int32Array, hash: number, offset: number, same: SameKey): number {
    const mask = table.length - 1;
    let slot = hash & mask;
    for (let at = table[slot]!; at !== 0; at = table[slot]!) {
      if (this.#entries[at - 1] === hash && same(offset, this.#entries[at]!)) return -1;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #rebuild(size: number): void {
    const table = this.#emptyTable(1 << (32 - Math.clz32(size - 1)));
    const mask = table.length - 1;
    for (let at = this.#start; at < this.#top; at += 2) {
      let slot = this.#entries[at]! & mask;
      while (table[slot] !== 0) slot = (slot + 1) & mask;
      table[slot] = at + 1;
    }
    this.#table = table;
  }

  #emptyTable(size: number): Int32Array {
    if (size > KEPT) return new Int32Array(size);
    const kept = this.#kept[this.#depth];
    if (kept !== undefined && kept.length >= size) return kept.fill(0);
    const table = new Int32Array(size);
    this.#kept[this.#depth] = table;
    return table;
  }
}

/** The hash of a key that is some bytes. `words` are the words of the array, if it has them. */
export function hashOfBytes(bytes: Uint8Array, words: DataView, start: number, end: number): number {
  let hash = SEED ^ (end - start);
  let at = start;
  for (const lastWord = Math.min(end, words.byteLength) - 4; at <= lastWord; at += 4) {
    hash = Math.imul(hash ^ words.getInt32(at, true), FACTOR);
    hash ^= hash >>> 15;
  }
  for (; at < end; at++) {
    hash = Math.imul(hash ^ bytes[at]!, FACTOR);
    hash ^= hash >>> 15;
  }
  return hash;
}

/** The hash of a key that is a 64-bit integer. */
export function hashOfInteger(low: number, high: number): number {
  let hash = Math.imul(SEED ^ low, FACTOR);
  hash = Math.imul(hash ^ (hash >>> 15) ^ high, FACTOR);
  return hash ^ (hash >>> 13);
}
