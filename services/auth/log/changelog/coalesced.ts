import { setTimeout as sleep } from "node:timers/promises";

/**
 * Runs an operation for many callers at a time. Callers that come while one is under way share the next one, because the
 * one under way may have begun before what they must see.
 * @param pause awaited before each run; callers that come meanwhile share the run
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

/** A `pause` of `coalesced`: two runs begin at least `ms` milliseconds apart. */
export function apart(ms: number): () => Promise<void> {
  let last = Number.NEGATIVE_INFINITY;
  return async () => {
    const left = last + ms - performance.now();
    if (left > 0) await sleep(left);
    last = performance.now();
  };
}
