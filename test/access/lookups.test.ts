// How a guard finds the caller of a token. It asks once, ignores responses that a change has made
// outdated, and limits its lookups, so that made-up tokens harm neither the authority nor callers
// with valid tokens.

import t from "tap";
import type { Resolved } from "../../src/access/callers/lookups.js";
import { createToken, hashToken } from "../../src/call/token.js";
import { Code, StatusError } from "../../src/errors.js";
import { until } from "../support/until.js";
import { call } from "./endpoints.js";
import { readRule } from "./read-rule.js";
import { type ScriptedAuthority, start } from "./scripted-authority.js";
import { ask, codeOf } from "./test-gateway.js";

const onlyKnown = { rules: ["* granted *:*:*"], leaseMs: 30_000 };

/** A token that the script knows. */
function issue(script: ScriptedAuthority, account = "bob"): string {
  const token = createToken("access");
  script.callers.set(hex(token), { account });
  return token;
}

function hex(token: string): string {
  return hashToken(token).toString("hex");
}

function revoked(token: string) {
  return { $case: "tokensRevoked" as const, value: { sha256: [hashToken(token)] } };
}

/** Makes the script respond only when a returned function is called. */
function holdAnswers(script: ScriptedAuthority): (() => void)[] {
  const held: (() => void)[] = [];
  script.resolve = (request) =>
    new Promise<Resolved>((resolve) => {
      const response = script.response(request);
      held.push(() => resolve(response));
      script.notify();
    });
  return held;
}

/** Lets a number of microtasks pass. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await undefined;
}

t.test("a token is looked up once, by its hash, and is then known without waiting", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const token = issue(script);
  t.equal((await ask(guard, call, { token })).caller?.account, "bob");
  const admission = guard.admit({ token, namespace: undefined, tokenRequired: true }, call);
  t.notOk(admission instanceof Promise, "let in at once");
  t.same(script.asked, [hex(token)]);
});

t.test("many calls with one unknown token ask the authority once", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const token = issue(script);
  const held = holdAnswers(script);
  const calls = Array.from({ length: 50 }, () => ask(guard, call, { token }));
  await script.until(() => held.length > 0);
  for (const response of held) response();
  t.equal((await Promise.all(calls)).length, 50);
  t.equal(script.asked.length, 1);
});

t.test("what cannot be a bearer token is refused without asking the authority", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const good = createToken("access");
  const garbage = ["", "x", "pta_", good.slice(0, -1), `${good}0`, `${good.slice(0, -1)}${good.endsWith("0") ? 1 : 0}`];
  for (const token of [...garbage, good.replace("pta_", "ptx_"), createToken("refresh")]) {
    t.equal(await codeOf(guard, call, { token }), Code.UNAUTHENTICATED, token);
  }
  t.same(script.asked, []);
});

t.test("the authority is asked once for a made-up token", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const token = createToken("key");
  for (let times = 0; times < 3; times++) t.equal(await codeOf(guard, call, { token }), Code.UNAUTHENTICATED);
  t.equal(script.asked.length, 1);
});

t.test("made-up tokens evict no real one", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const token = issue(script);
  await ask(guard, call, { token });
  for (let made = 0; made < 12_000; made += 500) {
    await Promise.all(Array.from({ length: 500 }, () => codeOf(guard, call, { token: createToken("access") })));
  }
  const { length } = script.asked;
  t.ok(length > 12_000);
  await ask(guard, call, { token });
  t.equal(script.asked.length, length, "it is still known");
});

t.test("the number of simultaneous lookups is limited; further calls get UNAVAILABLE", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const held = holdAnswers(script);
  const calls = Array.from({ length: 10_001 }, () => codeOf(guard, call, { token: createToken("access") }));
  t.equal(await calls[10_000], Code.UNAVAILABLE);
  await script.until(() => held.length === 4_000);
  script.resolve = (request) => script.response(request);
  for (const response of held) response();
  t.same(new Set(await Promise.all(calls.slice(0, 10_000))), new Set([Code.UNAUTHENTICATED]));
  t.equal(script.asked.length, 10_000);
  await ask(guard, call, { token: issue(script) });
});

t.test("tokens that are looked up in one turn go in one message", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const tokens = Array.from({ length: 2_500 }, (_, index) => issue(script, `account-${index}`));
  const admissions = await Promise.all(tokens.map((token) => ask(guard, call, { token })));
  t.same(script.batches, [1_000, 1_000, 500]);
  t.same(
    admissions.map(({ caller }) => caller?.account),
    tokens.map((_, index) => `account-${index}`),
    "each has its own answer",
  );
});

t.test("while four messages wait for a response, further lookups wait, and then go in one message", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const held = holdAnswers(script);
  const calls: Promise<unknown>[] = [];
  for (let batch = 1; batch <= 4; batch++) {
    calls.push(ask(guard, call, { token: issue(script) }));
    await script.until(() => held.length === batch);
  }
  for (let waiting = 0; waiting < 5; waiting++) {
    calls.push(ask(guard, call, { token: issue(script) }));
    await new Promise(setImmediate);
  }
  t.same(script.batches, [1, 1, 1, 1]);
  script.resolve = (request) => script.response(request);
  held[0]?.();
  await script.until(() => script.batches.length === 5);
  t.equal(script.batches[4], 5);
  for (const response of held) response();
  await Promise.all(calls);
});

t.test("tokens that did not fit in a response are asked for again", async (t) => {
  const { script, guard } = await start(t, { ...onlyKnown, maxResults: 3 });
  await guard.ready();
  const tokens = Array.from({ length: 8 }, (_, index) => issue(script, `account-${index}`));
  const admissions = await Promise.all(tokens.map((token) => ask(guard, call, { token })));
  t.same(script.batches, [8, 5, 2]);
  t.same(
    admissions.map(({ caller }) => caller?.account),
    tokens.map((_, index) => `account-${index}`),
  );
});

t.test("a response without any result is an error, and is not asked for again", async (t) => {
  const { script, guard } = await start(t, { ...onlyKnown, maxResults: 0 });
  await guard.ready();
  t.equal(await codeOf(guard, call, { token: issue(script) }), Code.UNAVAILABLE);
  t.same(script.batches, [1]);
});

t.test("a response from before a revocation is ignored", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const token = issue(script);
  const held = holdAnswers(script);
  const code = codeOf(guard, call, { token });
  await script.until(() => held.length === 1);
  script.callers.clear();
  script.change(revoked(token));
  await script.until(() => script.stream.applied.includes(2n));
  held[0]?.(); // still responds with bob, as of revision 1
  await script.until(() => held.length === 2);
  held[1]?.();
  t.equal(await code, Code.UNAUTHENTICATED);
});

t.test("a revocation that arrives together with the response counts", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  // The two may meet at any moment: the one some microtasks before or after the other.
  for (let apart = -12; apart <= 12; apart++) {
    const token = issue(script);
    const held = holdAnswers(script);
    const code = codeOf(guard, call, { token });
    await script.until(() => held.length === 1);
    script.callers.clear();
    if (apart < 0) held[0]?.();
    await turns(Math.abs(apart));
    script.resolve = (request) => script.response(request);
    script.change(revoked(token));
    if (apart >= 0) {
      await turns(apart);
      held[0]?.();
    }
    const { revision } = script;
    await code;
    await script.until(() => script.stream.applied.includes(revision));
    t.equal(await codeOf(guard, call, { token }), Code.UNAUTHENTICATED, `${apart} microtasks apart`);
  }
});

t.test("a caller revoked before a grant never gets the grant, whenever the change meets a lookup", async (t) => {
  const { script, guard } = await start(t, { rules: [], leaseMs: 30_000 });
  await guard.ready();
  for (let apart = 0; apart <= 24; apart++) {
    const token = issue(script);
    const held = holdAnswers(script);
    const code = codeOf(guard, call, { token });
    await script.until(() => held.length === 1);
    script.callers.clear();
    script.resolve = (request) => script.response(request);
    const response = turns(12).then(held[0]);
    const news = turns(apart).then(() =>
      script.change(revoked(token), {
        $case: "ruleCreated",
        value: { namespace: "default", namespaceId: "", rule: readRule("* granted *:*:*", "all") },
      }),
    );
    await Promise.all([response, news]);
    t.not(await code, Code.OK, `the answer after 12 microtasks, the news after ${apart}`);
    script.change({ $case: "ruleDeleted", value: { namespace: "default", id: "all", resource: "*:*:*" } });
    const { revision } = script;
    await script.until(() => script.stream.applied.includes(revision));
  }
});

t.test("an authority that lags behind is asked again until it has caught up", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  script.change(revoked(createToken("access")));
  await script.until(() => script.stream.applied.includes(2n));
  const token = issue(script);
  script.resolve = (request) => ({ ...script.response(request), revision: script.asked.length < 4 ? 1n : 2n });
  await ask(guard, call, { token });
  t.equal(script.asked.length, 4);
});

t.test("after a snapshot every token is looked up again, also unknown ones", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const [known, unknown] = [issue(script), createToken("access")];
  await ask(guard, call, { token: known });
  t.equal(await codeOf(guard, call, { token: unknown }), Code.UNAUTHENTICATED);
  script.callers.clear();
  script.callers.set(hex(unknown), {});
  script.revision = 5n;
  script.stream.send(script.snapshot());
  await script.until(() => script.stream.applied.includes(5n));
  t.equal(await codeOf(guard, call, { token: known }), Code.UNAUTHENTICATED);
  t.equal(await codeOf(guard, call, { token: unknown }), Code.OK);
});

t.test("a failed lookup is 503 for the caller, whatever the authority's error, and is not cached", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const token = issue(script);
  for (const code of [Code.UNAUTHENTICATED, Code.PERMISSION_DENIED, Code.INTERNAL, Code.RESOURCE_EXHAUSTED]) {
    script.resolve = () => {
      throw new StatusError(code, "10.0.0.7: no");
    };
    await t.rejects(ask(guard, call, { token }), {
      code: Code.UNAVAILABLE,
      message: "The authority cannot be reached; no decision is made without it",
    });
  }
  script.resolve = (request) => script.response(request);
  await ask(guard, call, { token });
});

t.test("a response that arrives after the lease is ignored", async (t) => {
  const { script, guard } = await start(t, { ...onlyKnown, leaseMs: 200 });
  await guard.ready();
  const token = issue(script);
  const held = holdAnswers(script);
  const code = codeOf(guard, call, { token });
  await script.until(() => held.length === 1);
  script.answersPings = false;
  await until(() => guard.state !== "ready");
  held[0]?.();
  t.equal(await code, Code.UNAVAILABLE);
});

t.test("a key with a limit that cannot be understood is refused", async (t) => {
  const { script, guard } = await start(t, onlyKnown);
  await guard.ready();
  const token = createToken("key");
  script.callers.set(hex(token), { resources: ["**"] });
  t.equal(await codeOf(guard, call, { token }), Code.UNAVAILABLE);
});
