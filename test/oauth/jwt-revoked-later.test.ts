// A JWT may be valid for longer than the access token that it was exchanged for. Its `jti` can be
// revoked for as long as the JWT counts (services/auth/log/state/trust-table.ts).
import t from "tap";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { IssuersService } from "../../src/gen/portico/auth/v1/issuers.js";
import { TrustsService } from "../../src/gen/portico/auth/v1/trusts.js";
import { isGood, open } from "../services/auth/open.js";
import { exchangeJwt } from "./at-the-authority.js";
import { openIssuer } from "./issuer.js";

const AUDIENCE = "https://api.example";
const HOUR = 3_600_000;

t.test("a JWT is revoked after the token for it has expired, and is not exchanged again", async (t) => {
  let now = Date.now();
  const at = await open(t, { clock: () => now });
  const issuer = await openIssuer(t);
  const admin = await at.login();
  await at.call(AccountsService.create, { name: "ci", password: "", scopes: [], withoutPassword: true }, admin);
  const people = { signIn: undefined, clientSecret: "" };
  await at.call(IssuersService.create, { name: "platform", url: issuer.url, ...people }, admin);
  const trust = { name: "ci", issuer: "platform", account: "ci", audience: AUDIENCE, subject: "ci", bearer: false };
  await at.call(TrustsService.create, trust, admin);
  const exp = Math.floor((now + 10 * HOUR) / 1000);
  const jwt = await issuer.sign({ sub: "ci", aud: AUDIENCE, jti: "run-1", exp });
  const { accessToken } = await exchangeJwt(at, jwt);
  t.ok(await isGood(at, accessToken));

  now += 2 * HOUR;
  const later = await at.login();
  t.notOk(await isGood(at, accessToken), "it lives for an hour");
  t.same(await at.call(TrustsService.revokeToken, { jti: "run-1" }, later), { tokens: 1 });
  t.match(await exchangeJwt(at, jwt), { error: "invalid_grant", description: /it was revoked/ });
  now += 9 * HOUR;
  await t.rejects(at.call(TrustsService.revokeToken, { jti: "run-1" }, await at.login()), /no JWT with this jti/);
});
