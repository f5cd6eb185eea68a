/**
 * Wakes the streams that wait for a write under a key of the store, so that they need not poll all
 * the time.
 */

/** How long a stream sleeps at most. A write by another process does not notify this one. */
const POLL_MS = 1000;

export class Notifier {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Call it after a write to the data that `key` stands for. */
  notify(key: string): void {
    for (const wake of this.#waiting.get(key) ?? []) wake();
  }

  /**
   * Begins to listen. A stream listens first, then reads, then sleeps, so it misses no write in
   * between.
   * @returns `sleep` resolves when the key was notified since the last `sleep`, when a second has
   *   passed, or when the signal is aborted; `end` stops listening
   */
  listen(key: string, signal: AbortSignal): { sleep: () => Promise<void>; end: () => void } {
    let isNotified = false;
    let wake = () => {};
    const onNotify = () => {
      isNotified = true;
      wake();
    };
    const listeners = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, listeners.add(onNotify));
    signal.addEventListener("abort", onNotify);
    const sleep = async () => {
      if (!isNotified && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, POLL_MS);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      isNotified = false;
    };
    const end = () => {
      signal.removeEventListener("abort", onNotify);
      listeners.delete(onNotify);
      if (listeners.size === 0) this.#waiting.delete(key);
    };
    return { sleep, end };
  }
}
