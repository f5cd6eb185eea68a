// Open streams are re-authorized whenever something changes, and end with the token that opened
// them.

import t, { type Test } from "tap";
import type { Resolved } from "../../src/access/callers/lookups.js";
import type { Admission, Credentials, OpenGuard } from "../../src/access/guard.js";
import { createToken, hashToken } from "../../src/call/token.js";
import { Callers } from "../../src/contract/endpoint.js";
import { Code, StatusError } from "../../src/errors.js";
import { deferred } from "../support/deferred.js";
import { until } from "../support/until.js";
import { call, declaring } from "./endpoints.js";
import { readRule } from "./read-rule.js";
import { type ScriptedAuthority, type Started, start } from "./scripted-authority.js";
import { ask } from "./test-gateway.js";

const warnings: Error[] = [];
process.on("warning", (warning) => warnings.push(warning));

const LONG = { leaseMs: 30_000 };
const UNAUTHORIZED = new StatusError(Code.UNAUTHENTICATED, "Unauthorized call made to helloworld:Helloworld.Call");
const FORBIDDEN = new StatusError(Code.PERMISSION_DENIED, "Forbidden call made to helloworld:Helloworld.Call by bob");

interface Opened {
  readonly admission: Admission;
  /** The reason of each refusal. */
  readonly refusals: Error[];
  /** Resolves with the first refusal. */
  readonly refused: Promise<Error>;
  /** How often it was notified that messages may pass again. */
  resumed: number;
  mayPass(): boolean;
  stop(): void;
}

async function opened(t: Test, guard: OpenGuard, shown: Partial<Credentials> = {}, endpoint = call): Promise<Opened> {
  return follow(t, guard, await ask(guard, endpoint, shown));
}

function follow(t: Test, guard: OpenGuard, admission: Admission): Opened {
  const refusals: Error[] = [];
  const refused = deferred<Error>();
  const stream = guard.follow(admission, {
    onRefused(error) {
      refusals.push(error);
      refused.resolve(error);
    },
    onResumed: () => opened.resumed++,
  });
  t.teardown(() => stream.end());
  const opened: Opened = {
    ...{ admission, refusals, refused: refused.promise, resumed: 0 },
    ...{ mayPass: () => stream.mayPass(), stop: () => stream.end() },
  };
  return opened;
}

function issue(script: ScriptedAuthority, caller: Parameters<ScriptedAuthority["callers"]["set"]>[1] = {}): string {
  const token = createToken("access");
  script.callers.set(hashToken(token).toString("hex"), caller);
  return token;
}

const deleted = (id: string) => ({
  $case: "ruleDeleted" as const,
  value: { namespace: "default", id, resource: "*:*:*" },
});
const created = (rule: string) => ({
  $case: "ruleCreated" as const,
  value: { namespace: "default", namespaceId: "", rule: readRule(rule, "new") },
});
const accountChanged = {
  $case: "accountChanged" as const,
  value: { namespace: "default", account: "bob" },
};

/** Starts a guard that is ready. */
async function ready(t: Test, options: Partial<ScriptedAuthority> = LONG): Promise<Started> {
  const started = await start(t, { ...LONG, ...options });
  await started.guard.ready();
  return started;
}

/** Sends a change, and resolves when the guard has processed it. */
async function dealtWith(script: ScriptedAuthority, ...change: Parameters<ScriptedAuthority["change"]>): Promise<void> {
  script.change(...change);
  const { revision } = script;
  await script.until(() => script.stream.applied.includes(revision));
}

t.test("a stream is refused before the deletion of its rule is acknowledged", async (t) => {
  const { script, guard } = await ready(t);
  const nobody = await opened(t, guard);
  const bob = await opened(t, guard, { token: issue(script) });
  await dealtWith(script, deleted("r1"));
  t.match(nobody.refusals, [UNAUTHORIZED]);
  t.match(bob.refusals, [UNAUTHORIZED]);
});

t.test("a stream is refused as forbidden when a rule that denies is created", async (t) => {
  const { script, guard } = await ready(t);
  const bob = await opened(t, guard, { token: issue(script) });
  await dealtWith(script, created("* denied *:*:* 1"));
  t.match(bob.refusals, [FORBIDDEN]);
});

t.test("a stream continues if another rule admits it", async (t) => {
  const { script, guard } = await ready(t, { rules: ["<public> granted *:*:*", "<public> granted service:hello*:*"] });
  const { refusals } = await opened(t, guard);
  await dealtWith(script, deleted("r1"));
  t.same(refusals, []);
  await dealtWith(script, deleted("r2"));
  t.equal(refusals.length, 1);
});

t.test("a stream is refused once, and not after it has ended", async (t) => {
  const { script, guard } = await ready(t);
  const ended = await opened(t, guard);
  const goesOn = await opened(t, guard);
  ended.stop();
  await dealtWith(script, deleted("r1"));
  await dealtWith(script, created("<public> granted *:*:*"));
  await dealtWith(script, deleted("new"));
  await guard.close();
  t.same(ended.refusals, []);
  t.equal(goesOn.refusals.length, 1);
});

t.test("a change between admission and follow counts", async (t) => {
  const { script, guard } = await ready(t);
  const admission = await ask(guard, call);
  await dealtWith(script, deleted("r1"));
  t.match(await follow(t, guard, admission).refused, UNAUTHORIZED);
});

t.test("a revocation of the token between admission and follow counts", async (t) => {
  const { script, guard } = await ready(t);
  const token = issue(script);
  const admission = await ask(guard, call, { token });
  script.callers.clear();
  await dealtWith(script, { $case: "tokensRevoked", value: { sha256: [hashToken(token)] } });
  t.match(await follow(t, guard, admission).refused, UNAUTHORIZED);
});

t.test("a stream ends with its token, even if calls without a token would be admitted", async (t) => {
  const { script, guard } = await ready(t);
  const [token, other] = [issue(script), issue(script)];
  const [bob, bobsOther, nobody] = [
    await opened(t, guard, { token }),
    await opened(t, guard, { token: other }),
    await opened(t, guard),
  ];
  script.callers.delete(hashToken(token).toString("hex"));
  await dealtWith(script, { $case: "tokensRevoked", value: { sha256: [hashToken(token)] } });
  t.match(bob.refusals, [UNAUTHORIZED]);
  t.same([...bobsOther.refusals, ...nobody.refusals], []);
});

t.test("a stream continues if its account changed but is still admitted", async (t) => {
  const { script, guard } = await ready(t, { rules: ["staff granted *:*:*"] });
  const token = issue(script, { scopes: ["staff"] });
  const { refusals } = await opened(t, guard, { token });
  script.callers.set(hashToken(token).toString("hex"), { scopes: ["staff", "more"] });
  await dealtWith(script, accountChanged);
  t.same(refusals, []);
  script.callers.set(hashToken(token).toString("hex"), { scopes: ["more"] });
  await dealtWith(script, accountChanged);
  t.match(refusals, [UNAUTHORIZED]);
});

t.test("after a change of its account, a stream is authorized by the new scopes", async (t) => {
  const { script, guard } = await ready(t, { rules: ["old granted *:*:*", "new granted *:*:*"] });
  const token = issue(script, { scopes: ["old"] });
  const { refusals } = await opened(t, guard, { token });
  script.callers.set(hashToken(token).toString("hex"), { scopes: ["new"] });
  await dealtWith(script, accountChanged);
  await dealtWith(script, deleted("r1"));
  t.same(refusals, []);
  await dealtWith(script, deleted("r2"));
  t.match(refusals, [UNAUTHORIZED]);
});

/**
 * Changes the account. The returned function lets its lookup have a response: the token belongs to
 * no caller any more.
 */
async function heldLookup(script: ScriptedAuthority): Promise<() => void> {
  let response = (): void => {};
  script.resolve = () =>
    new Promise<Resolved>((resolve) => {
      response = () => resolve({ revision: script.revision, caller: undefined });
      script.notify();
    });
  const { length } = script.asked;
  script.change(accountChanged);
  await script.until(() => script.asked.length > length);
  return () => response();
}

t.test("a change of an account is acknowledged only when its streams have been re-authorized", async (t) => {
  const { script, guard } = await ready(t, { leaseMs: 500 });
  const { refusals } = await opened(t, guard, { token: issue(script) });
  const response = await heldLookup(script);
  const pings = script.stream.pings.length;
  script.change();
  await script.until(() => script.stream.pings.length > pings + 1);
  t.same(script.stream.applied, [1n], "nothing after it either");
  response();
  await script.until(() => script.stream.applied.includes(3n));
  t.match(refusals, [UNAUTHORIZED]);
});

t.test("a stream whose caller cannot be looked up again is refused", async (t) => {
  const { script, guard } = await ready(t);
  const { refusals } = await opened(t, guard, { token: issue(script) });
  script.resolve = () => {
    throw new StatusError(Code.INTERNAL, "no");
  };
  await dealtWith(script, accountChanged);
  t.match(refusals, [{ code: Code.UNAVAILABLE }]);
});

t.test("a change during the lookup of a caller makes the guard look it up once more", async (t) => {
  const { script, guard } = await ready(t);
  const { refusals } = await opened(t, guard, { token: issue(script) });
  const held: ((caller: boolean) => void)[] = [];
  script.resolve = (request) =>
    new Promise<Resolved>((resolve) => {
      const { revision, caller } = script.response(request);
      held.push((known) => resolve({ revision, caller: known ? caller : undefined }));
      script.notify();
    });
  script.change(accountChanged);
  await script.until(() => held.length === 1);
  script.change(accountChanged); // deletes the account, say
  await script.until(() => held.length === 2);
  held[0]?.(true); // too old
  await script.until(() => held.length === 3);
  held[1]?.(false);
  held[2]?.(false);
  await script.until(() => script.stream.applied.includes(3n));
  t.match(refusals, [UNAUTHORIZED]);
});

t.test("a stream that is refused or ends during the lookup of its caller is not notified afterwards", async (t) => {
  const { script, guard } = await ready(t);
  const token = issue(script);
  const [refused, ended] = [await opened(t, guard, { token }), await opened(t, guard, { token })];
  const response = await heldLookup(script);
  ended.stop();
  script.change(deleted("r1"));
  await refused.refused;
  response();
  await script.until(() => script.stream.applied.includes(3n));
  t.match(refused.refusals, [UNAUTHORIZED]);
  t.equal(refused.refusals.length, 1);
  t.same(ended.refusals, []);
});

t.test("after a snapshot every caller is looked up again", async (t) => {
  const { script, guard } = await ready(t);
  const tokens = Array.from({ length: 100 }, (_, index) => issue(script, { account: `a${index}` }));
  const streams = await Promise.all(tokens.map((token) => opened(t, guard, { token })));
  const nobody = await opened(t, guard);
  for (const token of tokens.slice(50)) script.callers.delete(hashToken(token).toString("hex"));
  script.revision = 9n;
  script.stream.send(script.snapshot());
  await script.until(() => script.stream.applied.includes(9n));
  const counts = streams.map(({ refusals }) => refusals.length);
  t.same(counts, [...Array(50).fill(0), ...Array(50).fill(1)]);
  t.same(nobody.refusals, []);
});

t.test("a stream ends when its token expires", async (t) => {
  const { script, guard } = await ready(t);
  const at = Date.now() + 300;
  const expires = { seconds: BigInt(Math.floor(at / 1000)), nanos: (at % 1000) * 1e6 };
  const bob = await opened(t, guard, { token: issue(script, { expires }) });
  const late = await opened(t, guard, { token: issue(script) });
  t.match(await bob.refused, UNAUTHORIZED);
  t.ok(Date.now() >= at - 50, "not before");
  t.same(late.refusals, []);
  t.same(warnings, [], "a token of the year 9999 is not too far for a timer");
});

t.test("a stream survives a short loss of the authority", async (t) => {
  const { script, guard } = await ready(t, { leaseMs: 1_500 });
  const { refusals } = await opened(t, guard);
  script.answersPings = false;
  await until(() => guard.state !== "ready");
  script.answersPings = true;
  await guard.ready();
  t.same(refusals, []);
});

t.test("no message passes without a lease, and the stream is notified when messages may pass again", async (t) => {
  const { script, guard } = await ready(t, { leaseMs: 1_500 });
  const [waiting, silent] = [await opened(t, guard), await opened(t, guard)];
  t.ok(waiting.mayPass());
  script.answersPings = false;
  await until(() => guard.state !== "ready");
  t.notOk(waiting.mayPass());
  script.answersPings = true;
  await guard.ready();
  t.ok(waiting.mayPass());
  t.same([waiting.resumed, silent.resumed], [1, 0]);
});

t.test("no message passes while the caller is looked up again, even if a lease runs", async (t) => {
  const { script, guard } = await ready(t);
  const token = issue(script);
  const bob = await opened(t, guard, { token });
  const other = await opened(t, guard, { token: issue(script, { account: "eve" }) });
  const responses: (() => void)[] = [];
  script.resolve = (request) =>
    new Promise<Resolved>((resolve) => {
      const response = script.response(request);
      responses.push(() => resolve(response));
      script.notify();
    });
  script.change(accountChanged);
  await script.until(() => responses.length === 1);
  t.equal(guard.state, "ready");
  t.same([bob.mayPass(), other.mayPass()], [false, true]);
  script.change(accountChanged);
  await script.until(() => responses.length === 2);
  responses[1]?.();
  responses[0]?.(); // Older than the second change, so it is asked for once more.
  await script.until(() => responses.length === 3);
  t.same([bob.mayPass(), bob.resumed], [false, 0]);
  responses[2]?.();
  await script.until(() => script.stream.applied.includes(3n));
  t.same([bob.mayPass(), bob.resumed, other.resumed], [true, 1, 0]);
});

t.test("a waiting stream that is refused is not resumed", async (t) => {
  const { script, guard } = await ready(t, { leaseMs: 1_500 });
  const stream = await opened(t, guard);
  script.answersPings = false;
  await until(() => guard.state !== "ready");
  t.notOk(stream.mayPass());
  script.change(deleted("r1"));
  script.answersPings = true;
  t.match(await stream.refused, UNAUTHORIZED);
  await guard.ready();
  t.equal(stream.resumed, 0);
});

t.test("a stream ends when the authority stays lost for another lease", async (t) => {
  const { script, guard } = await ready(t, { leaseMs: 200 });
  const answered = script.stream.pings.at(-1)?.received ?? Number.NaN;
  const { refused } = await opened(t, guard);
  script.answersPings = false;
  script.reachable = false;
  script.stream.break();
  t.match(await refused, { code: Code.UNAVAILABLE });
  t.ok(performance.now() - answered > 2 * script.leaseMs - 50);
});

t.test("closing the guard ends the streams", async (t) => {
  const { guard } = await ready(t);
  const { refused } = await opened(t, guard);
  await guard.close();
  t.match(await refused, { code: Code.UNAVAILABLE });
});

t.test("streams of endpoints that declare their callers are re-authorized, too", async (t) => {
  const { script, guard } = await ready(t);
  const token = issue(script, { scopes: ["admin"] });
  const { refused } = await opened(t, guard, { token }, declaring(Callers.ADMIN));
  script.callers.set(hashToken(token).toString("hex"), { scopes: [] });
  await dealtWith(script, accountChanged);
  t.match(await refused, { code: Code.PERMISSION_DENIED, message: "Forbidden call made to auth:Auth.Probe by bob" });
});

t.test("only the guard's own admissions can be followed", async (t) => {
  const { guard } = await ready(t);
  const caller = { namespace: "default", account: "eve", scopes: [], expires: Number.MAX_VALUE, resources: [] };
  t.throws(
    () => guard.follow({ endpoint: call, caller, namespace: "default" }, { onRefused() {}, onResumed() {} }),
    TypeError,
  );
});
