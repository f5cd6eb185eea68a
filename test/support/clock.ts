/** A clock in the hands of a test. */
import type { Test } from "tap";

/** Has a clock (`Date`, which may be set, or `performance`, which nobody sets) show what `now` says, until the test ends. */
export function replaceClock(t: Pick<Test, "teardown">, clock: { now(): number }, now: () => number): void {
  const original = clock.now;
  clock.now = now;
  t.teardown(() => {
    clock.now = original;
  });
}

/** Sets the wall clock by so many milliseconds, forward or back, until the test ends. */
export function setWallClock(t: Pick<Test, "teardown">, by: number): void {
  const original = Date.now;
  replaceClock(t, Date, () => original() + by);
}
