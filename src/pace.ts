/** Long work in turns, so that the event loop does other work in between. */
import { setImmediate } from "node:timers/promises";

/** How long a turn may be, in milliseconds. */
const MAX_TURN = 10;

/** The pace of one piece of work. */
export class Pace {
  #began = performance.now();

  /** To be awaited between steps: lets other work have its turn where the steps since the last time took long. */
  step(): Promise<void> | undefined {
    return performance.now() - this.#began < MAX_TURN ? undefined : this.#rest();
  }

  async #rest(): Promise<void> {
    await setImmediate();
    this.#began = performance.now();
  }
}

/** Makes something of each item, in order and in turns. */
export async function mapPaced<T, R>(items: Iterable<T>, map: (item: T) => R): Promise<R[]> {
  const pace = new Pace();
  const results: R[] = [];
  for (const item of items) {
    results.push(map(item));
    await pace.step();
  }
  return results;
}
