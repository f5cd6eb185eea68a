// Sessions of the pages at the authority: their times and bounds, and that snapshots and other
// authorities agree on them. What ends them is in test/access/ended.test.ts.
import t, { type Test } from "tap";
import { fold } from "../../../services/auth/log/state/fold.js";
import { formatOf } from "../../../services/auth/log/state/snapshot-parts.js";
import { State } from "../../../services/auth/log/state/state.js";
import { SYSTEM } from "../../../src/access/guard.js";
import { hashToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { type Event, PageSession } from "../../../src/gen/portico/auth/log/v1/log.js";
import { AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { SessionsService } from "../../../src/gen/portico/auth/v1/sessions.js";
import type { CallOptions } from "../../../src/rpc/client.js";
import { toTimestamp } from "../../../src/time.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { isGood, open, PASSWORD } from "./open.js";
import { proven, renew, signIn } from "./page-browser.js";
import { restored } from "./restored.js";

const HOUR = 60 * 60_000;
const MAX_SESSIONS = 100;
const MAX_SESSION_ACCESS = 64;
const system: CallOptions = { admission: SYSTEM };
const ENDED = { code: Code.UNAUTHENTICATED, message: "The session has ended; sign in again" };

t.test("a logout everywhere leaves keys, and only a login can ask for it", async (t) => {
  const opened = await open(t);
  const { call } = opened;
  const admin = await opened.login();
  const newKey = { name: "ci", lifetime: undefined, resources: [], from: [] };
  const { secret } = await call(KeysService.create, newKey, admin);
  await t.rejects(call(AuthService.logout, { everywhere: true }, secret), { code: Code.FAILED_PRECONDITION });
  const { token } = await signIn(opened);
  await call(AuthService.logout, { everywhere: true }, token);
  t.ok(await isGood(opened, secret));
  t.notOk(await isGood(opened, admin));
  const again = await opened.login();
  const every = { before: 0n, filter: "", actor: "", action: "", from: undefined, until: undefined, limit: 3 };
  t.match(await call(AuditService.list, every, again), {
    records: [{ action: "logged in" }, { action: "signed out everywhere" }, { action: "signed in on the pages" }],
  });
});

t.test("a session ends twelve hours after its last token", async (t) => {
  const clock = { now: Date.now() };
  const opened = await open(t, { clock: () => clock.now });
  const browser = await signIn(opened);
  for (let day = 0; day < 3; day++) {
    clock.now += 12 * HOUR - 1;
    t.ok(await renew(opened, browser));
  }
  clock.now += 12 * HOUR;
  await t.rejects(renew(opened, browser), ENDED);
});

t.test("a session's token counts for an hour", async (t) => {
  const clock = { now: Date.now() };
  const opened = await open(t, { clock: () => clock.now });
  const browser = await signIn(opened);
  const renewed = await renew(opened, browser);
  clock.now += HOUR - 1;
  for (const token of [browser.token, renewed.accessToken]) t.ok(await isGood(opened, token));
  clock.now += 1;
  for (const token of [browser.token, renewed.accessToken]) t.notOk(await isGood(opened, token));
});

t.test("an authority that is told nothing knows the sessions and challenges of the other", async (t) => {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  const one = await open(t, { store });
  const other = await open(t, { store: { ...store, follow: () => () => undefined } });
  const browser = await signIn(one);
  const { challenge } = await other.call(SessionsService.createChallenge, browser, undefined, system);
  t.ok(challenge);
  const second = await signIn(one);
  const proof = await proven(one, second);
  const { accessToken } = await other.call(SessionsService.createToken, proof, undefined, system);
  t.ok(await isGood(one, accessToken));
});

t.test("a challenge does not outlive the secret that it was made under", async (t) => {
  const opened = await open(t);
  const admin = await opened.login();
  const browser = await signIn(opened);
  const before = await proven(opened, browser);
  await opened.call(EnrolmentsService.create, { name: "gateway", replace: true }, admin);
  await opened.call(EnrolmentsService.delete, { name: "gateway", id: "" }, admin);
  const create = opened.call(SessionsService.createToken, before, undefined, system);
  await t.rejects(create, { code: Code.PERMISSION_DENIED });
  t.ok(await renew(opened, browser), "the session goes on");
});

t.test("only gateways may call", async (t) => {
  const opened = await open(t);
  const admin = await opened.login();
  const create = (name: string) => opened.call(EnrolmentsService.create, { name, replace: false }, admin);
  const [service, gateway] = [await create("orders"), await create("gateway")];
  const browser = await signIn(opened);
  const credentials = { account: "admin", password: PASSWORD, namespace: "" };
  const from = { address: "192.0.2.1", requestId: "" };
  const ways: Record<string, (token?: string) => Promise<unknown>> = {
    start: (token) =>
      opened.call(SessionsService.start, { ...credentials, ...from, publicKey: browser.key.spki }, token),
    getInstallation: (token) => opened.call(SessionsService.getInstallation, {}, token),
    createChallenge: (token) => opened.call(SessionsService.createChallenge, browser, token),
    createToken: async (token) => opened.call(SessionsService.createToken, await proven(opened, browser), token),
    end: async (token) => opened.call(SessionsService.end, await proven(opened, browser), token),
  };
  t.same(Object.keys(ways), Object.keys(SessionsService));
  for (const [name, ask] of Object.entries(ways)) {
    for (const token of [service.secret, admin]) await t.rejects(ask(token), { code: Code.PERMISSION_DENIED }, name);
    await t.rejects(ask(), { code: Code.UNAUTHENTICATED }, name);
    t.ok(await ask(gateway.secret), name);
  }
});

const NOW = 1_800_000_000_000;

function sessionOf(name: string, tokens = [`${name} token`]): PageSession {
  const expires = toTimestamp(NOW + 12 * HOUR);
  const access = tokens.map((token) => ({ sha256: hashToken(token), expires }));
  const owner = { namespace: "default", account: "ann" };
  return PageSession.fromPartial({ sha256: hashToken(name), ...owner, publicKey: Buffer.from("key"), access, expires });
}

function folded() {
  const state = new State();
  const apply = (now: number, ...events: NonNullable<Event["event"]>[]) =>
    fold(state, {
      ...{ time: toTimestamp(now), actor: "ann", namespace: "default" },
      events: events.map((event) => ({ event })),
    });
  apply(
    NOW,
    { $case: "namespaceCreated", value: { name: "default" } },
    { $case: "accountCreated", value: { namespace: "default", name: "ann", scopes: [], password: undefined } },
  );
  const start = (name: string) => apply(NOW, { $case: "pageSessionStarted", value: { session: sessionOf(name) } });
  return { state, apply, start };
}

const callerOf = (state: State, token: string) => state.callerOf(hashToken(token), NOW);

t.test("a snapshot has sessions, in format 3; a draft changes nothing of its base", async (t) => {
  const { state, start } = folded();
  start("one");
  const frozen = state.freeze();
  t.equal(formatOf(frozen), 3);
  frozen.release();
  for (const one of [state, await restored(state), state.draft()])
    t.match(callerOf(one, "one token"), { account: "ann" });
  state.draft().sessions.remove(hashToken("one"));
  t.ok(callerOf(state, "one token"));
});

for (const [what, later, counts] of [
  ["before its idle time is over", 12 * HOUR - 1, true],
  ["after it", 12 * HOUR, false],
] as const) {
  t.test(`a use of a session ${what} gives ${counts ? "a" : "no"} token, whatever was decided`, async (t) => {
    const { state, apply, start } = folded();
    start("one");
    const access = { sha256: hashToken("late"), expires: toTimestamp(NOW + 24 * HOUR) };
    apply(NOW + later, { $case: "pageSessionUsed", value: { sha256: hashToken("one"), access } });
    t.equal(callerOf(state, "late") !== undefined, counts);
  });
}

t.test(`an account has at most ${MAX_SESSIONS} sessions: the least recently used ends`, async (t: Test) => {
  const { state, apply, start } = folded();
  for (let count = 0; count < MAX_SESSIONS; count++) start(`s${count}`);
  const access = { sha256: hashToken("new"), expires: toTimestamp(NOW + 1) };
  apply(NOW, { $case: "pageSessionUsed", value: { sha256: hashToken("s0"), access } });
  const { changes } = start("one more");
  t.match(changes, [{ change: { $case: "tokensRevoked", value: { sha256: [hashToken("s1 token")] } } }]);
  t.equal(callerOf(state, "s1 token"), undefined);
  t.ok(callerOf(state, "s0 token"));
});

t.test(`a session has at most ${MAX_SESSION_ACCESS} tokens: the oldest ends`, async (t) => {
  const { state, apply, start } = folded();
  start("one");
  const use = (token: string) =>
    apply(NOW, {
      $case: "pageSessionUsed",
      value: { sha256: hashToken("one"), access: { sha256: hashToken(token), expires: toTimestamp(NOW + 60_000) } },
    });
  for (let count = 1; count < MAX_SESSION_ACCESS; count++) t.same(use(`t${count}`).changes, []);
  t.match(use("last").changes, [{ change: { value: { sha256: [hashToken("one token")] } } }]);
  t.equal(callerOf(state, "one token"), undefined);
  t.ok(callerOf(state, "t1"));
});
