// A disabled account: what ends, what comes back with --enabled, and what an earlier version makes
// of its events.
import t from "tap";
import type { LogEvent } from "../../../services/auth/log/changelog/decide.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { unseal } from "../../../services/auth/log/changelog/row.js";
import { fold } from "../../../services/auth/log/state/fold.js";
import { State } from "../../../services/auth/log/state/state.js";
import { hashToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { Entry } from "../../../src/gen/portico/auth/log/v1/log.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { type CreateKeyRequest, KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { PreviewRequest, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { collectionOf } from "../../../src/store/collection.js";
import { openStore } from "../../../src/store/open.js";
import { toTimestamp } from "../../../src/time.js";
import { disablingContract } from "../../contract/disabling.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { temporaryFolder } from "../../support/temporary.js";
import { isGood, open, openJournal, PASSWORD } from "./open.js";

const bob = { name: "bob", password: "bob's own password", scopes: ["staff"] };
const newKey = { name: "ci", lifetime: undefined, resources: [], from: [] };
const disable = { name: "bob", disabled: true };
const enable = { name: "bob", disabled: false };

t.test("disabling ends logins and keys; enabling brings back the keys alone", async (t) => {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const opened = await open(t, { store });
  const { call, login } = opened;
  const admin = await login();
  await call(AccountsService.create, bob, admin);
  const tokens = await call(AuthService.login, { account: "bob", password: bob.password, namespace: "" });
  const { secret, key } = await call(KeysService.create, newKey, tokens.accessToken);

  t.match(await call(AccountsService.setDisabled, disable, admin), { name: "bob", disabled: true, scopes: ["staff"] });
  t.notOk(await isGood(opened, tokens.accessToken));
  t.notOk(await isGood(opened, secret));
  await t.rejects(login("bob", bob.password), {
    code: Code.UNAUTHENTICATED,
    message: "The account bob is disabled; an administrator can enable it",
  });
  await t.rejects(login("bob", "a guess at it"), { message: "Wrong account or password" }, "and only to who knows it");
  const listed = await call(KeysService.list, { pageSize: 0, pageToken: "" }, admin);
  t.match(listed.keys, [{ prefix: key?.prefix, disabled: true }]);
  await t.rejects(call(KeysService.create, { ...newKey, account: "bob" }, admin), {
    code: Code.PERMISSION_DENIED,
  });
  t.match(await call(AccountsService.setDisabled, disable, admin), { disabled: true }, "again: nothing changes");

  t.match(await call(AccountsService.setDisabled, enable, admin), { disabled: false });
  t.ok(await isGood(opened, secret));
  t.notOk(await isGood(opened, tokens.accessToken), "a login that ended stays ended");
  await t.rejects(call(AuthService.refresh, { refreshToken: tokens.refreshToken }), { code: Code.UNAUTHENTICATED });
  t.ok(await login("bob", bob.password));
  const { records } = await call(AuditService.list, { ...EVERY_RECORD, actor: "admin", limit: 2 }, admin);
  t.match(records, [
    { action: "account enabled", subject: "bob" },
    { action: "account disabled", subject: "bob" },
  ]);
});

const EVERY_RECORD = { before: 0n, filter: "", actor: "", action: "", from: undefined, until: undefined };

t.test("in a SQLite file", async (t) => {
  disablingContract(
    t,
    async (t) => {
      const folder = temporaryFolder(t);
      return () => openStore("sqlite:", folder);
    },
    { count: 1 },
  );
});

t.test("in a store that several authorities share", async (t) => {
  disablingContract(
    t,
    async () => {
      const store = openMemoryStore({ mayBeStale: true });
      return async () => ({ ...store, close: async () => undefined });
    },
    { count: 2 },
  );
});

t.test("a disabled account stays disabled after another start", async (t) => {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const first = await open(t, { store });
  const admin = await first.login();
  await first.call(AccountsService.create, bob, admin);
  const { secret } = await first.call(KeysService.create, newKey, await first.login("bob", bob.password));
  await first.call(AccountsService.setDisabled, disable, admin);
  await first.close();
  const second = await open(t, { store });
  const again = await second.login();
  t.notOk(await isGood(second, secret));
  t.match((await second.call(AccountsService.list, { pageSize: 0, pageToken: "" }, again)).accounts, [
    { name: "admin", disabled: false },
    { name: "bob", disabled: true },
  ]);
  await second.call(AccountsService.setDisabled, enable, again);
  t.ok(await isGood(second, secret));
});

t.test("the last administrator that can log in is not disabled", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  const last = {
    code: Code.FAILED_PRECONDITION,
    message:
      "admin is the last account with the scope admin that can log in; give another one the scope and a password first",
  };
  const disableAdmin = { name: "admin", disabled: true };
  await t.rejects(call(AccountsService.setDisabled, disableAdmin, admin), last);
  await call(AccountsService.create, { ...bob, scopes: ["admin"] }, admin);
  await call(AccountsService.setDisabled, disable, admin);
  await t.rejects(call(AccountsService.setDisabled, disableAdmin, admin), last, "a disabled one does not count");
  await t.rejects(call(AccountsService.delete, { name: "admin" }, admin), last);
  await t.rejects(call(AccountsService.setScopes, { name: "admin", scopes: [] }, admin), last);
  await call(AccountsService.setDisabled, enable, admin);
  t.match(await call(AccountsService.setDisabled, disableAdmin, admin), { disabled: true }, "also one's own account");
  await t.rejects(call(AuthService.whoAmI, {}, admin), { code: Code.UNAUTHENTICATED }, "and its login has ended");
  const second = await login("bob", bob.password);
  await call(AccountsService.setDisabled, { name: "admin", disabled: false }, second);
  t.ok(await login());
});

t.test("explain and preview know disabled accounts", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  await call(AccountsService.create, bob, admin);
  const { key } = await call(KeysService.create, newKey, await login("bob", bob.password));
  await call(AccountsService.setDisabled, disable, admin);
  const resource = "service:helloworld:Helloworld.Call";
  const byLogin = await call(RulesService.explain, { account: "bob", key: "", resource }, admin);
  t.match(byLogin, { code: 401, decidedBy: undefined });
  t.match(byLogin.chain[0], { name: "token", detail: "bob is disabled: it has no token, and its keys are refused" });
  const byKey = await call(RulesService.explain, { account: "", key: key?.prefix ?? "", resource }, admin);
  t.match(byKey, { code: 401, decidedBy: undefined });
  t.match(byKey.chain[1], { name: "key", detail: `${key?.prefix} (ci) is refused, because bob is disabled` });
  const change = { $case: "delete", value: "default" } as const;
  const { effects } = await call(
    RulesService.preview,
    PreviewRequest.fromPartial({ change, resources: [resource] }),
    admin,
  );
  t.match(effects, [{ everyAccount: true }], "every account that is left loses it");
});

/** The state after events, as a version reads them. */
function stateAfter(events: readonly LogEvent[]): State {
  const state = new State();
  state.addNamespace({ name: "default", created: undefined, id: undefined });
  for (const event of events) {
    fold(state, { time: toTimestamp(0), actor: "admin", namespace: "default", events: [{ event }] });
  }
  return state;
}

const FAR = toTimestamp(8_000_000_000_000);
const stored = {
  ...{ sha256: hashToken("k"), prefix: "ptk_k", namespace: "default", account: "bob", name: "k" },
  ...{ created: undefined, expires: FAR, lastUsed: undefined, resources: [], lifetimeMs: 0n, from: [] },
};
const named = { namespace: "default", name: "bob" };
const created: LogEvent = { $case: "accountCreated", value: { ...named, scopes: ["staff"], password: undefined } };
const keyCreated: LogEvent = { $case: "keyCreated", value: { key: stored } };
const disabled: LogEvent = { $case: "accountDeleted", value: { ...named, disabled: true } };
const enabled: LogEvent = { $case: "accountEnabled", value: named };

t.test("a version that does not know disabled accounts deletes them", async (t) => {
  const here = stateAfter([created, keyCreated, disabled]);
  t.match(here.account("default", "bob"), { disabled: true });
  t.equal(here.callerOf(stored.sha256, 0), undefined);
  // The event as such a version reads it: without the field, and without the event that follows.
  const before = stateAfter([created, keyCreated, { $case: "accountDeleted", value: named }]);
  t.equal(before.account("default", "bob"), undefined);
  t.equal(before.callerOf(stored.sha256, 0), undefined);
  t.match(stateAfter([created, keyCreated, disabled, enabled]).callerOf(stored.sha256, 0), { account: "bob" });
});

t.test("a key that such a version would let do more has an event that it does not know", async (t) => {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const { call, login } = await open(t, { store });
  const admin = await login();
  await call(AccountsService.create, bob, admin);
  const cases: [key: Partial<CreateKeyRequest>, event: LogEvent["$case"]][] = [
    [{ account: "bob" }, "keyCreated"],
    [{ admin: true }, "keyCreated"],
    [{}, "restrictedKeyCreated"],
    [{ account: "bob", from: ["192.0.2.7"] }, "restrictedKeyCreated"],
    [{ admin: true, from: ["192.0.2.7"] }, "restrictedKeyCreated"],
  ];
  await call(AccountsService.setScopes, { name: "admin", scopes: ["admin", "staff"] }, admin);
  for (const [key, event] of cases) {
    await call(KeysService.create, { ...newKey, ...key }, admin);
    const [[row, text] = ["", ""]] = (await collectionOf(store, "log").after("", 1_000)).slice(-1);
    t.equal(Entry.decode(unseal(row, text)).events.at(-1)?.event?.$case, event, JSON.stringify(key));
  }
});

t.test("an account that such a version creates anew replaces the disabled one", async (t) => {
  const state = stateAfter([created, keyCreated, disabled, created]);
  t.match(state.account("default", "bob"), { disabled: undefined, keys: [] });
  t.equal(state.callerOf(stored.sha256, 0), undefined, "the old one's key stays refused");
  t.same(state.accounts("default").length, 1);
  t.same([...state.accountsFrom("default")].length, 1);
});

t.test("a login that another authority's entry overtakes is refused", async (t) => {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const { call, login } = await open(t, { store });
  await call(AccountsService.create, bob, await login());
  const other = await openJournal(store);
  await other.commit(PORTICO, () => [disabled]);
  await t.rejects(login("bob", bob.password), { code: Code.UNAUTHENTICATED, message: /^The account bob is disabled/ });
  t.ok(await login("admin", PASSWORD));
});
