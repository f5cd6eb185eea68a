/**
 * A guard that lost its authority is connected again soon after the authority has come back, while
 * its lease still runs.
 */
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { createToken, hashToken } from "../../src/call/token.js";
import { Code, StatusError } from "../../src/errors.js";
import { until } from "../support/until.js";
import { call } from "./endpoints.js";
import { start } from "./scripted-authority.js";
import { ask } from "./test-gateway.js";

t.test("a guard reconnects at short intervals while the lease runs", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 20_000 });
  await guard.ready();
  script.reachable = false;
  const streams = script.streams.length;
  script.stream.break();
  // A pause that doubles each time would have grown to one or two seconds by then.
  await sleep(3_000);
  const before = script.refusedAt.length;
  const pauses = () => script.refusedAt.slice(before).map((at, index, all) => at - (all[index - 1] ?? 0));
  await until(() => pauses().some((pause) => pause < 400), { what: () => `a short pause: ${pauses()}` });
  script.reachable = true;
  await script.until(() => script.streams.length > streams);
  await until(() => guard.state === "ready");
});

t.test("the lookup of an unknown token waits for the authority to come back, until its deadline", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 20_000, rules: ["* granted *:*:*"] });
  await guard.ready();
  const token = createToken("access");
  script.callers.set(hashToken(token).toString("hex"), { account: "bob" });
  script.resolve = (request) => {
    if (script.asked.length < 4) throw new StatusError(Code.UNAVAILABLE, "connection refused");
    return script.response(request);
  };
  t.equal((await ask(guard, call, { token })).caller?.account, "bob");
  t.equal(script.asked.length, 4);
});

t.test("a guard that never got a lease accepts that a backup was restored", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 20_000, answersPings: false, revision: 5n });
  await script.until(() => script.stream.applied.includes(5n));
  Object.assign(script, { answersPings: true, revision: 3n });
  script.stream.break();
  const refusal = (): string => [...guard.errors.values()].map(({ message }) => message).join();
  await until(() => guard.state === "ready" || /older than/.test(refusal()));
  t.equal(refusal(), "");
  t.equal(guard.state, "ready");
});
