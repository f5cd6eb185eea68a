/**
 * Time that passes only in `run`. While that runs, it replaces `setTimeout` and the sleep of
 * node:timers/promises, also for modules that have imported them already.
 */
import { syncBuiltinESMExports } from "node:module";
import timers, { setImmediate as turn } from "node:timers/promises";

/**
 * The resolution, in milliseconds. Callbacks of one step run in the order in which they were
 * registered.
 */
const STEP = 2;

export class VirtualTime {
  /** Milliseconds since the beginning. */
  now = 0;
  readonly #due = new Map<number, Set<() => void>>();

  /** @returns a function that cancels it */
  after(ms: number, act: () => void): () => void {
    const step = Math.ceil((this.now + Math.max(ms, STEP)) / STEP);
    const due = this.#due.get(step) ?? new Set();
    this.#due.set(step, due);
    due.add(act);
    return () => due.delete(act);
  }

  readonly sleep = (ms: number): Promise<void> => new Promise((resolve) => void this.after(ms, resolve));

  /**
   * Lets time pass until `until`, in milliseconds.
   * @param each is called after each step in which something was due
   */
  async run(until: number, each: () => void): Promise<void> {
    const restore = this.#install();
    try {
      while (this.now < until) {
        this.now += STEP;
        const step = Math.round(this.now / STEP);
        const due = this.#due.get(step);
        if (due === undefined) continue;
        this.#due.delete(step);
        for (const act of due) act();
        // Notifications of the store come in later turns of the event loop.
        for (let turns = 0; turns < 3; turns++) await turn();
        each();
      }
    } finally {
      restore();
    }
  }

  #install(): () => void {
    const { setTimeout, clearTimeout } = globalThis;
    const { setTimeout: sleep } = timers;
    const set = (act: () => void, ms = 0) => {
      const cancel = this.after(ms, act);
      return { cancel, unref: () => undefined };
    };
    const clear = (timer: { cancel?: () => void } | undefined) => timer?.cancel?.();
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
    Object.assign(timers, { setTimeout: this.sleep });
    syncBuiltinESMExports();
    return () => {
      Object.assign(globalThis, { setTimeout, clearTimeout });
      Object.assign(timers, { setTimeout: sleep });
      syncBuiltinESMExports();
    };
  }
}
