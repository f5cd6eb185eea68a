/** Long work in turns, so that the event loop does other work in between. */
import { setImmediate } from "node:timers/promises";

/** How long a turn may be, in milliseconds, unless it is said. */
const MAX_TURN = 10;

/**
 * Settles when the last piece of work that rests goes on. One does in each turn of the event loop:
 * else their turns would add up.
 */
let lastOfQueue: Promise<void> = Promise.resolve();

/** The pace of one piece of work. */
export class Pace {
  readonly #maxTurn: number;
  #began = performance.now();

  /** @param maxTurn how long a turn may be, in milliseconds */
  constructor(maxTurn = MAX_TURN) {
    this.#maxTurn = maxTurn;
  }

  /** To be awaited between steps: lets other work have its turn where the steps since the last time took long. */
  step(): Promise<void> | undefined {
    return performance.now() - this.#began < this.#maxTurn ? undefined : this.#rest();
  }

  async #rest(): Promise<void> {
    lastOfQueue = lastOfQueue.then(() => setImmediate());
    await lastOfQueue;
    this.#began = performance.now();
  }
}

/** Makes something of each item, in order and in turns. @param maxTurn as of `Pace` */
export async function mapPaced<T, R>(items: Iterable<T>, map: (item: T) => R, maxTurn?: number): Promise<R[]> {
  const pace = new Pace(maxTurn);
  const results: R[] = [];
  for (const item of items) {
    results.push(map(item));
    await pace.step();
  }
  return results;
}

/** Work in steps: it yields wherever other work may have its turn. */
export type Steps<R> = Generator<undefined, R, undefined>;

/** Does work in turns. */
export async function inTurns<R>(steps: Steps<R>): Promise<R> {
  const pace = new Pace();
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    // Not awaited where there is no rest: there may be a step for each field of a contract.
    const rest = pace.step();
    if (rest !== undefined) await rest;
  }
}

/** Does the same work at once. */
export function atOnce<R>(steps: Steps<R>): R {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
