// A guard decides only within its lease, whatever happens to the pongs.
import { setTimeout as pause } from "node:timers/promises";
import t from "tap";
import type { OpenGuard } from "../../src/access/guard.js";
import { Code, StatusError } from "../../src/errors.js";
import { until } from "../support/until.js";
import { call } from "./endpoints.js";
import { readRule } from "./read-rule.js";
import { type ScriptedAuthority, start } from "./scripted-authority.js";
import { ask, codeOf } from "./test-gateway.js";

const UNREACHABLE = new StatusError(
  Code.UNAVAILABLE,
  "The authority cannot be reached; no decision is made without it",
);

/**
 * When the guard last admitted a call before it refused one, in milliseconds of performance.now().
 */
async function lastGrant(guard: OpenGuard): Promise<number> {
  for (let granted = Number.NEGATIVE_INFINITY; ; ) {
    const asked = performance.now();
    if ((await codeOf(guard, call)) !== Code.OK) return granted;
    granted = asked;
    await new Promise(setImmediate);
  }
}

t.test("nothing is decided before the first pong", async (t) => {
  const { script, guard } = await start(t, { answersPings: false });
  t.equal(guard.state, "starting");
  await script.until(() => script.stream.applied.includes(1n));
  t.throws(() => guard.admit({ token: undefined, namespace: undefined, tokenRequired: false }, call), UNREACHABLE);
  script.stream.pong();
  await guard.ready();
  t.equal(guard.state, "ready");
  await ask(guard, call);
});

t.test("a pong grants no lease until its revision is applied", async (t) => {
  const { script, guard } = await start(t, { answersPings: false });
  await script.until(() => script.stream.applied.includes(1n));
  script.stream.pong(script.stream.pings[0], 3n);
  script.change();
  await script.until(() => script.stream.applied.includes(2n));
  t.equal(await codeOf(guard, call), Code.UNAVAILABLE);
  script.change();
  await guard.ready();
  await ask(guard, call);
});

t.test("changes without a snapshot before them grant no lease", async (t) => {
  const { script, guard } = await start(t, {
    snapshot: () => ({ $case: "changes", value: { revision: 1n, changes: [] } }),
  });
  await script.until(() => script.streams.length === 3);
  t.equal(guard.state, "starting");
});

t.test("a snapshot in parts is applied when its last part has arrived", async (t) => {
  const rules = (rule: string) => [
    { namespace: "default", namespaceId: "", rules: [readRule(rule, rule.slice(1, 4))], limits: [] },
  ];
  const { script, guard } = await start(t, {
    snapshot: () => ({
      $case: "snapshot",
      value: {
        revision: 1n,
        namespaces: rules("<public> granted *:*:*"),
        last: false,
        contextKeys: [],
        lenders: undefined,
      },
    }),
  });
  await script.until(() => script.stream.pings.length > 1);
  t.equal(guard.state, "starting", "though its pings are answered");
  t.same(script.stream.applied, []);
  const namespaces = rules("* denied *:*:* 7");
  script.stream.send({
    $case: "snapshot",
    value: { revision: 1n, namespaces, last: true, contextKeys: [], lenders: undefined },
  });
  await guard.ready();
  await ask(guard, call);
});

t.test("an incomplete snapshot grants no lease, and the next one starts from the beginning", async (t) => {
  const whole: ScriptedAuthority["snapshot"] = () => ({
    $case: "snapshot",
    value: { revision: 1n, namespaces: [], last: true, contextKeys: [], lenders: undefined },
  });
  const { script, guard } = await start(t, {
    snapshot: () => ({
      $case: "snapshot",
      value: { revision: 1n, namespaces: [], last: false, contextKeys: [], lenders: undefined },
    }),
  });
  await script.until(() => script.streams.length === 1);
  script.stream.send({ $case: "changes", value: { revision: 1n, changes: [] } });
  await script.until(() => script.stream.cancelled);
  t.equal(guard.state, "starting");
  script.snapshot = whole;
  await guard.ready();
});

t.test("without pongs nothing is decided after the lease; with pongs the guard decides again", async (t) => {
  const { script, guard } = await start(t);
  await guard.ready();
  script.answersPings = false;
  const answered = script.stream.pings.at(-1)?.received ?? Number.NaN;
  const granted = await lastGrant(guard);
  t.ok(granted < answered + script.leaseMs, `last granted ${granted - answered} ms after the last answered ping`);
  t.equal(guard.state, "lost");
  await t.rejects(ask(guard, call, { token: "anything" }), UNREACHABLE);

  script.answersPings = true;
  await guard.ready();
  t.equal(guard.state, "ready");
  await ask(guard, call);
});

t.test("the lease counts from the ping, however late the pong is", async (t) => {
  const { script, guard } = await start(t, { answersPings: false, leaseMs: 400 });
  await script.until(() => script.stream.pings.length > 0);
  let [granted, asked] = [Number.NEGATIVE_INFINITY, 0];
  // If the process is delayed, the pong arrives too late for any lease.
  for (let attempt = 0; attempt < 50 && granted < asked; attempt++) {
    const ping = script.stream.pings.at(-1);
    asked = ping?.received ?? 0;
    await pause(250);
    script.stream.pong(ping);
    await pause(1);
    granted = await lastGrant(guard);
  }
  t.ok(granted > asked, "it was granted");
  t.ok(granted < asked + script.leaseMs, "none of the time on the way is given back");
});

t.test("a pong that is later than the lease grants none", async (t) => {
  const { script, guard } = await start(t, { answersPings: false, leaseMs: 200 });
  await script.until(() => script.stream.pings.length > 0);
  const [ping] = script.stream.pings;
  await pause(220);
  script.stream.pong(ping);
  script.change();
  await script.until(() => script.stream.applied.includes(2n));
  t.equal(await codeOf(guard, call), Code.UNAVAILABLE);
});

t.test("the lease also ends by the wall clock, because the computer may have been suspended", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 30_000 });
  await guard.ready();
  script.answersPings = false;
  await ask(guard, call);
  const { now } = Date;
  t.intercept(Date, "now", { value: () => now() + 30_001 });
  t.equal(await codeOf(guard, call), Code.UNAVAILABLE);
  t.equal(guard.state, "lost");
});

t.test("a wall clock that is set back ends the lease, and the next pong begins a new one", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 30_000, answersPings: false });
  await script.until(() => script.stream.pings.length > 0);
  script.stream.pong();
  await guard.ready();
  const { now } = Date;
  t.intercept(Date, "now", { value: () => now() - 60_000 });
  t.equal(await codeOf(guard, call), Code.UNAVAILABLE);
  const { length } = script.stream.pings;
  await script.until(() => script.stream.pings.length > length);
  script.stream.pong();
  await guard.ready();
  await ask(guard, call);
});

t.test("setting the wall clock does not revive a lease that was found to have ended", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 30_000 });
  await guard.ready();
  script.answersPings = false;
  const { now } = Date;
  const clock = t.intercept(Date, "now", { value: () => now() + 30_001 });
  t.equal(await codeOf(guard, call), Code.UNAVAILABLE);
  clock.restore();
  t.equal(await codeOf(guard, call), Code.UNAVAILABLE);
});

t.test("a wall clock that is set back does not lengthen the lease", async (t) => {
  const { script, guard } = await start(t);
  await guard.ready();
  script.answersPings = false;
  const answered = script.stream.pings.at(-1)?.received ?? Number.NaN;
  const { now } = Date;
  t.intercept(Date, "now", { value: () => now() - 3_600_000 });
  t.ok((await lastGrant(guard)) < answered + script.leaseMs);
});

t.test("a guard sends several pings per lease, and the next pong extends the lease", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 500 });
  await guard.ready();
  await script.until(() => script.stream.pings.length >= 12);
  await until(() => guard.state === "ready");
  const [first, last] = [script.stream.pings[1], script.stream.pings[11]];
  t.ok((last?.received ?? 0) - (first?.received ?? 0) > script.leaseMs, "they were answered for longer than a lease");
  t.equal(script.streams.length, 1);
});

t.test("a pong also counts for earlier pings", async (t) => {
  const { script, guard } = await start(t, { answersPings: false });
  for (const count of [2, 4, 6, 8, 10, 12, 14, 16]) {
    await script.until(() => script.stream.pings.length >= count);
    script.stream.pong();
  }
  await guard.ready();
  t.equal(script.streams.length, 1, "the stream is not taken for broken");
});

t.test("a broken stream is opened again, with a snapshot, within the lease", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 30_000 });
  await guard.ready();
  script.stream.break();
  await script.until(() => script.streams.length === 2);
  await ask(guard, call);
  await script.until(() => script.stream.applied.length > 0);
  t.same(script.stream.applied, [1n]);
});

t.test("changes while the stream was broken arrive as a snapshot", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 30_000 });
  await guard.ready();
  script.revision = 7n;
  script.rules = ["* granted *:*:*"];
  script.stream.break();
  await script.until(() => script.streams.length === 2 && script.stream.applied.includes(7n));
  t.equal(await codeOf(guard, call), Code.UNAUTHENTICATED);
});

t.test("an authority that cannot be reached is tried again without end", async (t) => {
  const { script, guard } = await start(t);
  await guard.ready();
  script.reachable = false;
  script.stream.break();
  await lastGrant(guard);
  script.reachable = true;
  await guard.ready();
  await ask(guard, call);
  t.equal(script.streams.length, 2);
});

t.test("ready() resolves with the next lease if one has just expired", async (t) => {
  const { script, guard } = await start(t);
  await guard.ready();
  script.answersPings = false;
  const { length } = script.stream.pings;
  await script.until(() => script.stream.pings.length > length);
  // Without a pause in which a timer could report that the lease has expired.
  while (guard.state === "ready");
  const ready = guard.ready();
  script.stream.pong();
  script.answersPings = true;
  await ready;
  t.equal(guard.state, "ready");
});

t.test("a stream without pongs is replaced by a new one", async (t) => {
  const { script, guard } = await start(t);
  await guard.ready();
  script.answersPings = false;
  await script.until(() => script.streams.length === 2);
  script.answersPings = true;
  await guard.ready();
  t.equal(guard.state, "ready");
});

const incomprehensible: readonly [what: string, send: (script: ScriptedAuthority) => void][] = [
  ["a change of an unknown kind", (script) => script.stream.send(changes(script, undefined))],
  ["a message of an unknown kind", (script) => script.stream.send(undefined as never)],
  [
    "the deletion of a rule that is not there",
    (script) => script.change({ $case: "ruleDeleted", value: { namespace: "default", id: "x", resource: "*:*:*" } }),
  ],
  [
    "the creation of a rule that is there",
    (script) =>
      script.change({ $case: "ruleCreated", value: { namespace: "default", namespaceId: "", rule: ruleOf(script) } }),
  ],
  [
    "a rule of unknown access",
    (script) =>
      script.change({
        $case: "ruleCreated",
        value: { namespace: "default", namespaceId: "", rule: { ...ruleOf(script), id: "new", access: 3 as never } },
      }),
  ],
];

function changes(script: ScriptedAuthority, change: undefined): Parameters<ScriptedAuthority["stream"]["send"]>[0] {
  return { $case: "changes", value: { revision: ++script.revision, changes: [{ change }] } };
}

function ruleOf(script: ScriptedAuthority) {
  const snapshot = script.snapshot();
  const rule = snapshot.$case === "snapshot" ? snapshot.value.namespaces[0]?.rules[0] : undefined;
  if (rule === undefined) throw new Error("the script has no rule");
  return rule;
}

for (const [what, send] of incomprehensible) {
  t.test(`${what} ends the lease at once, and a snapshot starts a new one`, async (t) => {
    const { script, guard } = await start(t, { leaseMs: 30_000 });
    await guard.ready();
    script.reachable = false;
    send(script);
    await script.until(() => script.stream.cancelled);
    t.equal(await codeOf(guard, call), Code.UNAVAILABLE);
    script.reachable = true;
    await guard.ready();
    await ask(guard, call);
  });
}

t.test("a pong starts no new lease before the snapshot is complete", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 30_000 });
  await guard.ready();
  const part = script.snapshot();
  if (part.$case === "snapshot") part.value.last = false;
  script.snapshot = () => part;
  const incomprehensible = undefined as never;
  script.stream.send(incomprehensible);
  await script.until(() => script.streams.length === 2 && script.stream.pings.length > 0);
  let leased = false;
  const waiting = guard.ready().then(() => {
    leased = true;
  });
  // When the guard gives up this stream too, it has received the pong.
  const { stream } = script;
  stream.send(incomprehensible);
  await script.until(() => stream.cancelled);
  t.equal(leased, false);
  void guard.close();
  await t.rejects(waiting, { code: Code.CANCELLED });
});

t.test("a snapshot that cannot be understood grants no lease", async (t) => {
  const { script, guard } = await start(t, { rules: ["<public> granted *:*:*", "<public> odd *:*:*"] });
  await script.until(() => script.streams.length === 3);
  t.equal(guard.state, "starting");
});

t.test("a guard that closes notifies the authority, and never decides again", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 30_000 });
  await guard.ready();
  const { stream } = script;
  const closed = guard.close();
  t.equal(await codeOf(guard, call), Code.UNAVAILABLE);
  stream.pong();
  await closed;
  t.ok(stream.left);
  t.equal(guard.state, "closed");
  t.equal(await codeOf(guard, call), Code.UNAVAILABLE);
  await t.rejects(guard.ready(), { code: Code.CANCELLED });
});

t.test("closing a guard ends the wait for it", async (t) => {
  const { guard } = await start(t, { answersPings: false });
  const ready = guard.ready();
  guard.close();
  await t.rejects(ready, { code: Code.CANCELLED });
});
