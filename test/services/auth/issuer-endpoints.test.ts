// Which servers the authority asks for an issuer. An issuer elsewhere chooses the addresses in its
// document: none may lead to the servers of this machine.
import t, { type Test } from "tap";
import { IssuerKeys } from "../../../services/auth/jwt/issuer-keys.js";
import { identify } from "../../../services/auth/people/openid.js";

const ISSUER = "https://issuer.example";
const SIGN_IN = { clientId: "portico", accountClaim: "email", groupsClaim: "groups", map: [] };
const COMPANY = {
  ...{ namespace: "default", name: "company", url: ISSUER, created: undefined, clientSecret: "s" },
  signIn: { ...SIGN_IN, createAccounts: false, trustClaim: false, mayAdminister: false },
};
const SECRETS = { state: "s", nonce: "n", verifier: "v" };

/** Every server on the network is this one. Returns what it was asked. */
function respond(t: Test, metadata: Record<string, string>): string[] {
  const { fetch } = globalThis;
  t.teardown(() => Object.assign(globalThis, { fetch }));
  const asked: string[] = [];
  const own = { issuer: ISSUER, jwks_uri: `${ISSUER}/keys`, token_endpoint: `${ISSUER}/token` };
  globalThis.fetch = async (url) => {
    asked.push(`${url}`);
    const isDocument = `${url}`.endsWith("/openid-configuration");
    return Response.json(isDocument ? { ...own, ...metadata } : { keys: [] });
  };
  return asked;
}

const DOCUMENT = `${ISSUER}/.well-known/openid-configuration`;

for (const inside of [
  "http://127.0.0.1:8082/keys",
  "http://localhost/keys",
  "http://[::1]:1/",
  "http://10.0.0.1/",
  "x",
]) {
  t.test(`keys of an https issuer are not read at ${inside}`, async (t) => {
    const asked = respond(t, { jwks_uri: inside });
    await t.rejects(new IssuerKeys().metadata(ISSUER), /its document has no jwks_uri at https/);
    t.same(asked, [DOCUMENT]);
  });

  t.test(`no code goes to ${inside}`, async (t) => {
    const asked = respond(t, { token_endpoint: inside });
    const options = { keys: new IssuerKeys(), now: Date.now() };
    const back = { code: "c", redirectUri: "https://portico.test/oauth/callback/company", secrets: SECRETS };
    await t.rejects(identify(COMPANY, back, options), /its document has no token_endpoint at https/);
    t.same(asked, [DOCUMENT, `${ISSUER}/keys`]);
  });
}
