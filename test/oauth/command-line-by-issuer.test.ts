// The command line renews its login at Auth.Refresh and not at the token endpoint. Where the person
// signed in by an issuer, the issuer is asked there too: for the groups, and whether it vouches.
import t, { type Test } from "tap";
import { PORTICO } from "../../services/auth/log/changelog/journal.js";
import { Code } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { AuthService, type Tokens } from "../../src/gen/portico/auth/v1/auth.js";
import { IssuersService } from "../../src/gen/portico/auth/v1/issuers.js";
import { callerOf, isGood, type Open, open, openJournal } from "../services/auth/open.js";
import { openMemoryStore } from "../support/memory-store.js";
import { consentBy, exchange } from "./at-the-authority.js";
import { openIssuer, type TestIssuer } from "./issuer.js";

const CLI = "portico-cli";
const SUBJECT = "ann1";
const OPERATOR = { group: "ops", scope: "operator" };
const ISSUER = { namespace: "default", issuer: "company", subject: SUBJECT };

interface SignedIn {
  readonly at: Open;
  readonly issuer: TestIssuer;
  readonly tokens: Pick<Tokens, "accessToken" | "refreshToken">;
}

/** Ann has signed in at the command line by the issuer, whose refresh token is kept. */
async function signedIn(t: Test): Promise<SignedIn> {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  t.teardown(() => store.close());
  const [at, issuer] = [await open(t, { store }), await openIssuer(t)];
  const admin = await at.login();
  const signIn = { clientId: "portico", accountClaim: "", groupsClaim: "", map: [OPERATOR] };
  const settings = { ...signIn, createAccounts: false, trustClaim: false, mayAdminister: false };
  await at.call(
    IssuersService.create,
    { name: "company", url: issuer.url, signIn: settings, clientSecret: "s" },
    admin,
  );
  await at.call(AccountsService.create, { name: "ann", password: "", scopes: [], withoutPassword: true }, admin);
  await at.call(AccountsService.link, { name: "ann", issuer: "company", subject: SUBJECT }, admin);
  const code = await consentBy(at, { issuer, name: "company", subject: SUBJECT, audience: "portico" }, CLI);
  const tokens = await exchange(at, { $case: "code", value: code }, CLI);
  const journal = await openJournal(store);
  const value = { ...ISSUER, scopes: ["operator"], refreshToken: "R1", notAsked: false };
  await journal.commit(PORTICO, () => [{ $case: "personRead", value }]);
  await journal.close();
  return { at, issuer, tokens };
}

function refresh({ at, tokens: { refreshToken } }: SignedIn): Promise<Tokens> {
  return at.call(AuthService.refresh, { refreshToken });
}

t.test("a person whom the issuer has removed gets no new tokens at the command line", async (t) => {
  const it = await signedIn(t);
  it.issuer.tokens = { status: 400, body: { error: "invalid_grant" } };
  await t.rejects(refresh(it), { code: Code.UNAUTHENTICATED });
  t.equal(it.issuer.forms.at(-1)?.get("refresh_token"), "R1");
  t.equal(await isGood(it.at, it.tokens.accessToken), false, "the grant has ended");
});

t.test("groups are read again when the command line renews its login", async (t) => {
  const it = await signedIn(t);
  t.match(await callerOf(it.at, it.tokens.accessToken), { scopes: ["operator", `agent:${CLI}`] });
  it.issuer.tokens = { status: 200, body: { token_type: "Bearer", access_token: "a", refresh_token: "R2" } };
  const { accessToken } = await refresh(it);
  t.same((await callerOf(it.at, accessToken))?.scopes, [`agent:${CLI}`]);
});

t.test("an issuer that does not respond is asked again later, and the login goes on", async (t) => {
  const it = await signedIn(t);
  it.issuer.tokens = { status: 500, body: {} };
  await t.rejects(refresh(it), { code: Code.UNAVAILABLE });
  it.issuer.tokens = { status: 200, body: { token_type: "Bearer", access_token: "a" } };
  t.ok(await isGood(it.at, (await refresh(it)).accessToken));
});
