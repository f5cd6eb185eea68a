/** If a caller's permissions are revoked while its call waits for a hash, it changes nothing. */
import t, { type Test } from "tap";
import { firstEntry } from "../../../services/auth/bootstrap.js";
import { ChangeLog } from "../../../services/auth/log/changelog/change-log.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { SYSTEM } from "../../../src/access/guard.js";
import { Code } from "../../../src/errors.js";
import type { Event } from "../../../src/gen/portico/auth/log/v1/log.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { SessionsService } from "../../../src/gen/portico/auth/v1/sessions.js";
import { browserKey } from "../../gateway/page-session.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { HASH, type Open, open, openJournal, PASSWORD, silent } from "./open.js";
import { Watch } from "./watch.js";

/** The hash of an account whose password is as expensive to check as a real one. */
const SLOW = { ...HASH, n: 2 ** 15, r: 8, p: 3 };

/** Opens an authority with the account `slow`; the passwords of all other accounts cost nothing. */
async function openWithSlow(t: Test, store = openMemoryStore()): Promise<Open> {
  const journal = await openJournal(store);
  const slow = { namespace: "default", name: "slow", scopes: [], password: SLOW };
  await journal.commit(PORTICO, () => [...firstEntry(HASH, []), { $case: "accountCreated", value: slow }]);
  await journal.close();
  return open(t, { store });
}

/** Uses both places for hashing, so that later calls wait. */
function occupy({ call }: Open): Promise<unknown> {
  const login = { account: "slow", password: "wrong password", namespace: "" };
  return Promise.allSettled([1, 2].map(() => call(AuthService.login, login)));
}

/** Revokes something while calls wait; returns the codes of the calls. */
async function outcome(opened: Open, calls: (() => Promise<unknown>)[], takeAway: () => Promise<unknown>) {
  const occupied = occupy(opened);
  let ended = false;
  const waiting = calls.map(async (call) => {
    const code = await call().then(
      () => Code.OK,
      (error) => error.code as Code,
    );
    ended = true;
    return code;
  });
  await takeAway();
  if (ended) throw new Error("the calls did not wait");
  await occupied;
  return Promise.all(waiting);
}

/** After the use, the guard knows the token, so that a call with it begins at once. */
async function used({ call }: Open, token: string): Promise<string> {
  await call(AuthService.whoAmI, {}, token);
  return token;
}

/** Opens an authority with a second administrator. */
async function openTwo(t: Test) {
  const opened = await openWithSlow(t);
  const { call, login } = opened;
  const admin = await login();
  await call(AccountsService.create, { name: "second", password: PASSWORD, scopes: ["admin"] }, admin);
  return { opened, call, admin, second: await used(opened, await login("second")) };
}

const bob = { name: "bob", password: PASSWORD, scopes: ["admin"] };

t.test("a waiting call of a deleted administrator changes nothing", async (t) => {
  const { opened, call, admin, second } = await openTwo(t);
  const change = { name: "admin", currentPassword: "", newPassword: "another password" };
  const calls = [
    () => call(AccountsService.create, bob, second),
    () => call(AccountsService.setPassword, change, second),
    () => call(NamespacesService.create, { name: "other" }, second),
  ];
  const codes = await outcome(opened, calls, () => call(AccountsService.delete, { name: "second" }, admin));
  t.same(codes, Array(3).fill(Code.UNAUTHENTICATED));
  t.same((await call(AccountsService.list, { pageSize: 0, pageToken: "" }, admin)).accounts.length, 2);
  t.match((await call(NamespacesService.list, {}, admin)).namespaces, [{ name: "default" }]);
  t.ok(await opened.login("admin", PASSWORD), "the password is what it was");
});

t.test("a waiting call whose key or scope was revoked changes nothing", async (t) => {
  const { opened, call, admin, second } = await openTwo(t);
  const { secret, key } = await call(
    KeysService.create,
    { name: "ci", lifetime: undefined, resources: [], from: [], admin: true },
    second,
  );
  await used(opened, secret);
  const ofPart = { name: "part", password: PASSWORD, scopes: ["admin:accounts"] };
  await call(AccountsService.create, ofPart, admin);
  const part = await used(opened, await opened.login("part"));
  const cases: [what: string, token: string, takeAway: () => Promise<unknown>, code: Code][] = [
    ["key", secret, () => call(KeysService.revoke, { prefix: key?.prefix ?? "" }, admin), Code.UNAUTHENTICATED],
    [
      "scope",
      second,
      () => call(AccountsService.setScopes, { name: "second", scopes: [] }, admin),
      Code.PERMISSION_DENIED,
    ],
    [
      "part",
      part,
      () => call(AccountsService.setScopes, { name: "part", scopes: ["admin:keys"] }, admin),
      Code.PERMISSION_DENIED,
    ],
  ];
  for (const [what, token, takeAway, code] of cases) {
    const create = () => call(AccountsService.create, { ...bob, scopes: [], name: `by-${what}` }, token);
    t.same(await outcome(opened, [create], takeAway), [code], what);
  }
});

t.test("a call in a namespace that is being deleted leaves nothing at the guards", async (t) => {
  const opened = await open(t);
  const { call, login, channel } = opened;
  const admin = await used(opened, await login());
  const { adminPassword } = await call(NamespacesService.create, { name: "other" }, admin);
  const other = await used(opened, await login("admin", adminPassword, "other"));
  const watch = new Watch(t, channel);
  watch.start();
  await watch.next("snapshot");
  const rule = {
    id: "ghost",
    scope: "<public>",
    access: Access.GRANTED,
    resource: "*:*:*",
    priority: 0,
    disabled: false,
  };
  const [deleted, ...created] = await Promise.allSettled([
    call(NamespacesService.delete, { name: "other" }, admin),
    call(RulesService.create, { rule }, other),
    call(AccountsService.setScopes, { name: "admin", scopes: ["admin", "ghost"] }, other),
  ]);
  t.equal(deleted.status, "fulfilled");
  for (const one of created) t.match(one, { status: "rejected", reason: { code: Code.UNAUTHENTICATED } });
  await call(NamespacesService.create, { name: "other" }, admin);
  const heard: unknown[] = [];
  while (heard.length < 2) heard.push(...(await watch.next("changes")).changes);
  t.match(heard, [
    { change: { $case: "namespaceDeleted", value: { namespace: "other" } } },
    { change: { $case: "accountChanged", value: { namespace: "other", account: "admin" } } },
  ]);
});

const LOGINS: Record<string, NonNullable<Event["event"]>> = {
  "account is deleted": { $case: "accountDeleted", value: { namespace: "default", name: "bob" } },
  "account is disabled": { $case: "accountDeleted", value: { namespace: "default", name: "bob", disabled: true } },
  "password is changed": { $case: "passwordSet", value: { namespace: "default", name: "bob", password: HASH } },
};

for (const [what, taken] of Object.entries(LOGINS)) {
  t.test(`a login, and a sign-in on the pages, whose ${what} meanwhile return no token`, async (t) => {
    const store = openMemoryStore();
    const opened = await openWithSlow(t, store);
    const { call } = opened;
    const admin = await used(opened, await opened.login());
    await call(AccountsService.create, bob, admin);
    const another = await openJournal(store);
    const login = () => call(AuthService.login, { account: "bob", password: PASSWORD, namespace: "" });
    const { spki: publicKey } = await browserKey();
    const asked = { account: "bob", password: PASSWORD, namespace: "", publicKey, address: "192.0.2.1", requestId: "" };
    const start = () => call(SessionsService.start, asked, undefined, { admission: SYSTEM });
    const takeAway = async () => {
      // This reads the log after the login has read it, so the login has seen the account before
      // the change.
      await call(AccountsService.list, { pageSize: 0, pageToken: "" }, admin);
      await another.commit(PORTICO, () => [taken]);
    };
    t.same(await outcome(opened, [login, start], takeAway), [Code.UNAUTHENTICATED, Code.UNAUTHENTICATED]);
    const page = await new ChangeLog({ store, log: silent }).read(0);
    const logins = page?.entries
      .flatMap(({ entry }) => entry.events)
      .filter(({ event }) => event?.$case === "loggedIn" || event?.$case === "pageSessionStarted");
    t.match(logins, [{ event: { value: { account: "admin" } } }], "nothing of it is in the log");
  });
}
