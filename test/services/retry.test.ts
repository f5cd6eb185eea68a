// Attempts that others win are repeated, but not without end.
import t from "tap";
import { retry } from "../../services/patterns/retry.js";
import { Code } from "../../src/errors.js";
import { testCall } from "../../src/kit/index.js";

t.test("an attempt is repeated until it succeeds", async (t) => {
  let attempts = 0;
  const third = async () => (++attempts === 3 ? "done" : undefined);
  t.equal(await retry(testCall(), "list", third), "done");
});

t.test("a call gives up if others are faster each time, and the next one has its turn", async (t) => {
  const lost = retry(testCall(), "list", async () => undefined);
  const next = retry(testCall(), "list", async () => {
    await Promise.resolve();
    return "done";
  });
  await t.rejects(lost, { code: Code.ABORTED, message: /try again/ });
  t.equal(await next, "done");
});

t.test("a call that has ended gives up", async (t) => {
  const call = testCall({ signal: AbortSignal.abort() });
  await t.rejects(
    retry(call, "list", async () => undefined),
    { code: Code.ABORTED },
  );
});
