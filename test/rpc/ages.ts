/** The shipped age of connections, without waiting for it. */
import type { Test } from "tap";

const MINUTE = 60_000;

/** What is to happen about 30 minutes after it is set, as far as it is set before the test ends; to be called at will. */
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
