/** Hashing passwords is costly, so how much of it is done at once is bounded. */
import t from "tap";
import { Code } from "../../src/errors.js";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import { RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { open, PASSWORD } from "./open.js";

const admin = { account: "admin", password: PASSWORD, namespace: "" };

t.test("two passwords are hashed at once and 32 wait; further logins are refused", async (t) => {
  const { call } = await open(t);
  const flood = Array.from({ length: 60 }, () => call(AuthService.login, admin));
  const codes = (await Promise.allSettled(flood)).map((one) => (one.status === "rejected" ? one.reason.code : Code.OK));
  t.equal(codes.filter((code) => code === Code.OK).length, 34);
  t.equal(codes.filter((code) => code === Code.RESOURCE_EXHAUSTED).length, 26);
  t.ok(await call(AuthService.login, admin), "afterwards there is room again");
});

t.test("a change does not wait for the logins before it", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  // Unknown accounts cost the full price.
  const logins = Array.from({ length: 8 }, () => call(AuthService.login, { ...admin, account: "nobody" }));
  const flood = Promise.allSettled(logins).then(() => "flood");
  const change = call(RulesService.delete, { id: "default" }, token).then(() => "change");
  t.equal(await Promise.race([flood, change]), "change");
  await flood;
});
