/**
 * A maximum of entries that expire. Entries that do not expire are counted by a number that is committed with them; one that
 * expires leaves without a commit, so these have to be counted in the store. That reads every key, so it is not done for each
 * write: half of the room that was found is used up before it is counted again.
 *
 * So it is not exact. Each further process on the same store may add, at most, as many entries as half of the maximum, less one;
 * and calls that run at the same time may add one each.
 */
import { resourceExhausted, type Store } from "../src/kit/index.js";

const MAX_ROOMS = 10_000;

export class Room {
  readonly #max: number;
  /** Writes left until the entries are counted again, by namespace and prefix. */
  readonly #left = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * To be called before an entry is written that may be new.
   * @param entries what a message calls the entries
   * @throws {StatusError} RESOURCE_EXHAUSTED when there are too many
   */
  async check(namespace: string, collection: Store<unknown>, prefix: string, entries: string): Promise<void> {
    const name = `${namespace}/${prefix}`;
    let left = this.#left.get(name) ?? 0;
    if (left <= 0) left = Math.ceil((this.#max - (await collection.count(prefix))) / 2);
    if (left <= 0) throw resourceExhausted(`There are ${this.#max} ${entries}: delete some, or wait until some expire`);
    if (this.#left.size >= MAX_ROOMS) this.#left.clear();
    this.#left.set(name, left - 1);
  }
}
