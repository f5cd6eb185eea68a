import t from "tap";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { HASH, isGood, open, openJournal, PASSWORD } from "./open.js";

const bob = { name: "bob", password: "bob's own password", scopes: ["staff"] };

t.test("an account is created, listed and logs in", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  const created = await call(AccountsService.create, { ...bob, scopes: ["staff", "staff"] }, token);
  t.match(created, { name: "bob", scopes: ["staff"] });
  t.match((await call(AccountsService.list, { pageSize: 0, pageToken: "" }, token)).accounts, [
    { name: "admin", scopes: ["admin"] },
    created,
  ]);
  t.match(await call(AuthService.whoAmI, {}, await login("bob", bob.password)), { account: "bob", scopes: ["staff"] });
});

t.test("refuses invalid account names, passwords and scopes", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  const refused: [fields: Partial<typeof bob>, code: Code, message: RegExp][] = [
    [{ name: "admin" }, Code.ALREADY_EXISTS, /^an account with the name admin exists already$/],
    [{ name: "" }, Code.INVALID_ARGUMENT, /^name: /],
    [{ name: "-bob" }, Code.INVALID_ARGUMENT, /^name: /],
    [{ name: "bob ross" }, Code.INVALID_ARGUMENT, /^name: /],
    [{ name: "b".repeat(129) }, Code.INVALID_ARGUMENT, /^name: /],
    [{ password: "eleven char" }, Code.INVALID_ARGUMENT, /^password: must have 12 to 128 characters$/],
    [{ password: "🔑".repeat(11) }, Code.INVALID_ARGUMENT, /^password: /],
    [{ password: "x".repeat(129) }, Code.INVALID_ARGUMENT, /^password: /],
    [{ scopes: ["ok", "*"] }, Code.INVALID_ARGUMENT, /^scopes\[1\]: /],
    [{ scopes: Array(101).fill("x") }, Code.INVALID_ARGUMENT, /^scopes: must be at most 100$/],
  ];
  for (const [fields, code, message] of refused) {
    await t.rejects(call(AccountsService.create, { ...bob, ...fields }, token), { code, message });
  }
});

t.test("deleting an account revokes its tokens and keys", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const token = await login();
  await call(AccountsService.create, bob, token);
  const access = await login("bob", bob.password);
  const { secret } = await call(
    KeysService.create,
    { name: "ci", lifetime: undefined, resources: [], from: [] },
    access,
  );
  await call(AccountsService.delete, { name: "bob" }, token);
  t.notOk(await isGood(opened, access));
  t.notOk(await isGood(opened, secret));
  await t.rejects(login("bob", bob.password), { code: Code.UNAUTHENTICATED });
  await t.rejects(call(AccountsService.delete, { name: "bob" }, token), {
    code: Code.NOT_FOUND,
    message: "no account with the name bob",
  });
});

t.test("the last administrator cannot be deleted, and keeps the scope admin", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  const last = { code: Code.FAILED_PRECONDITION, message: /^admin is the last account with the scope admin/ };
  await call(AccountsService.create, bob, token);
  await t.rejects(call(AccountsService.delete, { name: "admin" }, token), last);
  await t.rejects(call(AccountsService.setScopes, { name: "admin", scopes: ["staff"] }, token), last);
  t.match(await call(AccountsService.setScopes, { name: "bob", scopes: ["admin"] }, token), { scopes: ["admin"] });
  const second = await login("bob", bob.password);
  await call(AccountsService.setScopes, { name: "admin", scopes: [] }, second);
  await t.rejects(
    call(AccountsService.list, { pageSize: 0, pageToken: "" }, token),
    { code: Code.PERMISSION_DENIED },
    "scopes hold at once",
  );
  await call(AccountsService.delete, { name: "admin" }, second);
});

t.test("scopes are set only if the account has the expected scopes, in any order", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  await call(AccountsService.create, { ...bob, scopes: ["billing", "staff"] }, token);
  const set = (scopes: string[], ...expected: string[]) =>
    call(AccountsService.setScopes, { name: "bob", scopes, expected: { scopes: expected } }, token);
  const refusal = (message: string) => ({ code: Code.ABORTED, message: `${message} by now. Nothing was set` });
  const held = refusal("bob holds billing, staff");
  for (const expected of [[], ["billing"], ["billing", "staff", "more"], ["billing", "billing"]]) {
    await t.rejects(set(["admin"], ...expected), held, `${expected}`);
  }
  t.match(await set([], "staff", "billing", "staff"), { scopes: [] });
  await t.rejects(set(["admin"], "staff"), refusal("bob holds no scope"));
  t.match(await set(["staff"]), { scopes: ["staff"] });
});

t.test("if two administrators delete each other at the same time, one remains", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  await call(AccountsService.create, { ...bob, scopes: ["admin"] }, admin);
  const second = await login("bob", bob.password);
  const all = await Promise.allSettled([
    call(AccountsService.delete, { name: "bob" }, admin),
    call(AccountsService.delete, { name: "admin" }, second),
  ]);
  t.equal(all.filter(({ status }) => status === "fulfilled").length, 1);
});

t.test("a new password revokes tokens, but not keys", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const token = await login();
  await call(AccountsService.create, bob, token);
  const { accessToken, refreshToken } = await call(AuthService.login, {
    account: "bob",
    password: bob.password,
    namespace: "",
  });
  const { secret } = await call(
    KeysService.create,
    { name: "ci", lifetime: undefined, resources: [], from: [] },
    accessToken,
  );
  const set = (name: string, currentPassword: string, newPassword: string, token: string) =>
    call(AccountsService.setPassword, { name, currentPassword, newPassword }, token);
  await t.rejects(set("", "wrong", PASSWORD, accessToken), {
    code: Code.PERMISSION_DENIED,
    message: "current_password: is wrong",
  });
  await t.rejects(set("admin", bob.password, PASSWORD, accessToken), {
    code: Code.PERMISSION_DENIED,
    message: /^name: only an administrator/,
  });
  await t.rejects(set("", bob.password, "short", accessToken), { message: /^new_password: must have 12/ });
  await set("", bob.password, "another password", accessToken);
  t.notOk(await isGood(opened, accessToken));
  await t.rejects(call(AuthService.refresh, { refreshToken }), { code: Code.UNAUTHENTICATED });
  t.ok(await isGood(opened, secret));
  await t.rejects(login("bob", bob.password), { code: Code.UNAUTHENTICATED });
  await set("bob", "", "set by the admin", token);
  t.ok(await login("bob", "set by the admin"));
});

t.test("an administrator may leave the current password out, and not give a wrong one", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  const set = (currentPassword: string) =>
    call(AccountsService.setPassword, { name: "", currentPassword, newPassword: "another password" }, token);
  await t.rejects(set("wrong"), { code: Code.PERMISSION_DENIED, message: "current_password: is wrong" });
  t.ok(await login("admin", PASSWORD), "the password is as it was");
  await set("");
  await call(
    AccountsService.setPassword,
    { name: "", currentPassword: "another password", newPassword: PASSWORD },
    await login("admin", "another password"),
  );
});

t.test("a namespace has at most 10,000 accounts", async (t) => {
  const store = openMemoryStore();
  const { call, login } = await open(t, { store });
  const token = await login();
  const another = await openJournal(store);
  const names = Array.from({ length: 9_998 }, (_, index) => `account-${index}`);
  await another.commit(PORTICO, () =>
    names.map((name) => ({
      $case: "accountCreated",
      value: { namespace: "default", name, scopes: [], password: HASH },
    })),
  );
  await call(AccountsService.create, bob, token);
  await t.rejects(call(AccountsService.create, { ...bob, name: "ann" }, token), {
    code: Code.FAILED_PRECONDITION,
    message: "the namespace has 10000 accounts, the most it may",
  });
});
