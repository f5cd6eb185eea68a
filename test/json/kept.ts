/** Measures how much memory outside of V8's heap stays in use. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
export const collect: () => void = runInNewContext("gc");

/**
 * Collects garbage until at most `max` bytes more than `before` are in use. It waits, because
 * another thread releases the memory, and gives up after some time. Returns how many bytes more are
 * in use.
 */
export async function keptBeyond(before: number, max: number): Promise<number> {
  for (let turn = 0; turn < 100 && process.memoryUsage().arrayBuffers - before > max; turn++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().arrayBuffers - before;
}
