// People sign in by an issuer for a device, and in a namespace of their own.
import t, { type Test } from "tap";
import { type Door, openDoor } from "./browser.js";
import { openIssuer, type TestIssuer } from "./issuer.js";
import { authorizeUrl, Browser, goToIssuer, type Page, PUBLIC, reasonOn } from "./people.js";

interface Company {
  readonly door: Door;
  readonly issuer: TestIssuer;
}

async function company(t: Test): Promise<Company> {
  return { door: await openDoor(t, { flags: { publicUrl: PUBLIC } }), issuer: await openIssuer(t) };
}

/** @param token of an administrator of the namespace */
function createIssuer({ door, issuer }: Company, token = door.admin): Promise<unknown> {
  const signIn = { clientId: "portico", createAccounts: true };
  return door.auth("Issuers/Create", { name: "company", url: issuer.url, signIn }, token);
}

/** From a page of the gateway to the issuer, and back to the page that the person sees then. */
async function signIn({ issuer }: Company, browser: Browser, from: string): Promise<Page> {
  const asked = new URL((await goToIssuer(browser, from)).headers.get("location") ?? "").searchParams;
  const iat = Math.floor(Date.now() / 1000);
  const own = { sub: "ann1", aud: "portico", iat, nonce: asked.get("nonce") };
  const idToken = await issuer.sign({ ...own, email: "ann@acme.example", email_verified: true });
  issuer.tokens = { status: 200, body: { access_token: "a", token_type: "Bearer", id_token: idToken } };
  const back = new URLSearchParams({ code: "c", state: asked.get("state") ?? "" });
  return browser.once(`${asked.get("redirect_uri")}?${back}`);
}

/** A device that asks for a code, and for its tokens. */
async function startDevice({ url }: Door) {
  const post = async (path: string, form: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: "portico-cli", ...form });
    return (await (await fetch(url + path, { method: "POST", body })).json()) as Record<string, string>;
  };
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  const { user_code: userCode = "", device_code = "" } = await post("/oauth/device_authorization", {
    client_name: "build box",
    scope: "*:*:*",
  });
  return { userCode, poll: () => post("/oauth/token", { grant_type, device_code }) };
}

function whoIs(door: Door, { access_token: token = "" }: Record<string, string>) {
  return door.auth("WhoAmI", {}, token);
}

/** Where the form goes that asks for the code of a device. */
function afterCode({ text }: { text: string }, userCode: string): string {
  const form = /<form method="get" action="(\/device)">\n<input type="hidden" name="(\w+)" value="(\w+)">/.exec(text);
  return `${PUBLIC}${form?.[1]}?${form?.[2]}=${form?.[3]}&user_code=${userCode}`;
}

t.test("a person allows a device: the code goes along to the issuer and back", async (t) => {
  const it = await company(t);
  const { door } = it;
  await createIssuer(it);
  const { userCode, poll } = await startDevice(door);
  const browser = new Browser(door);
  const empty = await browser.open(`${PUBLIC}/device`);
  t.notMatch(empty.text, /href="\/oauth\/sign-in/, "the code is asked for first");
  t.notMatch(empty.text, /type="password"/, "and only once");
  const asked = await browser.open(afterCode(empty, userCode));
  t.match(asked.text, new RegExp(`type="text" name="user_code" value="${userCode}"`));
  const page = await signIn(it, browser, `${PUBLIC}/device?user_code=${userCode}`);
  t.match(page.text, /A device that calls itself build box/);
  t.match(await browser.submit(page, { decision: "allow" }), { status: 200, text: /Allowed/ });
  t.match(await whoIs(door, await poll()), { account: "ann@acme.example", namespace: "default" });
});

t.test("a code that no device shows is refused after the sign-in, and counted", async (t) => {
  const it = await company(t);
  await createIssuer(it);
  const browser = new Browser(it.door);
  for (let count = 0; count < 5; count++) {
    const page = await signIn(it, browser, `${PUBLIC}/device?user_code=BBBB-BBBB`);
    t.match(reasonOn(page), /^400 No device shows this code, or it has expired\.$/);
  }
  t.match(reasonOn(await signIn(it, browser, `${PUBLIC}/device?user_code=BBBB-BBBB`)), /^429 /);
});

/** A namespace with an issuer and a client. Returns the ID of the client. */
async function openTeam(it: Company): Promise<string> {
  const { door } = it;
  const made = await door.auth<{ adminPassword: string }>("Namespaces/Create", { name: "team" });
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ namespace: "team", account: "admin", password: made.adminPassword });
  const response = await fetch(`${door.url}/auth/login`, { method: "POST", headers, body });
  const { accessToken: token = "" } = (await response.json()) as { accessToken?: string };
  await createIssuer(it, token);
  const redirectUris = ["https://app.example/callback"];
  await door.auth("Clients/Create", { name: "app", redirectUris, confidential: false }, token);
  return "team.app";
}

t.test("the issuer of a namespace signs in people of that namespace", async (t) => {
  const it = await company(t);
  const client = await openTeam(it);
  const page = await signIn(it, new Browser(it.door), authorizeUrl(client));
  t.match(page, {
    status: 200,
    url: new RegExp(`^${PUBLIC}/oauth/callback/team\\.company\\?`),
    text: /<strong>ann@acme.example<\/strong>, namespace team/,
  });
  const { accounts } = await it.door.auth<{ accounts: { name: string }[] }>("Accounts/List");
  t.same(
    accounts.map(({ name }) => name),
    ["admin"],
    "nobody is made in another namespace",
  );
});

t.test("a page for every namespace shows the issuers of the one that is asked for", async (t) => {
  const it = await company(t);
  const { door } = it;
  await openTeam(it);
  const { userCode, poll } = await startDevice(door);
  const browser = new Browser(door);
  const empty = await browser.open(`${PUBLIC}/device?namespace=team`);
  t.match((await browser.open(afterCode(empty, userCode))).text, /Sign in with company/);
  const device = `${PUBLIC}/device?user_code=${userCode}`;
  t.notMatch((await browser.open(device)).text, /Sign in with/);
  const page = await signIn(it, browser, `${device}&namespace=team`);
  await browser.submit(page, { decision: "allow" });
  t.match(await whoIs(door, await poll()), { account: "ann@acme.example", namespace: "team" });
  const cli = authorizeUrl("portico-cli").replace(/redirect_uri=[^&]*/, "redirect_uri=http://127.0.0.1:1/callback");
  t.notMatch((await browser.open(cli)).text, /Sign in with/);
  t.match((await browser.open(`${cli}&namespace=team`)).text, /Sign in with company/);
  t.match((await browser.open(`${cli}&namespace=%3Cb%3E`)).text, /value="&lt;b&gt;"/, "escaped");
});
