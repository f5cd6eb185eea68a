/** Hashing passwords is costly, so how much of it is done at once is bounded. */
import t from "tap";
import { SYSTEM } from "../../../src/access/guard.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { type Open, open, PASSWORD } from "./open.js";

const admin = { account: "admin", password: PASSWORD, namespace: "" };

/** How a flood of logins ends, each from the next of the addresses. */
async function flood({ call }: Open, addresses: string[]): Promise<{ passed: number; refused: number }> {
  const logins = Array.from({ length: 60 }, (_, index) =>
    // SYSTEM's word for the client's address is believed.
    call(AuthService.login, admin, undefined, {
      admission: SYSTEM,
      clientAddress: addresses[index % addresses.length]!,
    }),
  );
  const codes = (await Promise.allSettled(logins)).map((one) =>
    one.status === "rejected" ? one.reason.code : Code.OK,
  );
  const count = (code: Code) => codes.filter((one) => one === code).length;
  return { passed: count(Code.OK), refused: count(Code.RESOURCE_EXHAUSTED) };
}

t.test("two passwords are hashed at once and 32 wait; further logins are refused", async (t) => {
  const opened = await open(t);
  const addresses = Array.from({ length: 60 }, (_, index) => `192.0.2.${index}`);
  t.same(await flood(opened, addresses), { passed: 34, refused: 26 });
  t.ok(await opened.call(AuthService.login, admin), "afterwards there is room again");
});

t.test("of one client only 4 wait", async (t) => {
  const opened = await open(t);
  t.same(await flood(opened, ["192.0.2.1"]), { passed: 6, refused: 54 });
  t.same(await flood(opened, ["2001:db8::1", "2001:db8::2"]), { passed: 6, refused: 54 }, "a network of IPv6 is one");
});

t.test("so there is room for another client, and for an administrator who sets passwords", async (t) => {
  const opened = await open(t);
  const token = await opened.login();
  const flooded = flood(opened, ["192.0.2.1"]);
  const change = { name: "admin", currentPassword: "", newPassword: PASSWORD };
  await t.resolves(opened.call(AccountsService.setPassword, change, token));
  await flooded;
});

t.test("a change does not wait for the logins before it", async (t) => {
  const { call, login } = await open(t, { passwordCost: undefined });
  const token = await login();
  // Unknown accounts cost the full price.
  const logins = Array.from({ length: 8 }, () => call(AuthService.login, { ...admin, account: "nobody" }));
  const flooded = Promise.allSettled(logins).then(() => "flood");
  const change = call(RulesService.delete, { id: "default" }, token).then(() => "change");
  t.equal(await Promise.race([flooded, change]), "change");
  await flooded;
});
