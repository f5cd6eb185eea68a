/**
 * Limits the number of entries that expire. Entries that do not expire need no such limit: a number
 * that is committed with them counts them. An entry that expires disappears without a commit, so
 * expiring entries must be counted in the store. A count reads every key, so it is not made for
 * each write: the next count is due when half of the free capacity is used. Counting takes at most
 * a twentieth of the time, even while the limit is reached. Calls that need a count share one.
 *
 * So the limit is not exact. Each further process on the same store may add up to half of the
 * maximum, minus one. Calls that run at the same time may add one entry each. Capacity that other
 * processes have freed is found a little later.
 */
import { type Precondition, resourceExhausted, type Store } from "../../src/kit/index.js";

const MAX_KNOWN = 10_000;
/** The pause after a count, as a multiple of its duration. */
const PAUSE = 20;

/** The time in milliseconds. A test uses a clock that it controls. */
export interface TimeSource {
  now(): number;
}

/** What is known about the entries of a namespace and prefix. */
interface Known {
  /**
   * The number of new entries that may be written before the next count. Below 1, an entry is
   * written only if it exists already.
   */
  left: number;
  /** The earliest time of the next count. */
  next: number;
  /** Set while a count runs. */
  counting: Promise<void> | undefined;
}

export class StorageLimit {
  readonly #max: number;
  readonly #entries: string;
  readonly #clock: TimeSource;
  /** By namespace and prefix. */
  readonly #known = new Map<string, Known>();

  /** @param entries the name of the entries for messages */
  constructor(max: number, entries: string, clock: TimeSource = performance) {
    this.#max = max;
    this.#entries = entries;
    this.#clock = clock;
  }

  /**
   * Call it before an entry is written that may be new.
   * @returns the condition for the write: none if there is free capacity, otherwise that the entry
   *   exists already
   */
  async enter(namespace: string, collection: Store<unknown>, prefix: string): Promise<Precondition> {
    const known = this.#knownOf(`${namespace}/${prefix}`);
    if (known.left <= 0 && (known.counting !== undefined || this.#clock.now() >= known.next)) {
      known.counting ??= this.#count(known, collection, prefix);
      await known.counting;
    }
    if (known.left <= 0) return { ifPresent: true };
    known.left--;
    return {};
  }

  /** Call it after an existing entry was deleted. */
  leave(namespace: string, prefix: string): void {
    const known = this.#known.get(`${namespace}/${prefix}`);
    if (known !== undefined) known.left++;
  }

  /** The error for a new entry while the limit is reached. */
  full(): Error {
    return resourceExhausted(`There are ${this.#max} ${this.#entries}: delete some, or wait until some expire`);
  }

  #knownOf(name: string): Known {
    let known = this.#known.get(name);
    if (known === undefined) {
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      known = { left: 0, next: Number.NEGATIVE_INFINITY, counting: undefined };
      this.#known.set(name, known);
    }
    return known;
  }

  async #count(known: Known, collection: Store<unknown>, prefix: string): Promise<void> {
    const began = this.#clock.now();
    try {
      const free = this.#max - (await collection.count(prefix));
      known.left = free > 0 ? Math.ceil(free / 2) : free;
      const now = this.#clock.now();
      known.next = now + PAUSE * (now - began);
    } finally {
      known.counting = undefined;
    }
  }
}
