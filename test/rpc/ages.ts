/** Runs out the default maximum age of connections without waiting for it. */
import type { Test } from "tap";

const MINUTE = 60_000;

/**
 * Collects the timers of about 30 minutes that are set from now until the end of the test. The test
 * may call their functions at any time.
 */
export function collectHalfHours(t: Test): (() => void)[] {
  const acts: (() => void)[] = [];
  const { setTimeout } = globalThis;
  const collecting = (act: () => void, delay?: number): NodeJS.Timeout => {
    if (delay !== undefined && delay >= 27 * MINUTE && delay <= 33 * MINUTE) acts.push(act);
    return setTimeout(act, delay);
  };
  globalThis.setTimeout = Object.assign(collecting, setTimeout) as typeof setTimeout;
  t.teardown(() => {
    globalThis.setTimeout = setTimeout;
  });
  return acts;
}
