/** Who waits for the lock that another connection has on a file of SQLite. */
import { setTimeout as sleep } from "node:timers/promises";

/** How soon it is tried again, in milliseconds. */
const RETRY_MS = 5;

/**
 * What takes the lock, as long as another connection has it; at most half of the deadline, so that the reason is told. SQLite
 * itself would wait in a thread, and of Node's few threads one must be left for who has the lock.
 */
export async function whenFree<T>(timeoutMs: number, act: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + timeoutMs / 2; ; ) {
    try {
      return await act();
    } catch (error) {
      // Nothing was done: a statement takes the lock before it writes, and a transaction when it begins.
      if ((error as { code?: string }).code !== "SQLITE_BUSY" || performance.now() >= end) throw error;
    }
    await sleep(RETRY_MS);
  }
}
