/** services/auth/endpoints/accounts.ts: accounts without a password, for programs. */
import t from "tap";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { temporaryFolder } from "../../support/temporary.js";
import { isGood, open, PASSWORD } from "./open.js";

const robot = { name: "robot", password: "", scopes: [], withoutPassword: true };
const WRONG = { code: Code.UNAUTHENTICATED, message: "Wrong account or password" };

t.test("an account without a password calls with keys, and cannot log in until one is set", async (t) => {
  const folder = temporaryFolder(t);
  const before = await open(t, { folder });
  const created = await before.call(AccountsService.create, robot, await before.login());
  t.match(created, { name: "robot", scopes: [], withoutPassword: true });
  const request = { name: "ci", lifetime: undefined, resources: [], from: [], account: "robot" };
  const { secret } = await before.call(KeysService.create, request, await before.login());
  await before.close();

  const opened = await open(t, { folder });
  const { call, login } = opened;
  const token = await login();
  const { accounts } = await call(AccountsService.list, { pageSize: 0, pageToken: "" }, token);
  t.same(
    accounts.map(({ name, withoutPassword }) => [name, withoutPassword]),
    [
      ["admin", false],
      ["robot", true],
    ],
  );
  t.ok(await isGood(opened, secret));
  for (const password of ["", PASSWORD]) await t.rejects(login("robot", password), WRONG);
  const set = (currentPassword: string) =>
    call(AccountsService.setPassword, { name: "", currentPassword, newPassword: PASSWORD }, secret);
  for (const current of ["", PASSWORD]) {
    await t.rejects(set(current), { code: Code.PERMISSION_DENIED, message: "current_password: is wrong" });
  }
  await call(AccountsService.setPassword, { name: "robot", currentPassword: "", newPassword: PASSWORD }, token);
  t.ok(await login("robot", PASSWORD));
  t.match((await call(AccountsService.list, { pageSize: 0, pageToken: "" }, token)).accounts[1], {
    withoutPassword: false,
  });
});

t.test("an account is created with a password, unless the request says that it has none", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  const refused: [fields: Partial<typeof robot>, message: RegExp][] = [
    [{ withoutPassword: false }, /^password: must have 12 to 128 characters$/],
    [{ password: PASSWORD }, /^password: must be empty for an account without a password$/],
  ];
  for (const [fields, message] of refused) {
    await t.rejects(call(AccountsService.create, { ...robot, ...fields }, token), {
      code: Code.INVALID_ARGUMENT,
      message,
    });
  }
});

t.test("the last administrator who can log in cannot be deleted or lose the scope admin", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  await call(AccountsService.create, { ...robot, scopes: ["admin"] }, token);
  const last = { code: Code.FAILED_PRECONDITION, message: /^admin is the last account with the scope admin/ };
  await t.rejects(call(AccountsService.delete, { name: "admin" }, token), last);
  await t.rejects(call(AccountsService.setScopes, { name: "admin", scopes: [] }, token), last);
  await call(AccountsService.delete, { name: "robot" }, token);
});

t.test("a login to an account without a password takes as long as one with a wrong password", async (t) => {
  // With the real cost.
  const { call, login } = await open(t, { fresh: true, adminPassword: PASSWORD, passwordCost: undefined });
  await call(AccountsService.create, robot, await login());
  const time = async (account: string) => {
    const before = process.cpuUsage();
    await t.rejects(call(AuthService.login, { account, password: "wrong", namespace: "" }), WRONG);
    return process.cpuUsage(before).user;
  };
  await time("warm up");
  const [known, robots] = [await time("admin"), await time("robot")];
  t.ok(robots > known / 2 && robots < known * 2, `with a password ${known} µs of processor, without one ${robots} µs`);
});
