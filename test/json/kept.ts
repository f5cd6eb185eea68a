/** How much memory outside of V8's heap something keeps. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
export const collect: () => void = runInNewContext("gc");

/**
 * Collects garbage until no more than `most` bytes are kept beyond `before`, as another thread gives back what was
 * collected; gives up in the end. Gives how many are kept.
 */
export async function keptBeyond(before: number, most: number): Promise<number> {
  for (let turn = 0; turn < 100 && process.memoryUsage().arrayBuffers - before > most; turn++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().arrayBuffers - before;
}
