// How long clients are throttled that were refused together: they must not return together.
import t, { type Test } from "tap";
import { Throttle } from "../../src/overload/throttle.js";

/** The durations of a thousand throttles, in milliseconds. */
function times(t: Test, begin: () => void): number[] {
  const timers = t.capture(globalThis, "setTimeout", () => 0 as unknown as NodeJS.Timeout);
  for (let count = 0; count < 1_000; count++) begin();
  const asked = timers();
  timers.restore();
  return asked.map(({ args }) => args[1] as number);
}

t.test("each throttle has its own random time, by default 300 to 600 ms", async (t) => {
  const spread = times(t, () => new Throttle({ method: "GET", target: "/", onEnd() {} }));
  t.equal(spread.length, 1_000);
  for (const [from, to] of [
    [300, 400],
    [400, 500],
    [500, 600],
  ] as const)
    t.ok(spread.filter((ms) => ms >= from && ms <= to).length > 200, `about a third last ${from} to ${to} ms`);
  t.equal(spread.filter((ms) => ms < 300 || ms > 600).length, 0);
});
