// Two authorities renew grants of one person at the same moment, by the same refresh token of the
// person's issuer (services/auth/people/issuer-sign-in.ts). The issuer takes it once. Its refusal
// of the second use ends nothing, because the first one has got another.
import t from "tap";
import { PORTICO } from "../../services/auth/log/changelog/journal.js";
import { tokensOfOne } from "../access/tokens-of-one.js";
import { isGood, open, openJournal } from "../services/auth/open.js";
import { deferred } from "../support/deferred.js";
import { openMemoryStore } from "../support/memory-store.js";
import { consentBy, exchange } from "./at-the-authority.js";
import { openIssuer, type TestIssuer } from "./issuer.js";

/** The issuer replaces its refresh token at each use, and responds to the first use last. */
function holdFirst(issuer: TestIssuer): { asked: Promise<void>; release: () => void } {
  const [asked, released] = [deferred<void>(), deferred<void>()];
  const { url } = issuer;
  let uses = 0;
  issuer.respond = async (path, response) => {
    const reply = (status: number, value: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (path === "/keys") return reply(200, { keys: [] });
    if (path !== "/token") return reply(200, { issuer: url, jwks_uri: `${url}/keys`, token_endpoint: `${url}/token` });
    uses++;
    if (uses > 1) return reply(200, { token_type: "Bearer", access_token: "a", refresh_token: `R${uses}` });
    asked.resolve();
    await released.promise;
    reply(400, { error: "invalid_grant" });
  };
  return { asked: asked.promise, release: () => released.resolve() };
}

t.test("a refusal of a refresh token that another authority has replaced ends no grant", async (t) => {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  t.teardown(() => store.close());
  const [at, other] = [await open(t, { store }), await open(t, { store })];
  const issuer = await openIssuer(t);
  const one = await tokensOfOne({ at, admin: await at.login(), issuer }, "one");
  const code = await consentBy(at, { issuer, name: "one", subject: "one", audience: "portico" }, "one");
  const second = await exchange(at, { $case: "code", value: code }, "one");
  const journal = await openJournal(store);
  const value = { namespace: "default", issuer: "one", subject: "one", scopes: [], refreshToken: "R1" };
  await journal.commit(PORTICO, () => [{ $case: "personRead", value }]);
  await journal.close();
  const { asked, release } = holdFirst(issuer);

  const late = exchange(other, { $case: "refreshToken", value: second.refreshToken }, "one");
  await asked;
  const first = await exchange(at, { $case: "refreshToken", value: one.issuerGrant.refreshToken }, "one");
  t.equal(first.error, "");
  release();
  const last = await late;
  t.equal(last.error, "");
  for (const { accessToken } of [first, last]) for (const one of [at, other]) t.ok(await isGood(one, accessToken));
});
