/** Changes that arrive during a write are written together, each decided after those before it. */

import { setImmediate } from "node:timers/promises";
import { type Logger, pino } from "pino";
import t, { type Test } from "tap";
import type { Decide } from "../../../services/auth/log/changelog/decide.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { Code, StatusError } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { type KeyValueStore, StoreError } from "../../../src/store/store.js";
import { deferred } from "../../support/deferred.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { until } from "../../support/until.js";
import { type Open, open, openJournal, PASSWORD } from "./open.js";

/** A store whose writes to the log a test can observe, delay and let fail. */
function watched(t: Test) {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  /** For each write: how many entries were written together. */
  const writes: number[] = [];
  const faults = { before: async () => undefined as unknown, after: async () => undefined as unknown };
  const commit: KeyValueStore["commit"] = async (given) => {
    const entries = given.filter(({ kind, key }) => kind === "set" && key.startsWith("log/"));
    if (entries.length === 0) return store.commit(given);
    writes.push(entries.length);
    await faults.before();
    const result = await store.commit(given);
    await faults.after();
    return result;
  };
  const wrapped: KeyValueStore = { ...store, commit };
  return { store: wrapped, plain: store, writes, faults };
}

/** A journal on such a store, with one namespace. */
async function opened(t: Test, logger?: Logger) {
  const log = watched(t);
  const journal = await openJournal(log.store, undefined, logger);
  await journal.commit(PORTICO, create("first"));
  log.writes.length = 0;
  return { ...log, journal };
}

const create =
  (name: string): Decide =>
  ({ namespaces }) => {
    if (namespaces.has(name)) throw new StatusError(Code.ALREADY_EXISTS, name);
    return [{ $case: "namespaceCreated", value: { name } }];
  };
const remove =
  (name: string): Decide =>
  ({ namespaces }) =>
    namespaces.has(name) ? [{ $case: "namespaceDeleted", value: { name } }] : [];

/** The results of changes: the revision, or the code of the refusal. */
async function outcomes(changes: readonly Promise<number>[]): Promise<(number | Code)[]> {
  const settled = await Promise.allSettled(changes);
  return settled.map((one) => (one.status === "fulfilled" ? one.value : Code[one.reason.code as Code])) as never;
}

t.test("changes that arrive during a write", async (t) => {
  const { journal, writes, faults, plain } = await opened(t);
  const release = deferred();
  faults.before = () => release.promise;
  const changes = [journal.commit(PORTICO, create("held"))];
  await until(() => writes.length === 1);
  const decisions = [create("a"), create("b"), create("a"), remove("a"), remove("a"), create("a"), create("first")];
  changes.push(...decisions.map((decide) => journal.commit(PORTICO, decide)));
  release.resolve();

  const expected = [2, 3, 4, "ALREADY_EXISTS", 5, 5, 6, "ALREADY_EXISTS"];
  t.same(await outcomes(changes), expected, "are decided in their order, each with those before it");
  t.same(writes, [1, 4], "are written together");
  t.same([...journal.state.namespaces.keys()], ["first", "held", "b", "a"]);
  const again = await openJournal(plain);
  t.same([...again.state.namespaces.keys()], [...journal.state.namespaces.keys()], "are in the log in that order");
});

t.test("followers are notified of each change, in order", async (t) => {
  const { journal } = await opened(t);
  const heard: number[] = [];
  journal.follow({ changed: (revision) => heard.push(revision), replaced: () => t.fail() });
  await Promise.all(["a", "b", "c"].map((name) => journal.commit(PORTICO, create(name))));
  t.same(heard, [2, 3, 4]);
});

t.test("changes that are not written yet are not visible", async (t) => {
  const { journal, writes, faults } = await opened(t);
  const release = deferred();
  faults.before = () => release.promise;
  const changes = ["a", "b"].map((name) => journal.commit(PORTICO, create(name)));
  await until(() => writes.length === 1);
  await journal.sync();
  t.equal(journal.state.revision, 1);
  t.same([...journal.state.namespaces.keys()], ["first"]);
  release.resolve();
  t.same(await outcomes(changes), [2, 3]);
});

t.test("if another authority writes the revision first, all changes are decided again, in order", async (t) => {
  const { journal, writes, faults, plain } = await opened(t);
  const other = await openJournal(plain);
  faults.before = async () => {
    faults.before = async () => undefined;
    await other.commit(PORTICO, create("b"));
  };
  const changes = ["a", "b", "c"].map((name) => journal.commit(PORTICO, create(name)));
  t.same(await outcomes(changes), [3, "ALREADY_EXISTS", 4]);
  t.same(writes, [3, 2]);
});

t.test("the reason why the store accepts no changes is logged once, until it accepts them again", async (t) => {
  const logged: { level: number; msg: string; err?: { message: string } }[] = [];
  const { journal, faults } = await opened(t, pino({}, { write: (line) => void logged.push(JSON.parse(line)) }));
  const cut = async (): Promise<never> => {
    throw new StoreError("store in memory cannot grow");
  };
  for (const name of ["a", "b"]) {
    faults.before = cut;
    for (const _ of ["once", "again"]) t.same(await outcomes([journal.commit(PORTICO, create(name))]), ["UNAVAILABLE"]);
    faults.before = async () => undefined;
    await journal.commit(PORTICO, create(name));
  }
  const [refused, again] = ["the store takes no changes: they are refused", "the store takes changes again"];
  const failed = [50, refused, "store in memory cannot grow"];
  t.same(
    logged.map(({ level, msg, err }) => [level, msg, err?.message]),
    [failed, [40, again, undefined], failed, [40, again, undefined]],
  );
});

t.test("if the outcome of a write is unknown, it is unknown for all its changes", async (t) => {
  for (const [moment, made] of [
    ["before", []],
    ["after", ["a", "b"]],
  ] as const) {
    const { journal, faults } = await opened(t);
    faults[moment] = async () => {
      faults[moment] = async () => undefined;
      throw new StoreError("store in memory did not respond");
    };
    const changes = ["a", "first", "b"].map((name) => journal.commit(PORTICO, create(name)));
    t.same(await outcomes(changes), ["UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"], `it fails ${moment} it writes`);
    await journal.commit(PORTICO, create("next"));
    t.same([...journal.state.namespaces.keys()], ["first", ...made, "next"], "later changes are after them");
  }
});

t.test("at most 256 changes are written at a time", async (t) => {
  const { journal, writes } = await opened(t);
  const changes = Array.from({ length: 600 }, (_, index) => journal.commit(PORTICO, create(`n${index}`)));
  t.same(
    await outcomes(changes),
    Array.from({ length: 600 }, (_, index) => index + 2),
  );
  t.same(writes, [256, 256, 88]);
});

t.test("a change that waited for more than ten seconds is refused, and not made", async (t) => {
  const { journal, writes, faults } = await opened(t);
  const release = deferred();
  faults.before = () => release.promise;
  const held = journal.commit(PORTICO, create("held"));
  await until(() => writes.length === 1);
  const late = journal.commit(PORTICO, create("late"));
  const { now } = performance;
  t.teardown(() => {
    performance.now = now;
  });
  performance.now = () => now.call(performance) + 10_001;
  const inTime = journal.commit(PORTICO, create("in time"));
  release.resolve();
  t.same(await outcomes([held, late, inTime]), [2, "UNAVAILABLE", 3]);
  t.same([...journal.state.namespaces.keys()], ["first", "held", "in time"]);
});

t.test("of two simultaneous calls that exclude each other, one is refused", async (t) => {
  const rule = { id: "new", scope: "*", access: Access.GRANTED, resource: "service:x:*", priority: 0, disabled: false };
  const bob = { name: "bob", password: PASSWORD, scopes: [] };
  const lifetime = { seconds: 86_400n, nanos: 0 };
  type Calls = (authority: Open, token: string) => Promise<(() => Promise<unknown>)[]>;
  const cases: Record<string, [calls: Calls, code: Code]> = {
    "create one rule": [
      async ({ call }, token) => [1, 2].map(() => () => call(RulesService.create, { rule }, token)),
      Code.ALREADY_EXISTS,
    ],
    "create the last rule of a namespace": [
      async ({ call }, token) =>
        [1, 2].map((n) => () => call(RulesService.create, { rule: { ...rule, id: `${n}` } }, token)),
      Code.FAILED_PRECONDITION,
    ],
    "delete one rule": [
      async ({ call }, token) => {
        await call(RulesService.create, { rule }, token);
        return [1, 2].map(() => () => call(RulesService.delete, { id: "new" }, token));
      },
      Code.NOT_FOUND,
    ],
    "create one account": [
      async ({ call }, token) => [1, 2].map(() => () => call(AccountsService.create, bob, token)),
      Code.ALREADY_EXISTS,
    ],
    "delete the last two administrators": [
      async ({ call }, token) => {
        await call(AccountsService.create, { ...bob, scopes: ["admin"] }, token);
        return ["bob", "admin"].map((name) => () => call(AccountsService.delete, { name }, token));
      },
      Code.FAILED_PRECONDITION,
    ],
    "create one namespace": [
      async ({ call }, token) => [1, 2].map(() => () => call(NamespacesService.create, { name: "other" }, token)),
      Code.ALREADY_EXISTS,
    ],
    "delete one enrolment": [
      async ({ call }, token) => {
        await call(EnrolmentsService.create, { name: "greeter", replace: false }, token);
        return [1, 2].map(() => () => call(EnrolmentsService.delete, { name: "greeter", id: "" }, token));
      },
      Code.NOT_FOUND,
    ],
    "revoke one key": [
      async ({ call }, token) => {
        const { key } = await call(KeysService.create, { name: "k", lifetime, resources: [], from: [] }, token);
        return [1, 2].map(() => () => call(KeysService.revoke, { prefix: key!.prefix }, token));
      },
      Code.NOT_FOUND,
    ],
    "trade one refresh token": [
      async ({ call }) => {
        const { refreshToken } = await call(AuthService.login, { account: "admin", password: PASSWORD, namespace: "" });
        return [1, 2].map(() => () => call(AuthService.refresh, { refreshToken }));
      },
      Code.UNAUTHENTICATED,
    ],
    "log out one login": [
      async ({ call }, token) => [1, 2].map(() => () => call(AuthService.logout, { everywhere: false }, token)),
      Code.UNAUTHENTICATED,
    ],
  };
  for (const [what, [calls, code]] of Object.entries(cases)) {
    await t.test(what, async (t) => {
      const { store, writes, faults } = watched(t);
      const authority = await open(t, { store, maxRules: what.includes("last rule") ? 2 : 10 });
      const token = await authority.login();
      const pair = await calls(authority, token);
      const release = deferred();
      faults.before = () => release.promise;
      writes.length = 0;
      const held = authority.login();
      await until(() => writes.length === 1);
      const made = Promise.allSettled(pair.map((call) => call()));
      // In one process, with a store in memory, calls wait only for turns of the event loop until
      // their changes wait.
      for (let turn = 0; turn < 100; turn++) await setImmediate();
      release.resolve();
      await held;
      // If a password is hashed before, the order of the calls may change.
      const refused = (await made).filter((one) => one.status === "rejected");
      t.same(
        refused.map(({ reason }) => reason.code),
        [code],
      );
    });
  }
});
