import t from "tap";
import { Code } from "../../../src/errors.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { isGood, open, PASSWORD } from "./open.js";

const HOUR = 60 * 60_000;
const admin = { account: "admin", password: PASSWORD, namespace: "" };

t.test("tokens expire at the exact millisecond of the authority's clock", async (t) => {
  let now = Date.now();
  const opened = await open(t, { clock: () => now });
  const { call } = opened;
  const { accessToken, refreshToken } = await call(AuthService.login, admin);
  now += HOUR - 1;
  t.ok(await isGood(opened, accessToken));
  t.notOk(await isGood(opened, refreshToken), "a refresh token is never good for calls");
  now += 1;
  t.notOk(await isGood(opened, accessToken));
  now += 30 * 24 * HOUR - HOUR;
  await t.rejects(call(AuthService.refresh, { refreshToken }), { code: Code.UNAUTHENTICATED });
});

t.test("logout revokes the tokens of the login", async (t) => {
  const opened = await open(t);
  const { call } = opened;
  const { accessToken, refreshToken } = await call(AuthService.login, admin);
  const other = await call(AuthService.login, admin);
  await call(AuthService.logout, { everywhere: false }, accessToken);
  t.notOk(await isGood(opened, accessToken));
  await t.rejects(call(AuthService.refresh, { refreshToken }), { code: Code.UNAUTHENTICATED });
  await t.rejects(call(AuthService.whoAmI, {}, accessToken), { code: Code.UNAUTHENTICATED });
  t.ok(await isGood(opened, other.accessToken));
});
