/** Does long work in turns, so that the event loop does other work in between. */
import { setImmediate } from "node:timers/promises";

/** Default duration of a turn, in milliseconds. */
const MAX_TURN = 10;

/**
 * Settles when the last task that waits continues. In each turn of the event loop only one task
 * continues. Otherwise the times of their turns would add up.
 */
let lastOfQueue: Promise<void> = Promise.resolve();

/** The pace of one long task. */
export class Pace {
  readonly #maxTurn: number;
  #began = performance.now();

  /** @param maxTurn duration of a turn, in milliseconds */
  constructor(maxTurn = MAX_TURN) {
    this.#maxTurn = maxTurn;
  }

  /**
   * To be awaited between steps. Gives other work its turn if the steps since the last pause took
   * too long.
   */
  step(): Promise<void> | undefined {
    return performance.now() - this.#began < this.#maxTurn ? undefined : this.#rest();
  }

  async #rest(): Promise<void> {
    lastOfQueue = lastOfQueue.then(() => setImmediate());
    await lastOfQueue;
    this.#began = performance.now();
  }
}

/** Maps each item, in order and in turns. @param maxTurn as of `Pace` */
export async function mapPaced<T, R>(items: Iterable<T>, map: (item: T) => R, maxTurn?: number): Promise<R[]> {
  const pace = new Pace(maxTurn);
  const results: R[] = [];
  for (const item of items) {
    results.push(map(item));
    await pace.step();
  }
  return results;
}

/** Work in steps: it yields wherever the event loop may do other work. */
export type Steps<R> = Generator<undefined, R, undefined>;

/** Does the work in turns. */
export async function inTurns<R>(steps: Steps<R>): Promise<R> {
  const pace = new Pace();
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    // Not awaited if no pause is due: there may be a step for each field of a contract.
    const rest = pace.step();
    if (rest !== undefined) await rest;
  }
}

/** Does the work without a pause. */
export function atOnce<R>(steps: Steps<R>): R {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
