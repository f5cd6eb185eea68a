// What comes back from an issuer is refused unless it is the response to this sign-in of this
// browser (RFC 9700 §4, OpenID Connect Core 1.0 §3.1.3.7).
import t, { type Test } from "tap";
import { type Door, openDoor } from "./browser.js";
import { createKey, openIssuer, type TestIssuer } from "./issuer.js";
import { allow, Browser, goToIssuer, PUBLIC, reasonOn, refresh, registerApp } from "./people.js";

const CALLBACK = `${PUBLIC}/oauth/callback/company`;
const seconds = (offset: number): number => Math.floor(Date.now() / 1000) + offset;
const MAP = [{ group: "staff", scope: "employee" }];

interface Attempt {
  readonly door: Door;
  readonly issuer: TestIssuer;
  readonly browser: Browser;
  /** The authorization request. */
  readonly asked: URLSearchParams;
}

async function begin(t: Test, metadata: Record<string, unknown> = {}): Promise<Attempt> {
  const [door, issuer] = [await openDoor(t, { flags: { publicUrl: PUBLIC } }), await openIssuer(t)];
  issuer.metadata = metadata;
  const signIn = { clientId: "portico", createAccounts: true, map: MAP };
  await door.auth("Issuers/Create", { name: "company", url: issuer.url, signIn, clientSecret: "s:e c" });
  await registerApp(door);
  return beginAgain({ door, issuer });
}

async function beginAgain({ door, issuer }: Pick<Attempt, "door" | "issuer">): Promise<Attempt> {
  const browser = new Browser(door);
  const location = (await goToIssuer(browser)).headers.get("location") ?? "";
  return { door, issuer, browser, asked: new URL(location).searchParams };
}

/** The issuer responds to the code with an ID token that has these claims. */
async function vouch(
  { issuer, asked }: Pick<Attempt, "issuer" | "asked">,
  claims: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
): Promise<void> {
  const own = { sub: "ann1", aud: "portico", iat: seconds(0), nonce: asked.get("nonce") };
  const email = { email: "ann@acme.example", email_verified: true, groups: ["staff"] };
  const idToken = await issuer.sign({ ...own, ...email, ...claims });
  issuer.tokens = { status: 200, body: { access_token: "a", token_type: "Bearer", id_token: idToken, ...more } };
}

function comeBack(
  { browser, asked }: Pick<Attempt, "browser" | "asked">,
  given: Record<string, string | undefined> = {},
) {
  const all = { code: "c", state: asked.get("state") ?? "", ...given };
  const query = new URLSearchParams(
    Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  return browser.once(`${CALLBACK}?${query}`);
}

t.test("the request has PKCE, state and nonce, and the code is exchanged with the client's secret", async (t) => {
  const it = await begin(t, { scopes_supported: ["openid", "email", "groups", "phone"] });
  const { asked, issuer } = it;
  t.match(Object.fromEntries(asked), {
    ...{ response_type: "code", client_id: "portico", redirect_uri: CALLBACK, scope: "openid email groups" },
    ...{ code_challenge_method: "S256", code_challenge: /^[\w-]{43}$/, state: /^[\w-]{43}$/, nonce: /^[\w-]{43}$/ },
  });
  await vouch(it);
  const page = await comeBack(it);
  t.equal(page.status, 200, page.text);
  t.match(page.headers.get("set-cookie"), /^__Secure-portico-attempt=; Path=\/oauth\/callback\/company; Max-Age=0/);
  t.match(Object.fromEntries(issuer.forms[0]!), {
    grant_type: "authorization_code",
    code: "c",
    redirect_uri: CALLBACK,
  });
  t.equal(issuer.forms[0]!.has("client_secret"), false, "it is in the header");
  const other = await beginAgain(it);
  for (const name of ["state", "nonce", "code_challenge"]) t.not(other.asked.get(name), asked.get(name));
});

t.test("the cookie is for this browser, ten minutes and the callback only", async (t) => {
  const { door } = await begin(t);
  const cookie = (await goToIssuer(new Browser(door))).headers.get("set-cookie") ?? "";
  t.match(cookie, /; Path=\/oauth\/callback\/company; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/);
});

/** What comes back, and what the person reads. */
const RESPONSES: readonly {
  readonly what: string;
  readonly metadata?: Record<string, unknown>;
  readonly given: (it: Attempt) => Record<string, string | undefined>;
  readonly reads: RegExp;
  /** Whether the code was sent to the issuer. */
  readonly isExchanged?: boolean;
}[] = [
  { what: "another state", given: () => ({ state: "A".repeat(43) }), reads: /another browser/ },
  { what: "no state", given: () => ({ state: undefined }), reads: /another browser/ },
  { what: "no code", given: () => ({ code: undefined }), reads: /another browser/ },
  {
    what: "the person refused",
    given: () => ({ code: undefined, error: "access_denied" }),
    reads: /not signed in at company \(access_denied\)/,
  },
  {
    what: "an error in strange words",
    given: () => ({ code: undefined, error: "<b>call 0900</b>" }),
    reads: /not signed in at company\. /,
  },
  { what: "an error with a code", given: () => ({ error: "server_error" }), reads: /not signed in at company/ },
  {
    what: "the iss of another issuer",
    given: () => ({ iss: "https://evil.example" }),
    reads: /Another issuer than company/,
  },
  {
    what: "no iss of an issuer that announces it",
    metadata: { authorization_response_iss_parameter_supported: true },
    given: () => ({}),
    reads: /Another issuer than company/,
  },
];

for (const { what, metadata, given, reads } of RESPONSES) {
  t.test(`a response is refused: ${what}`, async (t) => {
    const it = await begin(t, metadata);
    await vouch(it);
    const page = await comeBack(it, given(it));
    t.equal(page.status, 400);
    t.match(reasonOn(page), reads);
    t.same(it.issuer.forms, [], "the code goes nowhere");
  });
}

t.test("a response is for the browser that began, once, at its issuer", async (t) => {
  const it = await begin(t, { authorization_response_iss_parameter_supported: true });
  const { door, issuer, asked } = it;
  await vouch(it);
  const iss = issuer.url;
  t.match(reasonOn(await comeBack({ browser: new Browser(door), asked }, { iss })), /another browser/, "no cookie");
  const other = await beginAgain(it);
  t.match(reasonOn(await comeBack({ browser: other.browser, asked }, { iss })), /another browser/, "its own cookie");
  t.same(issuer.forms, []);
  const signIn = { clientId: "portico", createAccounts: true };
  await door.auth("Issuers/Create", { name: "other", url: issuer.url, signIn });
  const mixed = `${PUBLIC}/oauth/callback/other?${new URLSearchParams({ code: "c", state: asked.get("state")!, iss })}`;
  t.match(reasonOn(await it.browser.once(mixed)), /another browser/, "the callback of another issuer");
  const again = await beginAgain(it);
  await vouch(again);
  t.equal((await comeBack(again, { iss })).status, 200);
  t.match(reasonOn(await comeBack(again, { iss })), /another browser/, "the cookie is gone");
});

t.test("the code of another issuer, or of an earlier one of the name, goes nowhere", async (t) => {
  const it = await begin(t);
  const { door, issuer } = it;
  const signIn = { clientId: "portico", createAccounts: true };
  await door.auth("Issuers/Create", { name: "other", url: issuer.url, signIn });
  const { headers } = await goToIssuer(it.browser);
  const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
  const state = new URL(headers.get("location") ?? "").searchParams.get("state") ?? "";
  const own = new URLSearchParams({ code: "c", state });
  for (const name of ["other", "company"]) {
    if (name === "company") {
      await door.auth("Issuers/Delete", { name });
      await door.auth("Issuers/Create", { name, url: issuer.url, signIn });
    }
    const response = await fetch(`${door.url}/oauth/callback/${name}?${own}`, { headers: { cookie } });
    const page = { url: "", status: response.status, headers: response.headers, text: await response.text() };
    t.match(reasonOn(page), /another browser/, name);
    t.same(issuer.forms, [], name);
  }
});

t.test("a response counts once, also with the cookie of the first time", async (t) => {
  const it = await begin(t);
  await vouch(it);
  const replay = new Browser(it.door);
  replay.copy(it.browser);
  t.equal((await comeBack(it)).status, 200);
  t.match(reasonOn(await comeBack({ browser: replay, asked: it.asked })), /was used already/);
  t.equal(it.issuer.forms.length, 1);
});

/** Claims of an ID token, and why they are refused. */
const CLAIMS: Readonly<Record<string, readonly [claims: Record<string, unknown>, reads: RegExp]>> = {
  "another nonce": [{ nonce: "of another sign-in" }, /claim nonce is that of another sign-in/],
  "no nonce": [{ nonce: undefined }, /claim nonce/],
  "another audience": [{ aud: "other" }, /claim aud is missing or not in order/],
  "several audiences without azp": [{ aud: ["portico", "other"] }, /claim azp/],
  "azp of another client": [{ azp: "other" }, /claim azp names another client/],
  "another issuer": [{ iss: "https://evil.example" }, /claim iss/],
  "no subject": [{ sub: undefined }, /claim sub/],
  "an empty subject": [{ sub: "" }, /claim sub/],
  "a subject that is too long": [{ sub: "x".repeat(256) }, /claim sub/],
  "no iat": [{ iat: undefined }, /claim iat/],
  "clocks two minutes apart": [{ exp: seconds(-120) }, /has expired/],
  "not valid for ten minutes": [{ nbf: seconds(600) }, /claim nbf/],
};

for (const [what, [claims, reads]] of Object.entries(CLAIMS)) {
  t.test(`an ID token is refused: ${what}`, async (t) => {
    const it = await begin(t);
    await vouch(it, claims);
    const page = await comeBack(it);
    t.equal(page.status, 400);
    t.match(reasonOn(page), reads);
  });
}

t.test("clocks may be half a minute apart, and keys may be new", async (t) => {
  const it = await begin(t);
  await vouch(it, { exp: seconds(-30) });
  t.equal((await comeBack(it)).status, 200);
  const stranger = await createKey("first");
  const next = await beginAgain(it);
  it.issuer.tokens = {
    status: 200,
    body: {
      id_token: await it.issuer.sign({ sub: "ann1", aud: "portico", nonce: next.asked.get("nonce") }, {}, stranger),
    },
  };
  t.match(reasonOn(await comeBack(next)), /signature is wrong/, "a key of nobody under a known name");
});

/** What the token endpoint responds instead of tokens. */
const TOKENS: Readonly<Record<string, readonly [status: number, body: unknown, reads: RegExp]>> = {
  "the code is refused": [
    400,
    { error: "invalid_grant", error_description: "<b>x</b>" },
    /refused the code \(invalid_grant\)\./,
  ],
  "an error in strange words": [400, { error: "<b>x</b>" }, /refused the code\./],
  "no ID token": [200, { access_token: "a" }, /sent no ID token/],
  "no object": [200, [], /sent no ID token/],
  "too much": [200, { id_token: "x".repeat(70_000) }, /larger than 65536 bytes/],
};

for (const [what, [status, body, reads]] of Object.entries(TOKENS)) {
  t.test(`nobody signs in: ${what}`, async (t) => {
    const it = await begin(t);
    it.issuer.tokens = { status, body };
    t.match(reasonOn(await comeBack(it)), reads);
  });
}

t.test("the UserInfo endpoint is asked for what is missing, and must name the same person", async (t) => {
  const verified = { email: "ann@acme.example", email_verified: true };
  for (const [info, reads] of [
    [{ sub: "ann2", ...verified }, /names another person/],
    [verified, /names another person/],
    [{ sub: "ann1", ...verified }, undefined],
  ] as const) {
    const it = await begin(t, { userinfo_endpoint: "/info" });
    it.issuer.info = info;
    await vouch(it, { email: undefined, email_verified: undefined });
    const page = await comeBack(it);
    if (reads === undefined) t.match(page.text, /signed in as <strong>ann@acme.example/);
    else t.match(reasonOn(page), reads);
  }
});

t.test("an address counts with what the same document says about it", async (t) => {
  const own = { email: "ann@acme.example", email_verified: undefined };
  const said = { sub: "ann1", email: "bob@acme.example" };
  for (const [claims, info, reads] of [
    [own, { ...said, email_verified: true }, /signed in as <strong>bob@acme.example/],
    [own, said, /has not verified your e-mail address/],
    [own, { sub: "ann1", email_verified: true }, /has not verified your e-mail address/],
    [{ email: undefined, email_verified: true }, { ...said, email_verified: false }, /has not verified/],
    [{ email: undefined, email_verified: true }, said, /has not verified/],
  ] as const) {
    const it = await begin(t, { userinfo_endpoint: "/info" });
    it.issuer.info = info;
    await vouch(it, claims);
    t.match((await comeBack(it)).text, reads);
  }
});

/** Signs in by an issuer that gives a refresh token. */
async function renewable(t: Test) {
  const it = await begin(t);
  await vouch(it, {}, { refresh_token: "r1" });
  const page = await comeBack(it);
  t.notMatch(page.text, /minutes from now/, "the sign-in lasts");
  return { ...it, tokens: await allow(it.door, it.browser, page) };
}

/** The scopes of the person, without the agent's. */
async function scopesOf(door: Door, token: string): Promise<string[]> {
  const { scopes } = await door.auth<{ scopes: string[] }>("WhoAmI", {}, token);
  return scopes.filter((scope) => scope !== "agent:app");
}

t.test("groups are read again when a client gets new tokens", async (t) => {
  const it = await renewable(t);
  const { door, issuer, tokens } = it;
  t.same(await scopesOf(door, tokens.access_token), ["employee"]);
  await vouch(it, { groups: [], nonce: undefined }, { refresh_token: "r2" });
  const second = await refresh(door, tokens);
  t.match(Object.fromEntries(issuer.forms[1]!), { grant_type: "refresh_token", refresh_token: "r1" });
  t.same(await scopesOf(door, second.access_token), []);
  t.same(await scopesOf(door, tokens.access_token), [], "of the earlier token too");
  await vouch(it, { nonce: undefined });
  t.same(await scopesOf(door, (await refresh(door, second)).access_token), ["employee"]);
  t.match(Object.fromEntries(issuer.forms[2]!), { refresh_token: "r2" });
});

t.test("an issuer that vouches no longer ends the grant", async (t) => {
  const { door, issuer, tokens } = await renewable(t);
  issuer.tokens = { status: 400, body: { error: "invalid_grant" } };
  t.match(await refresh(door, tokens), { error: "invalid_grant" });
  t.equal(await door.statusOf(tokens.access_token), 401);
});

/** What the issuer responds when it is asked again. Nobody gets new tokens, and nothing ends. */
const UNCLEAR: Readonly<Record<string, (it: Attempt) => Promise<void> | void>> = {
  "an error of its server": ({ issuer }) => {
    issuer.tokens = { status: 500, body: {} };
  },
  "an error of ours": ({ issuer }) => {
    issuer.tokens = { status: 401, body: { error: "invalid_client" } };
  },
  "another person": (it) => vouch(it, { sub: "ann2", nonce: undefined }),
  "an ID token for another client": (it) => vouch(it, { aud: "other", nonce: undefined }),
};

for (const [what, respond] of Object.entries(UNCLEAR)) {
  t.test(`no new tokens, and none ends: ${what}`, async (t) => {
    const it = await renewable(t);
    await respond(it);
    const { access_token: none } = await refresh(it.door, it.tokens);
    t.equal(none, undefined);
    t.equal(await it.door.statusOf(it.tokens.access_token), 200);
    await vouch(it, { nonce: undefined });
    t.match(await refresh(it.door, it.tokens), { access_token: /^pta_/ }, "it is asked again later");
  });
}
