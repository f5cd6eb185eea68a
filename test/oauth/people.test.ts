// People sign in by their company's issuer, which is oidc-provider here, and each is one account.
import t, { type Test } from "tap";
import { FETCH_INTERVAL } from "../../services/auth/jwt/issuer-keys.js";
import type { DeployOptions } from "../gateway/deployment.js";
import { type Door, openDoor } from "./browser.js";
import { allow, Browser, goToIssuer, PUBLIC, reasonOn, refresh, registerApp, signInAs, signInThere } from "./people.js";
import { CLIENT, type OpenProvider, openProvider } from "./provider.js";

const ANN = { email: "ann@acme.example", email_verified: true, groups: ["staff"] };
const MAP = [
  { group: "staff", scope: "employee" },
  { group: "ops", scope: "operator" },
];

interface Company {
  readonly door: Door;
  readonly provider: OpenProvider;
}

async function company(t: Test, signIn: Record<string, unknown> = {}, options: DeployOptions = {}): Promise<Company> {
  const door = await openDoor(t, { flags: { publicUrl: PUBLIC }, ...options });
  const provider = await openProvider(t, `${PUBLIC}/oauth/callback/company`);
  await createIssuer({ door, provider }, { createAccounts: true, ...signIn });
  await registerApp(door);
  provider.people.ann1 = ANN;
  return { door, provider };
}

function createIssuer({ door, provider }: Company, signIn: Record<string, unknown>) {
  const { clientId, clientSecret } = CLIENT;
  const request = { name: "company", url: provider.url, signIn: { clientId, map: MAP, ...signIn }, clientSecret };
  return door.auth("Issuers/Create", request);
}

async function accountOf(door: Door, token: string): Promise<unknown> {
  const { account, scopes } = await door.auth<{ account: string; scopes: string[] }>("WhoAmI", {}, token);
  return { account, scopes };
}

async function scopesOf({ door }: Company, name: string): Promise<string[] | undefined> {
  const { accounts } = await door.auth<{ accounts: { name: string; scopes: string[] }[] }>("Accounts/List");
  return accounts.find((account) => account.name === name)?.scopes;
}

t.test("a person signs in, gets an account, and comes back as the same one", async (t) => {
  const { door, provider } = await company(t);
  const page = await signInAs(new Browser(door), "ann1");
  t.equal(page.status, 200, page.text);
  t.match(page.text, /You are signed in as <strong>ann@acme.example<\/strong>/);
  t.match(page.text, /Until 60 minutes from now/, "the issuer gives no refresh token");
  const { records } = await door.auth<{ records: { actor: string; action: string }[] }>("Audit/List");
  const created = records.find(({ action }) => action === "account created");
  t.equal(created?.actor, "issuer:company", "the actor has the name of no account");
  const browser = new Browser(door);
  const tokens = await allow(door, browser, await signInAs(browser, "ann1"));
  t.same(await accountOf(door, tokens.access_token), {
    account: "ann@acme.example",
    scopes: ["employee", "agent:app"],
  });
  const { grants } = await door.auth<{ grants: { created: string; expires: string }[] }>("Grants/List");
  const life = Date.parse(grants[0]!.expires) - Date.parse(grants[0]!.created);
  t.ok(life > 3_500_000 && life <= 3_600_000, "the sign-in lasts an hour");
  provider.people.ann1 = { ...ANN, email: "ann.smith@acme.example" };
  t.match(
    (await signInAs(new Browser(door), "ann1")).text,
    /<strong>ann@acme.example<\/strong>/,
    "by sub, not by name",
  );
  t.match(await signInAs(browser, "ann1"), { status: 200 }, "also in a browser that the issuer knows");
});

t.test("keys of the issuer roll: new ones are fetched, once in twelve seconds", async (t) => {
  let passed = 0;
  const clocks = { wall: () => Date.now() + passed, elapsed: () => performance.now() + passed };
  const { door, provider } = await company(t, {}, { clocks });
  t.equal((await signInAs(new Browser(door), "ann1")).status, 200);
  passed += FETCH_INTERVAL;
  await provider.rollKeys("second");
  t.equal((await signInAs(new Browser(door), "ann1")).status, 200, "fetched at once");
  await provider.rollKeys("third");
  t.match(reasonOn(await signInAs(new Browser(door), "ann1")), /400 .*its issuer has no such key/, "not yet again");
  passed += FETCH_INTERVAL;
  t.equal((await signInAs(new Browser(door), "ann1")).status, 200);
});

/** What the issuer says, how it may be used, and what the person reads. */
const REFUSED: readonly {
  readonly what: string;
  readonly says?: Record<string, unknown>;
  readonly signIn?: Record<string, unknown>;
  readonly before?: (door: Door) => Promise<unknown>;
  readonly reads: RegExp;
}[] = [
  { what: "an unverified address", says: { ...ANN, email_verified: false }, reads: /has not verified your e-mail/ },
  { what: "an address verified in words", says: { ...ANN, email_verified: "true" }, reads: /has not verified/ },
  { what: "an address without a word", says: { email: ANN.email }, reads: /has not verified/ },
  { what: "no address", says: { email_verified: true }, reads: /says nothing about your email/ },
  { what: "an address that is no name", says: { ...ANN, email: "<ann>@acme.example" }, reads: /cannot be the name/ },
  {
    what: "an account with a password has the name",
    before: (door) => door.auth("Accounts/Create", { name: ANN.email, password: "a long password", scopes: [] }),
    reads: /The name ann@acme.example belongs to another account.*set account <name> --link='company:ann1'/,
  },
  {
    what: "an account has the name in other letters",
    before: (door) => door.auth("Accounts/Create", { name: "Ann@acme.example", withoutPassword: true, scopes: [] }),
    reads: /The name Ann@acme.example belongs to another account/,
  },
  { what: "no accounts are created", signIn: { createAccounts: false }, reads: /you have no account here/ },
];

for (const { what, says = ANN, signIn = {}, before, reads } of REFUSED) {
  t.test(`nobody signs in: ${what}`, async (t) => {
    const it = await company(t, signIn);
    await before?.(it.door);
    it.provider.people.ann1 = says;
    const { accounts } = await it.door.auth<{ accounts: unknown[] }>("Accounts/List");
    const page = await signInAs(new Browser(it.door), "ann1");
    t.equal(page.status, 400);
    t.match(reasonOn(page), reads);
    t.same((await it.door.auth<{ accounts: unknown[] }>("Accounts/List")).accounts, accounts);
  });
}

t.test("a second person with the same address is refused until an administrator links an account", async (t) => {
  const it = await company(t);
  const { door, provider } = it;
  await allow(door, new Browser(door), await signInAs(new Browser(door), "ann1"));
  provider.people.ann2 = ANN;
  const second = new Browser(door);
  t.match(reasonOn(await signInAs(second, "ann2")), /belongs to another account.*'company:ann2'/);
  await door.auth("Accounts/Create", { name: "ann-two", withoutPassword: true, scopes: ["own"] });
  await door.auth("Accounts/Link", { name: "ann-two", issuer: "company", subject: "ann2" });
  const tokens = await allow(door, second, await signInAs(second, "ann2"));
  t.same(await accountOf(door, tokens.access_token), { account: "ann-two", scopes: ["own", "employee", "agent:app"] });
  await t.rejects(door.auth("Accounts/Link", { name: "admin", issuer: "company", subject: "ann2" }), /is the account/);
});

t.test("an account that is disabled while the person is at the issuer signs nobody in", async (t) => {
  const it = await company(t);
  const { door } = it;
  await signInAs(new Browser(door), "ann1");
  const browser = new Browser(door);
  const { headers } = await goToIssuer(browser);
  await door.auth("Accounts/SetDisabled", { name: ANN.email, disabled: true });
  it.provider.people.ann1 = { ...ANN, groups: ["ops"] };
  const last = async () => (await door.auth<{ records: { action: string }[] }>("Audit/List")).records[0]?.action;
  const page = await signInThere(browser, headers.get("location") ?? "", "ann1");
  t.match(reasonOn(page), /^400 The account ann@acme.example is disabled; an administrator can enable it\.$/);
  t.equal(await last(), "account disabled", "no record of a sign-in");
  t.same(await scopesOf(it, ANN.email), ["employee"], "and no scopes");
  await door.auth("Accounts/SetDisabled", { name: ANN.email, disabled: false });
  t.equal((await signInAs(browser, "ann1")).status, 200, "enabled again");
});

t.test("groups are read at each sign-in, and own scopes stay", async (t) => {
  const it = await company(t);
  const { door, provider } = it;
  const browser = new Browser(door);
  const tokens = await allow(door, browser, await signInAs(browser, "ann1"));
  await door.auth("Accounts/SetScopes", { name: ANN.email, scopes: ["employee", "own"] });
  for (const [groups, scopes] of [
    [
      ["ops", "staff"],
      ["own", "employee", "operator"],
    ],
    [["ops"], ["own", "operator"]],
    ["staff", ["own", "employee"]],
    [["Staff"], ["own"]],
    [undefined, ["own"]],
  ] as const) {
    provider.people.ann1 = { ...ANN, groups };
    await signInAs(new Browser(door), "ann1");
    t.same(await scopesOf(it, ANN.email), scopes, `${groups}`);
    t.match(await accountOf(door, tokens.access_token), { scopes }, "in force when the page is there");
  }
});

t.test("with a refresh token, groups are read again when the client gets new tokens", async (t) => {
  const it = await company(t);
  const { door, provider } = it;
  provider.givesRefreshTokens = true;
  const browser = new Browser(door);
  const page = await signInAs(browser, "ann1");
  t.notMatch(page.text, /minutes from now/);
  const tokens = await allow(door, browser, page);
  t.match(await refresh(door, tokens), { access_token: /^pta_/ });
});

t.test("deleting the issuer ends what came of it when the command returns", async (t) => {
  const it = await company(t);
  const { door } = it;
  const browser = new Browser(door);
  const tokens = await allow(door, browser, await signInAs(browser, "ann1"));
  const waiting = await signInAs(browser, "ann1");
  t.equal(await door.statusOf(tokens.access_token), 200);
  t.match(await door.auth("Issuers/Delete", { name: "company" }), { people: 1 });
  t.equal(await door.statusOf(tokens.access_token), 401);
  t.match(await refresh(door, tokens), { error: "invalid_grant" });
  t.same(await scopesOf(it, ANN.email), []);
  t.same(await door.auth("Grants/List"), { grants: [], nextPageToken: "" });
  t.match(reasonOn(await browser.submit(waiting, { decision: "allow" })), /too old/, "a consent page that is open");
  await createIssuer(it, { createAccounts: true });
  t.match(reasonOn(await signInAs(browser, "ann1")), /belongs to another account/, "a new one inherits nothing");
  t.match(reasonOn(await browser.submit(waiting, { decision: "allow" })), /too old/);
});

t.test("no endpoint, page, log line or error shows the secret", async (t) => {
  const { door } = await company(t);
  const browser = new Browser(door);
  const seen = [
    JSON.stringify(await door.auth("Issuers/List")),
    JSON.stringify(await door.auth("Audit/List")),
    JSON.stringify((await signInAs(browser, "ann1")).text),
    JSON.stringify(door.deployment.logged),
  ];
  for (const text of seen) t.notMatch(text, CLIENT.clientSecret);
  t.match(seen[0], /"callbackPath":"\/oauth\/callback\/company"/);
});
