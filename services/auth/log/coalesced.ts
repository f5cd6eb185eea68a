/**
 * Runs a reading for many callers at a time. Callers that come while a reading is under way share the next one, because
 * the one under way may have begun before what they must see.
 */
export function coalesced(read: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= current
      .catch(() => undefined)
      .then(() => {
        current = next as Promise<void>;
        next = undefined;
        return read();
      });
    return next;
  };
}
