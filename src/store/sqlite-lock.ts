/** Waits for SQLite's write lock while another connection holds it. */
import { setTimeout as sleep } from "node:timers/promises";

/** The time between two attempts, in milliseconds. */
const RETRY_MS = 5;

/**
 * Runs `act`, which takes the lock. Repeats it while another connection holds the lock, for at most
 * half of `timeoutMs`, so that there is time to report the reason. SQLite's own wait would block a
 * thread. Node has few threads, and the holder of the lock needs one.
 */
export async function whenFree<T>(timeoutMs: number, act: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + timeoutMs / 2; ; ) {
    try {
      return await act();
    } catch (error) {
      // A failed attempt has written nothing: a statement takes the lock before it writes, and a
      // transaction takes it at its beginning.
      if ((error as { code?: string }).code !== "SQLITE_BUSY" || performance.now() >= end) throw error;
    }
    await sleep(RETRY_MS);
  }
}
