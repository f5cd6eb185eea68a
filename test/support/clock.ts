/** A clock that a test controls. */
import type { Test } from "tap";

/**
 * Replaces a clock until the test ends: it then shows what `now` returns.
 * @param clock `Date`, which an administrator may set, or `performance`, which is never set
 */
export function replaceClock(t: Pick<Test, "teardown">, clock: { now(): number }, now: () => number): void {
  const original = clock.now;
  clock.now = now;
  t.teardown(() => {
    clock.now = original;
  });
}

/**
 * Sets the wall clock forward, or back, until the test ends.
 * @param by in milliseconds
 */
export function setWallClock(t: Pick<Test, "teardown">, by: number): void {
  const original = Date.now;
  replaceClock(t, Date, () => original() + by);
}
