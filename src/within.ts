/**
 * The result of an operation that cannot be aborted: after its time it may still happen.
 * @param late makes the error, if the operation does not end within `ms` milliseconds
 */
export async function within<T>(ms: number, operation: Promise<T>, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([operation, end]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for an operation, `ms` milliseconds at most. @throws what the operation rejects with */
export async function waitAtMost(ms: number, operation: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await Promise.race([operation, end]);
  } finally {
    clearTimeout(timer);
  }
}
