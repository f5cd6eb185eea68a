/** The maximum number of bytes that a service stores in a namespace. The store counts them. */
import { resourceExhausted } from "../errors.js";
import { BoundedMap } from "../memory/bounded-map.js";
import type { StoredWrite } from "../store/store.js";

/** The maximum number of places whose last count is remembered. */
const MAX_PLACES = 10_000;
/**
 * The minimum time between two counts of a place, in milliseconds. Entries that expire are deleted
 * without a commit, so only a count finds what they free. It is made when the limit is reached.
 */
const COUNT_MS = 60_000;

export class Quota {
  readonly #max: number;
  /** When a place was last counted, in milliseconds of `performance.now()`. */
  readonly #counted = new BoundedMap<string, number>(MAX_PLACES);

  /** @param max in bytes of keys and values */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * The write that counts the other writes of a commit.
   * @param place the part of the keys that stands for the service and the namespace
   * @param recount whether all entries are counted again
   */
  usage(place: string, recount = false): StoredWrite {
    // The names of collections sort before `~`, so what Portico stores itself is not counted.
    return { kind: "usage", key: `${place}/~usage`, from: `${place}/`, to: `${place}/~`, max: this.#max, recount };
  }

  /** Whether all entries of a place may be counted now. True once in COUNT_MS. */
  mayRecount(place: string): boolean {
    const last = this.#counted.get(place) ?? Number.NEGATIVE_INFINITY;
    if (performance.now() - last < COUNT_MS) return false;
    this.#counted.set(place, performance.now());
    return true;
  }

  /** The error for a caller whose write does not fit. */
  exceeded(service: string, namespace: string) {
    return resourceExhausted(
      `the service ${service} may store ${this.#max} bytes in the namespace ${namespace} (PORTICO_SERVICE_QUOTA), and this ` +
        "would be more: delete some of its data first",
    );
  }
}
