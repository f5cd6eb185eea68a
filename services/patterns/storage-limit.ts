/**
 * A maximum of entries that expire. Entries that do not expire are counted by a number that is committed with them; one that
 * expires leaves without a commit, so these have to be counted in the store. That reads every key, so it is not done for each
 * write: half of the room that was found is used up before it is counted again, and counting takes at most a twentieth of the
 * time, also while there is no room. Calls that wait for a count wait for the same one.
 *
 * So it is not exact. Each further process on the same store may add, at most, as many entries as half of the maximum, less one;
 * calls that run at the same time may add one each; and room that others have made is found a little later.
 */
import { type Precondition, resourceExhausted, type Store } from "../../src/kit/index.js";

const MAX_ROOMS = 10_000;
/** For how many times as long as a count took the next one waits. */
const PAUSE = 20;

/** The time, in milliseconds; a test has one that it moves by hand. */
export interface TimeSource {
  now(): number;
}

/** What is known of the entries of a namespace and prefix. */
interface Known {
  /** New entries that may be written until they are counted again. */
  left: number;
  /** The earliest time of the next count. */
  next: number;
  /** While they are counted. */
  counting: Promise<void> | undefined;
}

export class StorageLimit {
  readonly #max: number;
  readonly #entries: string;
  readonly #clock: TimeSource;
  /** By namespace and prefix. */
  readonly #known = new Map<string, Known>();

  /** @param entries what a message calls the entries */
  constructor(max: number, entries: string, clock: TimeSource = performance) {
    this.#max = max;
    this.#entries = entries;
    this.#clock = clock;
  }

  /**
   * To be called before an entry is written that may be new.
   * @returns on which condition it may be written: none while there is room, else that it is there already
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

  /** To be called when an entry was deleted that was there. */
  leave(namespace: string, prefix: string): void {
    const known = this.#known.get(`${namespace}/${prefix}`);
    if (known !== undefined) known.left++;
  }

  /** The refusal of an entry that is new, where it may be written only if it is there. */
  full(): Error {
    return resourceExhausted(`There are ${this.#max} ${this.#entries}: delete some, or wait until some expire`);
  }

  #knownOf(name: string): Known {
    let known = this.#known.get(name);
    if (known === undefined) {
      if (this.#known.size >= MAX_ROOMS) this.#known.clear();
      known = { left: 0, next: Number.NEGATIVE_INFINITY, counting: undefined };
      this.#known.set(name, known);
    }
    return known;
  }

  async #count(known: Known, collection: Store<unknown>, prefix: string): Promise<void> {
    const began = this.#clock.now();
    try {
      const room = this.#max - (await collection.count(prefix));
      known.left = room > 0 ? Math.ceil(room / 2) : room;
      const now = this.#clock.now();
      known.next = now + PAUSE * (now - began);
    } finally {
      known.counting = undefined;
    }
  }
}
