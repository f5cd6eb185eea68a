/**
 * A too long password costs no more than a wrong one, although normalizing takes quadratic time.
 */
import t from "tap";
import { isPassword, Passwords } from "../../../services/auth/login/passwords.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { open, PASSWORD } from "./open.js";

/** Normalization must sort its combining marks, which takes about ten seconds. */
const LONG = marked(100_000);
/** The longest that fits into a request. */
const SENT = marked(3_900);

function marked(marks: number): string {
  return `a${"\u0301\u0323".repeat(marks)}`;
}

/** Processor time of an unauthenticated login, in microseconds. */
async function cost(act: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await act();
  return process.cpuUsage(before).user;
}

t.test("a login with a password that is too long takes as much work as any", async (t) => {
  const { call } = await open(t, { passwordCost: undefined }); // With the real cost.
  const login = (password: string) => () =>
    t.rejects(call(AuthService.login, { account: "nobody", password, namespace: "" }), { code: Code.UNAUTHENTICATED });
  await login("warm up")();
  const [wrong, long] = [await cost(login("wrong")), await cost(login(SENT))];
  t.ok(long > wrong / 2 && long < wrong * 3, `wrong ${wrong} µs, long ${long} µs`);
});

t.test("an account cannot have a password that is too long", async (t) => {
  const passwords = new Passwords();
  t.notOk(isPassword(LONG));
  await t.rejects(passwords.hash(LONG), RangeError);
  t.notOk(await passwords.verify(LONG, await passwords.hash("")), "not even who has the password it is replaced by");
});

t.test("refuses a current password that is too long", async (t) => {
  const { call, login } = await open(t);
  await call(AccountsService.create, { name: "bob", password: PASSWORD, scopes: [] }, await login());
  const token = await login("bob");
  const change = { name: "", currentPassword: SENT, newPassword: PASSWORD };
  await t.rejects(call(AccountsService.setPassword, change, token), { message: "current_password: is wrong" });
  await t.rejects(call(AccountsService.setPassword, { ...change, newPassword: SENT }, token), {
    message: /^new_password: /,
  });
});
