import { setTimeout as sleep } from "node:timers/promises";

/** Waits until something is so. Between two looks it leaves the processor to others; a test's own time bounds the wait. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(2);
}
