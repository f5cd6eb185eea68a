import { setTimeout as sleep } from "node:timers/promises";

/**
 * Shares the runs of an operation between callers. A call made during a run waits for the next run,
 * because the current one may have begun too early to see what the caller needs.
 * @param pause awaited before each run; calls made during it share that run
 */
export function coalesced(run: () => Promise<void>, pause?: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= current
      .catch(() => undefined)
      .then(pause)
      .then(() => {
        current = next as Promise<void>;
        next = undefined;
        return run();
      });
    return next;
  };
}

/** A `pause` for `coalesced`: two runs begin at least `ms` milliseconds apart. */
export function apart(ms: number): () => Promise<void> {
  let last = Number.NEGATIVE_INFINITY;
  return async () => {
    const left = last + ms - performance.now();
    if (left > 0) await sleep(left);
    last = performance.now();
  };
}
