// While a limit is used up for seconds, the calls beyond it are refused by it, and none because it
// has waited too long.
import t from "tap";
import { callOnce, isRefused, openLimited } from "./guards.js";

const CALLS_AT_ONCE = 40;
/** Longer than a call may wait for tokens. */
const DURATION_MS = 2_000;

t.test("calls beyond the limit are refused by it, and not because they waited too long", async (t) => {
  const { guard, create } = await openLimited(t);
  const open = await guard();
  await create({ id: "ci", rate: "500/s", burst: 500n });
  const end = performance.now() + DURATION_MS;
  const calls: Promise<unknown>[] = [];
  const waited: number[] = [];
  const others: unknown[] = [];
  while (performance.now() < end) {
    for (let call = 0; call < CALLS_AT_ONCE; call++) {
      const begun = performance.now();
      const made = callOnce(open).then(
        (outcome) => {
          if (isRefused(outcome)) waited.push(performance.now() - begun);
        },
        (error) => others.push(error),
      );
      calls.push(made);
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(calls);
  t.same(others.slice(0, 3), [], "no call fails otherwise");
  t.ok(waited.length > 1_000, `${waited.length} calls are refused`);
  t.ok(Math.max(...waited) < 500, `the longest wait was ${Math.round(Math.max(...waited))} ms`);
});
