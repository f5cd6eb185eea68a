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
