/** A change is acknowledged when no guard decides without it any more. */

import t from "tap";
import { type LeaseRecords, leaseSpan } from "../../../services/auth/log/leases/lease-records.js";
import { Leases } from "../../../services/auth/log/leases/leases.js";
import { Code } from "../../../src/errors.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { collectionOf } from "../../../src/store/collection.js";
import { openStore } from "../../../src/store/open.js";
import { temporaryFolder } from "../../support/temporary.js";
import { again } from "./again.js";
import { type Open, open, silent } from "./open.js";
import { Watch } from "./watch.js";

/** So long that it does not end by chance on a busy computer. */
const LONG = 20_000;
const SHORT = 400;
/** How early timers may fire, in milliseconds. */
const EARLY = 2;

async function deleteDefault({ call, login }: Open): Promise<() => Promise<number>> {
  const token = await again(() => login());
  return async () => {
    let start = 0;
    const remove = () => {
      start = performance.now();
      return call(RulesService.delete, { id: "default" }, token);
    };
    await again(remove, Code.NOT_FOUND);
    return performance.now() - start;
  };
}

async function enrol({ call, login }: Open): Promise<string> {
  const token = await again(() => login());
  return (await again(() => call(EnrolmentsService.create, { name: "gateway", replace: false }, token))).secret;
}

t.test("a change waits until the guard has applied it, and no longer", async (t) => {
  const opened = await open(t, { leaseMs: LONG });
  const change = await deleteDefault(opened);
  const watch = new Watch(t, opened.channel);
  watch.start();
  const { revision } = await watch.ping();
  watch.applied(revision);
  let acknowledged = false;
  const response = change().then((time) => {
    acknowledged = true;
    return time;
  });
  const changes = await watch.next("changes");
  t.match(changes.changes, [{ change: { $case: "ruleDeleted", value: { namespace: "default", id: "default" } } }]);
  watch.applied(changes.revision - 1n);
  t.equal((await watch.ping()).revision, changes.revision, "a pong after the commit names it");
  t.notOk(acknowledged, "an earlier revision is no acknowledgement");
  watch.applied(changes.revision);
  t.ok((await response) < LONG / 2);
});

t.test("a rule that is switched off is waited for as a deleted one", async (t) => {
  const { call, channel, login } = await open(t, { leaseMs: LONG });
  const token = await login();
  const watch = new Watch(t, channel);
  watch.start();
  watch.applied((await watch.ping()).revision);
  const { rules } = await call(RulesService.list, { pageSize: 0, pageToken: "" }, token);
  const request = { rule: { ...rules[0]!, disabled: true }, expected: undefined };
  let acknowledged = false;
  const setting = again(() => call(RulesService.set, request, token)).then(() => {
    acknowledged = true;
  });
  const { revision, changes } = await watch.next("changes");
  t.match(changes, [{ change: { $case: "ruleDeleted", value: { namespace: "default", id: "default" } } }]);
  await watch.ping();
  t.notOk(acknowledged, "the guard has not applied it yet");
  watch.applied(revision);
  await setting;
});

t.test("a change waits for a silent guard until the guard's lease has ended", async (t) => {
  const opened = await open(t, { leaseMs: SHORT });
  const change = await deleteDefault(opened);
  const watch = new Watch(t, opened.channel);
  watch.start();
  await watch.ping();
  const granted = performance.now();
  await change();
  const waited = performance.now() - granted;
  t.ok(waited >= SHORT - EARLY, `waited ${waited} ms`);
});

t.test("another guard's newer lease does not extend the wait for a silent guard", async (t) => {
  let ahead = 0;
  const now = () => performance.now() + ahead;
  const leases = new Leases({
    leaseMs: LONG,
    leaseRecords: {} as LeaseRecords,
    restrictions: () => [],
    now,
    log: silent,
  });
  const silentOne = leases.join({ enrolment: "gateway", sha256: "a" }, () => undefined);
  leases.grant(silentOne, 1);
  ahead = LONG;
  const other = leases.join({ enrolment: "gateway", sha256: "b" }, () => undefined);
  leases.grant(other, 1);
  const began = performance.now();
  const settled = leases.settledHere(2);
  leases.applied(other, 2);
  await settled;
  const waited = performance.now() - began;
  t.ok(waited < LONG / 2, `waited ${waited} ms`);
  leases.leave(silentOne, true);
  leases.leave(other, true);
});

t.test("a pong during the wait does not extend it", async (t) => {
  const opened = await open(t, { leaseMs: SHORT });
  const change = await deleteDefault(opened);
  const watch = new Watch(t, opened.channel);
  watch.start();
  const { revision } = await watch.ping();
  watch.applied(revision);
  const changing = change();
  await watch.next("changes");
  await watch.ping();
  const time = await changing;
  t.ok(time < LONG / 2, `waited ${time} ms`);
});

t.test("a change does not wait for a guard without a lease", async (t) => {
  const cases: Record<string, (watch: Watch) => Promise<unknown>> = {
    "a guard that never got a pong": async (watch) => watch.next("snapshot"),
    "a guard that closed its side first": async (watch) => {
      await watch.ping();
      watch.end();
      await watch.next("pong").catch(() => "the stream has ended");
    },
  };
  for (const [who, begin] of Object.entries(cases)) {
    await t.test(who, async (t) => {
      const opened = await open(t, { leaseMs: LONG });
      const change = await deleteDefault(opened);
      const watch = new Watch(t, opened.channel);
      watch.start();
      await begin(watch);
      t.ok((await change()) < LONG / 2);
    });
  }
});

t.test("a change waits for a guard whose stream broke, even if the guard is back", async (t) => {
  const opened = await open(t, { leaseMs: SHORT });
  const change = await deleteDefault(opened);
  const broken = new Watch(t, opened.channel);
  broken.start();
  await broken.ping();
  const granted = performance.now();
  broken.cancel();
  const back = new Watch(t, opened.channel);
  back.start();
  const { revision } = await back.ping();
  back.applied(revision);
  const applying = back.next("changes").then((changes) => back.applied(changes.revision));
  await change();
  await applying;
  const waited = performance.now() - granted;
  t.ok(waited >= SHORT - EARLY, `waited ${waited} ms`);
});

t.test("a new token waits for no guard", async (t) => {
  const opened = await open(t, { leaseMs: LONG });
  const watch = new Watch(t, opened.channel);
  watch.start();
  await watch.ping();
  const start = performance.now();
  await opened.login();
  t.ok(performance.now() - start < LONG / 2);
});

t.test("leases outlive the authority that granted them", async (t) => {
  const cases: [what: string, own: boolean, end: (authority: Open, watch: Watch) => Promise<void>][] = [
    ["stopped", false, (before) => before.close()],
    ["killed", false, async () => undefined],
    ["killed with a guard of its own only", true, async () => undefined],
  ];
  for (const [what, own, end] of cases) {
    await t.test(what, async (t) => {
      const store = await openStore("sqlite:", temporaryFolder(t));
      t.teardown(() => store.close());
      const before = await open(t, { store, leaseMs: SHORT });
      const watch = new Watch(t, before.channel, own ? undefined : await enrol(before));
      watch.start();
      await watch.ping();
      const granted = performance.now();
      await end(before, watch);
      const after = await open(t, { store, leaseMs: SHORT });
      const time = await (await deleteDefault(after))();
      const later = performance.now() - granted;
      t.ok(later >= SHORT - EARLY, `acknowledged ${later} ms after the last lease was granted`);
      t.ok(time < LONG / 2, `waited ${time} ms`);
    });
  }
});

t.test(
  "an authority that stopped together with its guard leaves no lease record, so no change waits for it",
  async (t) => {
    const store = await openStore("sqlite:", temporaryFolder(t));
    t.teardown(() => store.close());
    const before = await open(t, { store, leaseMs: LONG });
    t.equal((await collectionOf(store, "grantors").keys()).length, 1);
    await before.close();
    t.same(await collectionOf(store, "grantors").keys(), []);
    const after = await open(t, { store, leaseMs: LONG });
    t.ok((await (await deleteDefault(after))()) < LONG / 2);
  },
);

t.test(
  "of two authorities with a guard each, neither guard accepts a key that the other authority revoked",
  async (t) => {
    const store = await openStore("sqlite:", temporaryFolder(t));
    t.teardown(() => store.close());
    const here = await open(t, { store, leaseMs: SHORT });
    const there = await open(t, { store, leaseMs: SHORT });
    const token = await again(() => here.login());
    const request = { name: "ci", lifetime: undefined, resources: [], from: [] };
    const { secret, key } = await again(() => here.call(KeysService.create, request, token));
    const use = () => again(() => there.call(AuthService.whoAmI, {}, secret));
    await use();
    await again(() => here.call(KeysService.revoke, { prefix: key?.prefix ?? "" }, token), Code.NOT_FOUND);
    await t.rejects(use(), { code: Code.UNAUTHENTICATED }, "from the acknowledgement on");
  },
);

t.test("a guard of another authority gets a change at its next ping", async (t) => {
  const store = await openStore("sqlite:", temporaryFolder(t));
  t.teardown(() => store.close());
  const here = await open(t, { store, leaseMs: SHORT });
  const there = await open(t, { store, leaseMs: SHORT });
  const watch = new Watch(t, there.channel, await enrol(here));
  watch.start();
  watch.applied((await watch.ping()).revision);
  const token = await here.login();
  const rule = { id: "new", scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };
  const start = performance.now();
  await here.call(RulesService.create, { rule }, token);
  t.ok(performance.now() - start >= SHORT - EARLY, "and until its lease has run out, the change waits");
  watch.sendPing();
  for (;;) {
    const { changes, revision } = await watch.next("changes");
    if (changes.length === 0) continue; // A revision without changes, for the login.
    t.match(changes, [{ change: { $case: "ruleCreated", value: { rule: { id: "new" } } } }]);
    t.equal((await watch.next("pong")).revision, revision);
    break;
  }
});

t.test("a guard that does not understand a restriction is reported while it has, or may get, a lease", async (t) => {
  let time = 0;
  const leases = new Leases({
    leaseMs: SHORT,
    leaseRecords: {} as LeaseRecords,
    restrictions: () => [],
    now: () => time,
    log: silent,
  });
  const join = (restrictions: readonly string[]) => {
    const holder = leases.join({ enrolment: "shop", sha256: "a" }, () => undefined);
    leases.understands(holder, restrictions);
    return holder;
  };
  const lacking = () => leases.lackingHere("limited-keys");
  const old = join([]);
  t.same(lacking(), ["shop"], "before its first pong: by then the authority's lease record must name it");
  leases.grant(old, 1);
  t.same(lacking(), ["shop"]);
  time = leaseSpan(SHORT);
  t.same(lacking(), [], "not when its lease has ended and it has not applied what it was sent");
  leases.applied(old, 1);
  leases.grant(old, 1);
  leases.leave(old, false);
  const understanding = join(["limited-keys"]);
  leases.grant(understanding, 1);
  leases.leave(understanding, false);
  t.same(lacking(), ["shop"], "after its stream broke, even if others with its token understand all");
  time += leaseSpan(SHORT);
  t.same(lacking(), []);
  leases.leave(join([]), true);
  t.same(lacking(), [], "not after it has left");
});
