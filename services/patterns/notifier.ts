/** Wakes the streams that wait for something new under a key of the store, so that they need not read all the time. */

/** How long a stream sleeps when another process may have written, which rings no bell here. */
const POLL_MS = 1000;

export class Notifier {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** To be called when what `key` stands for was written. */
  ring(key: string): void {
    for (const wake of this.#waiting.get(key) ?? []) wake();
  }

  /**
   * Begins to listen. A stream listens first, then reads, then sleeps: so it misses nothing that is written meanwhile.
   * @returns a function that sleeps until the bell has rung since it last returned, a second has passed, or the signal is aborted;
   * and one that ends the listening
   */
  listen(key: string, signal: AbortSignal): { sleep: () => Promise<void>; end: () => void } {
    let rung = false;
    let wake = () => {};
    const ring = () => {
      rung = true;
      wake();
    };
    const notifiers = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, notifiers.add(ring));
    signal.addEventListener("abort", ring);
    const sleep = async () => {
      if (!rung && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, POLL_MS);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      rung = false;
    };
    const end = () => {
      signal.removeEventListener("abort", ring);
      notifiers.delete(ring);
      if (notifiers.size === 0) this.#waiting.delete(key);
    };
    return { sleep, end };
  }
}
