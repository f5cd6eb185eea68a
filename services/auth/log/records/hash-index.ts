/**
 * Finds numbers by the hash of a name: hash tables in typed arrays, with linear probing. Several
 * numbers may have the same hash, so the caller checks each result. There are many small tables
 * instead of a large one, because they grow one at a time: growing a large one would block
 * everything else.
 */

const TABLES = 256;
const MIN_CAPACITY = 8;
/** Maximum load of a table before it grows. */
const MAX_LOAD = 0.75;

/**
 * FNV-1a hash of the name (http://www.isthe.com/chongo/tech/comp/fnv/), an unsigned 32-bit number.
 */
export function hashOf(name: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name[at]!, 0x01000193);
  return hash >>> 0;
}

/** Numbers below 2³² − 1 by hashes of 32 bits. */
export class HashIndex {
  readonly #tables = Array.from({ length: TABLES }, () => new Table());

  add(hash: number, number: number): void {
    this.#tableOf(hash).add(hash, number);
  }

  /** Removes the number from the hash, if it is there. */
  remove(hash: number, number: number): void {
    this.#tableOf(hash).remove(hash, number);
  }

  /** The first number of the hash that `accept` accepts; undefined if none. */
  find(hash: number, accept: (number: number) => boolean): number | undefined {
    return this.#tableOf(hash).find(hash, accept);
  }

  #tableOf(hash: number): Table {
    return this.#tables[hash % TABLES]!;
  }
}

class Table {
  /** Pairs of a hash and its number plus 1; 0 for a free place. */
  #pairs = new Uint32Array(2 * MIN_CAPACITY);
  #count = 0;

  add(hash: number, number: number): void {
    if (this.#count + 1 > (this.#pairs.length / 2) * MAX_LOAD) this.#grow();
    let place = this.#home(hash);
    while (this.#pairs[place + 1] !== 0) place = this.#after(place);
    this.#pairs[place] = hash;
    this.#pairs[place + 1] = number + 1;
    this.#count++;
  }

  find(hash: number, accept: (number: number) => boolean): number | undefined {
    for (let place = this.#home(hash); this.#pairs[place + 1] !== 0; place = this.#after(place)) {
      if (this.#pairs[place] === hash && accept(this.#pairs[place + 1]! - 1)) return this.#pairs[place + 1]! - 1;
    }
    return undefined;
  }

  remove(hash: number, number: number): void {
    let place = this.#home(hash);
    while (this.#pairs[place] !== hash || this.#pairs[place + 1] !== number + 1) {
      if (this.#pairs[place + 1] === 0) return;
      place = this.#after(place);
    }
    this.#count--;
    // Moves up later entries that are not at their own place, so that no search ends at the gap.
    for (let next = this.#after(place); this.#pairs[next + 1] !== 0; next = this.#after(next)) {
      const home = this.#home(this.#pairs[next]!);
      if (this.#distance(home, next) < this.#distance(place, next)) continue;
      this.#pairs.copyWithin(place, next, next + 2);
      place = next;
    }
    this.#pairs[place + 1] = 0;
  }

  #grow(): void {
    const pairs = this.#pairs;
    this.#pairs = new Uint32Array(2 * pairs.length);
    this.#count = 0;
    for (let at = 0; at < pairs.length; at += 2) if (pairs[at + 1] !== 0) this.add(pairs[at]!, pairs[at + 1]! - 1);
  }

  #home(hash: number): number {
    return (Math.floor(hash / TABLES) * 2) & (this.#pairs.length - 1);
  }

  #after(place: number): number {
    return (place + 2) & (this.#pairs.length - 1);
  }

  #distance(from: number, to: number): number {
    return (to - from) & (this.#pairs.length - 1);
  }
}
