/** Hashing passwords is expensive, so the number of parallel hashes is limited. */
import t from "tap";
import { SYSTEM } from "../../../src/access/guard.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { type Open, open, PASSWORD } from "./open.js";

const admin = { account: "admin", password: PASSWORD, namespace: "" };

/** Sends a login from each of the addresses; returns how many passed and were refused. */
async function flood({ call }: Open, addresses: string[]): Promise<{ passed: number; refused: number }> {
  const logins = Array.from({ length: 60 }, (_, index) =>
    // The client's address is accepted from SYSTEM.
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
  t.ok(await opened.call(AuthService.login, admin), "afterwards a login passes again");
});

t.test("only 4 logins of one client wait", async (t) => {
  const opened = await open(t);
  t.same(await flood(opened, ["192.0.2.1"]), { passed: 6, refused: 54 });
  t.same(await flood(opened, ["2001:db8::1", "2001:db8::2"]), { passed: 6, refused: 54 }, "a network of IPv6 is one");
});

t.test("another client can log in, and an administrator can set passwords", async (t) => {
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
  // Unknown accounts cost as much as known ones.
  const logins = Array.from({ length: 8 }, () => call(AuthService.login, { ...admin, account: "nobody" }));
  const flooded = Promise.allSettled(logins).then(() => "flood");
  const change = call(RulesService.delete, { id: "default" }, token).then(() => "change");
  t.equal(await Promise.race([flooded, change]), "change");
  await flooded;
});
