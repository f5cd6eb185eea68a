/** Sets that find duplicates: members of an object, and keys of a map. */
import { randomBytes } from "node:crypto";

/** The maximum number of keys of a map without a table. */
const MAX_ON_STACK = 16;
/** A table of at most this many slots is reused for the next map or message. */
const MAX_KEPT = 4096;
const secret = randomBytes(8);
const SEED = secret.readInt32LE(0);
const FACTOR = secret.readInt32LE(4) | 1;

/** Compares and hashes the keys of a map. */
export interface Keys {
  /** Whether the key at `offset` is the same as the one at `other`. */
  same(offset: number, other: number): boolean;
  /** The hash of the key at `offset`. */
  hash(offset: number): number;
}

/** The set that encloses the innermost one. */
interface OuterSet {
  start: number;
  table: Int32Array | undefined;
  size: number;
}

/**
 * Finds out whether a map has a key twice, without making strings. A key is represented by its
 * offset in the text or message.
 *
 * Maps nest, and only the innermost one grows. The keys of a small map are on a stack that all maps
 * share, and are searched linearly. A larger map has a hash table that stores only offsets. When
 * the table grows, the hashes are computed again. The hash function uses a secret of this process,
 * so no caller can send keys that all collide.
 */
export class KeySet {
  /** Hash and offset of each key, for the sets that have no table. */
  #entries = new Int32Array(MAX_ON_STACK * 8);
  #top = 0;
  /** The index of the first entry of the innermost set. */
  #start = 0;
  /** Offsets plus one; 0 is a free slot. */
  #table: Int32Array | undefined;
  /** Number of keys in the table. */
  #size = 0;
  readonly #outer: OuterSet[] = [];
  #depth = 0;
  /** The last table of each depth, for reuse. */
  readonly #kept: (Int32Array | undefined)[] = [];

  clear(): void {
    this.#top = 0;
    this.#start = 0;
    this.#table = undefined;
    this.#depth = 0;
  }

  /** Starts the set of a map inside the current set. */
  open(): void {
    const outer = this.#outer[this.#depth];
    if (outer === undefined) this.#outer.push({ start: this.#start, table: this.#table, size: this.#size });
    else {
      outer.start = this.#start;
      outer.table = this.#table;
      outer.size = this.#size;
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
    this.#size = outer.size;
    outer.table = undefined;
  }

  /** Adds a key to the innermost set. Returns false if the set has it already. */
  add(hash: number, offset: number, keys: Keys): boolean {
    if (this.#table !== undefined) return this.#addToTable(this.#table, hash, offset, keys);
    const entries = this.#entries;
    const top = this.#top;
    for (let at = this.#start; at < top; at += 2) {
      if (entries[at] === hash && keys.same(offset, entries[at + 1]!)) return false;
    }
    if (top - this.#start === MAX_ON_STACK * 2) {
      this.#moveToTable(this.#emptyTable(MAX_ON_STACK * 4));
      return this.#addToTable(this.#table!, hash, offset, keys);
    }
    if (top === entries.length) {
      this.#entries = new Int32Array(top * 2);
      this.#entries.set(entries);
    }
    this.#entries[top] = hash;
    this.#entries[top + 1] = offset;
    this.#top = top + 2;
    return true;
  }

  /** Whether the innermost set has a key. */
  has(hash: number, offset: number, keys: Keys): boolean {
    const table = this.#table;
    if (table === undefined) {
      for (let at = this.#start; at < this.#top; at += 2) {
        if (this.#entries[at] === hash && keys.same(offset, this.#entries[at + 1]!)) return true;
      }
      return false;
    }
    const mask = table.length - 1;
    for (let slot = hash & mask; table[slot] !== 0; slot = (slot + 1) & mask) {
      if (keys.same(offset, table[slot]! - 1)) return true;
    }
    return false;
  }

  #addToTable(table: Int32Array, hash: number, offset: number, keys: Keys): boolean {
    const mask = table.length - 1;
    let slot = hash & mask;
    for (let place = table[slot]!; place !== 0; place = table[slot]!) {
      if (keys.same(offset, place - 1)) return false;
      slot = (slot + 1) & mask;
    }
    table[slot] = offset + 1;
    this.#size++;
    if (this.#size * 4 > table.length * 3) this.#grow(table, keys);
    return true;
  }

  #moveToTable(table: Int32Array): void {
    for (let at = this.#start; at < this.#top; at += 2) insert(table, this.#entries[at]!, this.#entries[at + 1]! + 1);
    this.#size = MAX_ON_STACK;
    this.#top = this.#start;
    this.#table = table;
  }

  #grow(table: Int32Array, keys: Keys): void {
    const larger = this.#emptyTable(table.length * 2);
    for (const place of table) if (place !== 0) insert(larger, keys.hash(place - 1), place);
    this.#table = larger;
  }

  #emptyTable(size: number): Int32Array {
    if (size > MAX_KEPT) return new Int32Array(size);
    const kept = this.#kept[this.#depth];
    if (kept !== undefined && kept !== this.#table && kept.length >= size) return kept.fill(0);
    const table = new Int32Array(size);
    this.#kept[this.#depth] = table;
    return table;
  }
}

/** Inserts a key that is not in the table. */
function insert(table: Int32Array, hash: number, place: number): void {
  const mask = table.length - 1;
  let slot = hash & mask;
  while (table[slot] !== 0) slot = (slot + 1) & mask;
  table[slot] = place;
}

/**
 * The hash of a key that consists of bytes.
 * @param words a view of `bytes` as words, or an empty view
 */
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

/**
 * A stack of sets of small numbers. For each object that is being read, one set contains the
 * members that were seen.
 */
export class BitSets {
  #words = new Int32Array(64);
  #top = 0;

  clear(): void {
    this.#top = 0;
  }

  /** Starts an empty set for numbers below `words` × 32, and returns its handle. */
  open(words: number): number {
    const start = this.#top;
    this.#top = start + words;
    if (this.#top > this.#words.length) {
      const larger = new Int32Array(this.#top * 2);
      larger.set(this.#words);
      this.#words = larger;
    }
    for (let word = start; word < start + words; word++) this.#words[word] = 0;
    return start;
  }

  /** Ends a set, and all sets that were started after it. */
  close(set: number): void {
    this.#top = set;
  }

  /** Adds a number to a set. Returns false if the set has it already. */
  add(set: number, number: number): boolean {
    const word = set + (number >> 5);
    const before = this.#words[word]!;
    const after = before | (1 << (number & 31));
    this.#words[word] = after;
    return after !== before;
  }
}
