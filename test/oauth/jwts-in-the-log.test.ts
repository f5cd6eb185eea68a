// JWTs of trusts in the log: what one of two authorities accepts counts at the other, what one ends
// is ended at both, and a restart keeps all of it.
import t from "tap";
import { SYSTEM } from "../../src/access/guard.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { IssuersService } from "../../src/gen/portico/auth/v1/issuers.js";
import { PolicyService } from "../../src/gen/portico/auth/v1/policy.js";
import { TrustsService } from "../../src/gen/portico/auth/v1/trusts.js";
import { isGood, type Open, open } from "../services/auth/open.js";
import { openMemoryStore } from "../support/memory-store.js";
import { temporaryFolder } from "../support/temporary.js";
import { openIssuer, type TestIssuer } from "./issuer.js";

const AUDIENCE = "https://api.example";
const SUBJECT = "repo:acme/shop";

async function trust({ call, login }: Open, { url }: TestIssuer): Promise<string> {
  const admin = await login();
  await call(AccountsService.create, { name: "robot", password: "", scopes: [], withoutPassword: true }, admin);
  await call(IssuersService.create, { name: "platform", url, signIn: undefined, clientSecret: "" }, admin);
  const names = { name: "deploy", issuer: "platform", account: "robot" };
  await call(TrustsService.create, { ...names, audience: AUDIENCE, subject: SUBJECT, bearer: true }, admin);
  return admin;
}

const jwtOf = (issuer: TestIssuer, jti: string): Promise<string> => issuer.sign({ sub: SUBJECT, aud: AUDIENCE, jti });

const accepts = async ({ call }: Open, jwt: string): Promise<boolean> =>
  (await call(PolicyService.acceptJwt, { jwt }, undefined, { admission: SYSTEM })).accepted;

t.test("of two authorities, what one accepts counts at the other, and what one ends has ended at both", async (t) => {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  const [one, other, issuer] = [await open(t, { store }), await open(t, { store }), await openIssuer(t)];
  const admin = await trust(one, issuer);
  const [revoked, kept] = [await jwtOf(issuer, "a"), await jwtOf(issuer, "b")];
  for (const jwt of [revoked, kept]) t.ok(await accepts(other, jwt));
  t.ok(await isGood(one, revoked));
  t.match(await one.call(TrustsService.revokeToken, { jti: "a" }, admin), { tokens: 1 });
  t.notOk(await isGood(other, revoked));
  t.notOk(await accepts(other, revoked), "it is not accepted again");
  t.ok(await isGood(other, kept));
  await one.call(TrustsService.delete, { name: "deploy" }, admin);
  for (const authority of [one, other]) t.notOk(await isGood(authority, kept));
});

t.test("a restart keeps what was accepted, and what was revoked", async (t) => {
  const [folder, issuer] = [temporaryFolder(t), await openIssuer(t)];
  const before = await open(t, { folder });
  const admin = await trust(before, issuer);
  const [revoked, kept] = [await jwtOf(issuer, "a"), await jwtOf(issuer, "b")];
  for (const jwt of [revoked, kept]) t.ok(await accepts(before, jwt));
  await before.call(TrustsService.revokeToken, { jti: "a" }, admin);
  await before.close();
  const after = await open(t, { folder });
  t.ok(await isGood(after, kept));
  t.notOk(await isGood(after, revoked));
  t.notOk(await accepts(after, revoked));
});
