// People sign in on the web pages by their company's issuer, which is oidc-provider here. A session
// comes back, as a password begins one. It is worth nothing without the key of the page that left.
import t, { type Test } from "tap";
import type { DeployOptions } from "../gateway/deployment.js";
import { type Door, openDoor } from "./browser.js";
import { LeavingPage } from "./pages-by-issuer.js";
import { Browser, PUBLIC, reasonOn, signInThere } from "./people.js";
import { CLIENT, type OpenProvider, openProvider } from "./provider.js";

const ANN = { email: "ann@acme.example", email_verified: true, groups: ["staff"] };
const MAP = [
  { group: "staff", scope: "employee" },
  { group: "ops", scope: "operator" },
];
const MINUTE = 60_000;

interface Company {
  readonly door: Door;
  readonly provider: OpenProvider;
  /** Moves the clock on. */
  readonly pass: (ms: number) => void;
}

async function company(t: Test, options: DeployOptions = {}): Promise<Company> {
  let passed = 0;
  const clocks = { wall: () => Date.now() + passed, elapsed: () => performance.now() + passed };
  const door = await openDoor(t, { flags: { publicUrl: PUBLIC }, clocks, ...options });
  const provider = await openProvider(t, `${PUBLIC}/oauth/callback/company`);
  const { clientId, clientSecret } = CLIENT;
  const signIn = { clientId, map: MAP, createAccounts: true };
  await door.auth("Issuers/Create", { name: "company", url: provider.url, signIn, clientSecret });
  provider.people.ann1 = ANN;
  const pass = (ms: number): void => {
    passed += ms;
  };
  return { door, provider, pass };
}

t.test("a person signs in by an issuer, and the page has a session as by a password", async (t) => {
  const { door } = await company(t);
  const page = await LeavingPage.at(door);
  t.match((await page.post("/session/issuers")).body, {
    issuers: [{ id: "company", name: "company" }],
    publicUrl: PUBLIC,
  });
  const begun = await page.begin();
  t.match(
    begun.headers.get("set-cookie"),
    /; Path=\/oauth\/callback\/company; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  );
  const back = await signInThere(page.browser, begun.body.location ?? "", "ann1");
  t.equal(back.url, `${PUBLIC}/console/back`, "nothing is in the address");
  t.match(page.browser.cookieFor(`${PUBLIC}/session`), /^__Secure-portico-arrival-[0-9a-f-]{36}=pts_[^;]*$/);
  t.equal(page.browser.cookieFor(`${PUBLIC}/oauth/callback/company`), "", "the attempt is over");
  const arrived = await page.arrive();
  t.match(arrived.body, {
    accessToken: /^pta_/,
    account: "ann@acme.example",
    namespace: "default",
    scopes: ["employee"],
  });
  const attributes = /; Path=\/session; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure$/;
  t.match(arrived.headers.getSetCookie(), [/^__Secure-portico-[0-9a-f-]{36}=pts_/, /^__Secure-portico-arrival-.*=; /]);
  t.match(arrived.headers.getSetCookie()[0], attributes);
  t.match(await door.auth("WhoAmI", {}, arrived.body.accessToken), { scopes: ["employee"] }, "and no agent");
  t.match((await page.createToken()).body, { account: "ann@acme.example" }, "after a reload");
  t.equal((await page.end()).status, 200);
  t.equal(await door.statusOf(arrived.body.accessToken ?? ""), 401);
});

t.test("what comes back is no use to another browser, and signs nobody else in", async (t) => {
  const { door } = await company(t);
  const attacker = await LeavingPage.at(door);
  await attacker.signInAt("ann1");
  const victim = await LeavingPage.at(door);
  victim.browser.copy(attacker.browser);
  const arrived = await victim.arrive();
  t.equal(arrived.status, 403, "the cookies of another browser, with a key of one's own");
  t.same(arrived.headers.getSetCookie(), [], "no session begins");
  t.equal((await attacker.arrive()).status, 200, "the key that has left");
});

t.test("another browser cannot end what one began", async (t) => {
  const { door } = await company(t);
  const page = await LeavingPage.at(door);
  const { location = "" } = (await page.begin()).body;
  const back = await signInThere(new Browser(door), location, "ann1");
  t.match(reasonOn(back), /^400 .*begun in another browser/);
  t.equal((await page.arrive()).status, 401, "nobody has signed in");
});

/** Who may not begin, and why. */
const REFUSED: Readonly<Record<string, readonly [headers: Record<string, string>, status: number, reads: RegExp]>> = {
  "another site": [{ "sec-fetch-site": "cross-site" }, 403, /may not call here|Only a page of this gateway/],
  "another port of the host": [{ "sec-fetch-site": "same-site" }, 403, /may not call here|Only a page of this gateway/],
  "another address of the gateway": [{ origin: "http://127.0.0.1:1" }, 400, /except at https:\/\/portico.test/],
};

t.test("only a page at the public URL may begin", async (t) => {
  const { door } = await company(t);
  for (const [what, [headers, status, reads]] of Object.entries(REFUSED)) {
    const page = await LeavingPage.at(door);
    page.headers = { ...page.headers, ...headers };
    const begun = await page.begin();
    t.equal(begun.status, status, what);
    t.match(begun.body.Detail, reads, what);
    t.same(begun.headers.getSetCookie(), [], what);
  }
  const page = await LeavingPage.at(door);
  t.match(await page.begin("other"), { status: 400, body: { Detail: "Nobody signs in by this issuer" } });
  t.match(await page.post("/session/begin", { body: { issuer: "company", key: "AAAA" } }), { status: 400 });
});

t.test("without PORTICO_PUBLIC_URL no issuer is offered", async (t) => {
  const { door } = await company(t, { flags: {} });
  const page = await LeavingPage.at(door);
  t.match((await page.post("/session/issuers")).body, { publicUrl: "" });
  t.match(await page.begin(), { status: 400, body: { Detail: /unless PORTICO_PUBLIC_URL is set/ } });
});

t.test("a person whom the issuer does not sign in reads why, and gets back to the page", async (t) => {
  const { door, provider } = await company(t);
  provider.people.ann1 = { ...ANN, email_verified: false };
  const page = await LeavingPage.at(door);
  const back = await page.signInAt("ann1");
  t.match(reasonOn(back), /^400 The issuer has not verified your e-mail address/);
  t.match(back.text, /<a href="\/console\/back">Back, to try again<\/a>/);
  t.match(await page.arrive(), { status: 401, body: { Detail: "You have not been signed in; sign in again" } });
});

/** What happens before the page has taken its session. */
const MEANWHILE: Readonly<Record<string, readonly [endpoint: string, request: unknown]>> = {
  "the issuer is deleted": ["Issuers/Delete", { name: "company" }],
  "the account is unlinked": ["Accounts/Unlink", { name: ANN.email }],
  "the account is disabled": ["Accounts/SetDisabled", { name: ANN.email, disabled: true }],
  "the account is deleted": ["Accounts/Delete", { name: ANN.email }],
};

for (const [what, [endpoint, request]] of Object.entries(MEANWHILE)) {
  t.test(`no session begins: ${what} meanwhile`, async (t) => {
    const { door } = await company(t);
    const page = await LeavingPage.at(door);
    await page.signInAt("ann1");
    await door.auth(endpoint, request);
    t.equal((await page.arrive()).status, 401);
  });
}

t.test("a person without a password signs out everywhere", async (t) => {
  const { door } = await company(t);
  const [page, other] = [await LeavingPage.at(door), await LeavingPage.at(door)];
  for (const one of [page, other]) await one.signInAt("ann1");
  const { accessToken = "" } = (await page.arrive()).body;
  await other.arrive();
  await door.auth("Logout", { everywhere: true }, accessToken);
  t.equal(await door.statusOf(accessToken), 401);
  for (const one of [page, other]) t.equal((await one.createToken()).status, 401);
});

t.test("a session that the page does not take ends after ten minutes", async (t) => {
  const { door, pass } = await company(t);
  const page = await LeavingPage.at(door);
  await page.signInAt("ann1");
  pass(11 * MINUTE);
  t.equal((await page.arrive()).status, 401);
});

t.test("without a refresh token of the issuer, the session lasts an hour", async (t) => {
  const { door, pass } = await company(t);
  const page = await LeavingPage.at(door);
  await page.signInAt("ann1");
  await page.arrive();
  pass(50 * MINUTE);
  const late = await page.createToken();
  const left = Date.parse(late.body.accessExpires ?? "") - Date.now() - 50 * MINUTE;
  t.ok(left > 8 * MINUTE && left <= 10 * MINUTE, "the last token ends with it");
  pass(11 * MINUTE);
  t.equal(await door.statusOf(late.body.accessToken ?? ""), 401);
  t.equal((await page.createToken()).status, 401);
});

t.test("with one, the groups are read again each half hour, and what the issuer ends has ended", async (t) => {
  const { door, provider, pass } = await company(t);
  provider.givesRefreshTokens = true;
  const page = await LeavingPage.at(door);
  await page.signInAt("ann1");
  const { accessToken = "" } = (await page.arrive()).body;
  provider.people.ann1 = { ...ANN, groups: ["ops"] };
  t.match((await page.createToken()).body, { scopes: ["employee"] }, "a reload asks nobody");
  pass(31 * MINUTE);
  t.match((await page.createToken()).body, { scopes: ["operator"] });
  t.match(await door.auth("WhoAmI", {}, accessToken), { scopes: ["operator"] });
  delete provider.people.ann1;
  pass(31 * MINUTE);
  t.equal((await page.createToken()).status, 401);
  t.equal((await page.createToken()).status, 401, "for good");
});
