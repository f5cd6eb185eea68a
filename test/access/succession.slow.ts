/**
 * A guard with several authorities changes from one to another while its lease runs, and never to
 * an older state.
 */
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { Authorities } from "../../src/access/follow/authorities.js";
import { Code } from "../../src/errors.js";
import { silent } from "../services/auth/open.js";
import { until } from "../support/until.js";
import { call } from "./endpoints.js";
import { ScriptedAuthority } from "./scripted-authority.js";
import { follows, LEASE, scene } from "./several-authorities.js";
import { codeOf } from "./test-gateway.js";

t.test("when an authority's stream breaks, the guard follows the next authority at once", async (t) => {
  const { guard, scripts, lost } = await scene(t, 3);
  const [first, second, third] = scripts as [ScriptedAuthority, ScriptedAuthority, ScriptedAuthority];
  first.reachable = false;
  second.reachable = false;
  first.stream.break();
  await follows(third);
  t.equal(await codeOf(guard, call), 0);
  t.equal(lost(), 0);
});

t.test("a guard leaves a silent authority before the lease ends", async (t) => {
  const { guard, scripts, lost } = await scene(t, 3);
  const [first, second, third] = scripts as [ScriptedAuthority, ScriptedAuthority, ScriptedAuthority];
  first.answersPings = false;
  second.answersPings = false;
  await follows(third);
  t.ok(first.stream.left, "it is told that the guard is gone");
  t.ok(second.stream.left, "so is the one that did not respond either");
  await sleep(LEASE);
  t.equal(await codeOf(guard, call), 0);
  t.equal(lost(), 0);
});

t.test("a guard stays with an authority that pauses briefly", async (t) => {
  const { guard, scripts, lost } = await scene(t, 2);
  const [first, second] = scripts as [ScriptedAuthority, ScriptedAuthority];
  second.answersPings = false;
  first.answersPings = false;
  await second.until(() => second.streams.length > 0);
  first.answersPings = true;
  first.stream.pong();
  await second.until(() => second.stream.left);
  t.same(second.stream.applied, [], "nothing of the other one was applied");
  t.notOk(first.stream.left || first.stream.cancelled);
  t.equal(await codeOf(guard, call), 0);
  t.equal(lost(), 0);
});

t.test("a guard leaves an authority that stops only after it follows another one", async (t) => {
  const { scripts, lost } = await scene(t, 2);
  const [first, second] = scripts as [ScriptedAuthority, ScriptedAuthority];
  let appliedBefore: number | undefined;
  const leaving = first
    .until(() => first.stream.left)
    .then(() => {
      appliedBefore = second.stream.applied.length;
    });
  first.stream.send({
    $case: "pong",
    value: { sequence: 0n, revision: 0n, leaseMs: 0n, time: { seconds: 0n, nanos: 0 }, stopping: true },
  });
  await leaving;
  t.equal(appliedBefore, 1);
  t.equal(lost(), 0);
});

t.test("a guard does not follow an authority that lags, because it could restore deleted rules", async (t) => {
  const { guard, scripts } = await scene(t, 2, { leaseMs: 2_000, rules: [] });
  const [first, second] = scripts as [ScriptedAuthority, ScriptedAuthority];
  first.change({ $case: "namespaceDeleted", value: { namespace: "gone" } });
  first.change({ $case: "namespaceDeleted", value: { namespace: "gone" } });
  await first.until(() => first.stream.applied.includes(3n));
  // The second authority still has the rule that was deleted at the first one.
  second.revision = 2n;
  second.rules = ["<public> granted *:*:*"];
  first.reachable = false;
  first.stream.break();
  await second.until(() => second.streams.length > 0);
  const codes = new Set<number>();
  // When it last had a lease when asked: before the lease ended, even if this process is delayed.
  let leased = 0;
  for (let code = -1; code !== 0; await sleep(1)) {
    const asked = performance.now();
    code = await codeOf(guard, call);
    if (code === Code.UNAVAILABLE) break;
    leased = asked;
    codes.add(code);
  }
  t.same([...codes], [Code.UNAUTHENTICATED], "the rules stay those of the first");
  while ((await codeOf(guard, call)) === Code.UNAVAILABLE) await sleep(1);
  t.ok(performance.now() - leased > 1_900, "no lease for as long as one lasts");
  t.equal(await codeOf(guard, call), 0, "then the older state counts: a backup was restored");
});

t.test("a pong with an older revision than the applied one extends no lease", async (t) => {
  const { guard, scripts } = await scene(t, 1, { leaseMs: 10_000 });
  const [script] = scripts as [ScriptedAuthority];
  script.change({ $case: "namespaceDeleted", value: { namespace: "gone" } });
  await script.until(() => script.stream.applied.includes(2n));
  script.answersPings = false;
  const pings = script.stream.pings.length;
  await script.until(() => script.stream.pings.length > pings);
  script.reachable = false;
  script.stream.pong(script.stream.pings.at(-1), 1n);
  // A stream with unanswered pings only stays open for longer than a lease.
  await until(() => script.stream.cancelled);
  t.equal(guard.state, "ready", "the lease before runs on");
});

t.test("guards share the authorities", (t) => {
  const all = ["a", "b", "c"].map((name) => ({ name, channel: new ScriptedAuthority().access.channel, log: silent }));
  const first = new Map<string, number>();
  for (let guard = 0; guard < 600; guard++) {
    const { name } = new Authorities(all).all[0]!;
    first.set(name, (first.get(name) ?? 0) + 1);
  }
  // Each is expected 200 times with a standard deviation of 12.
  t.same(
    [...first.keys()].sort().map((name) => (first.get(name) ?? 0) > 110),
    [true, true, true],
  );
  t.end();
});

t.test("a guard returns to its first authority some time after that has come back", async (t) => {
  const { scripts, lost } = await scene(t, 2, { leaseMs: 1_000 });
  const [first, second] = scripts as [ScriptedAuthority, ScriptedAuthority];
  first.reachable = false;
  first.stream.break();
  await follows(second);
  const broken = first.streams.length;
  first.reachable = true;
  const began = performance.now();
  await first.until(() => first.streams.length > broken && first.stream.applied.length > 0);
  t.ok(performance.now() - began > 1_500, "not at once");
  await second.until(() => second.stream.left);
  t.equal(lost(), 0);
});
