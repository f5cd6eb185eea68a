import t from "tap";
import { Code } from "../../../src/errors.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { isGood, open, PASSWORD } from "./open.js";

const admin = { account: "admin", password: PASSWORD, namespace: "" };

t.test("a refresh token is valid once; using it twice revokes all tokens of its login", async (t) => {
  const opened = await open(t);
  const { call } = opened;
  const first = await call(AuthService.login, admin);
  const other = await call(AuthService.login, admin);
  const second = await call(AuthService.refresh, { refreshToken: first.refreshToken });
  t.match(second, { accessToken: /^pta_/, refreshToken: /^ptr_/, namespace: "default", account: "admin" });
  t.ok(await isGood(opened, first.accessToken), "the access token before lives on");
  await t.rejects(call(AuthService.refresh, { refreshToken: first.refreshToken }), {
    code: Code.UNAUTHENTICATED,
    message: /^refresh_token: was used before, so every token of its login is revoked/,
  });
  t.notOk(await isGood(opened, first.accessToken));
  t.notOk(await isGood(opened, second.accessToken));
  await t.rejects(call(AuthService.refresh, { refreshToken: second.refreshToken }), {
    code: Code.UNAUTHENTICATED,
    message: /^refresh_token: is unknown, expired or revoked/,
  });
  t.ok(await isGood(opened, other.accessToken), "other logins are not touched");
});

t.test("of many uses of a refresh token at once, one gets tokens, which are then revoked", async (t) => {
  const { call } = await open(t);
  const { refreshToken } = await call(AuthService.login, admin);
  const all = await Promise.allSettled(Array.from({ length: 8 }, () => call(AuthService.refresh, { refreshToken })));
  const won = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  t.equal(won.length, 1);
  await t.rejects(call(AuthService.refresh, { refreshToken: won[0]!.refreshToken }), { code: Code.UNAUTHENTICATED });
});

t.test("texts that are not refresh tokens are refused", async (t) => {
  const { call, login } = await open(t);
  for (const refreshToken of ["", "x", await login()]) {
    await t.rejects(call(AuthService.refresh, { refreshToken }), { code: Code.UNAUTHENTICATED });
  }
});
