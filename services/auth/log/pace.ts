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
