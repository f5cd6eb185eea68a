// What is refused: the lists of RFC 9700, RFC 7636 and RFC 9207 as data. Each case changes one
// thing of a request that would succeed.
import { createHash } from "node:crypto";
import t from "tap";
import { consent, type Door, openDoor, PERSON, submit, visit } from "./browser.js";

const REDIRECT = "https://app.example/callback";
const VERIFIER = "v".repeat(43);
const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");

type Changes = Readonly<Record<string, string | undefined>>;

/** Registers a client once for each test. */
async function openWithClient(t: Parameters<typeof openDoor>[0]) {
  const door = await openDoor(t);
  const create = (name: string, confidential = false, redirectUris = [REDIRECT]) =>
    door.auth<{ secret: string }>("Clients/Create", { name, redirectUris, confidential });
  await create("app");
  await create("other");
  await create("desktop", false, ["http://127.0.0.1/callback"]);
  const { secret } = await create("server", true);
  return { door, secret };
}

function authorizeUrl({ url }: Door, changes: Changes = {}): string {
  const request = {
    ...{ response_type: "code", client_id: "app", redirect_uri: REDIRECT, state: "s" },
    ...{ code_challenge: CHALLENGE, code_challenge_method: "S256" },
    ...changes,
  };
  const present = Object.entries(request).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${url}/oauth/authorize?${new URLSearchParams(present)}`;
}

async function post(door: Door, path: string, form: Changes, headers: Record<string, string> = {}) {
  const present = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(`${door.url}${path}`, { method: "POST", headers, body: new URLSearchParams(present) });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text.startsWith("{") ? JSON.parse(text) : {} };
}

async function codeFor(door: Door, changes: Changes = {}): Promise<string> {
  return (await consent(door, authorizeUrl(door, changes))).searchParams.get("code") ?? "";
}

t.test("nothing is redirected to a URI that is not the client's (RFC 9700 §4.1, §4.11)", async (t) => {
  const { door } = await openWithClient(t);
  const cases: [what: string, changes: Changes][] = [
    ["an unknown client", { client_id: "nobody" }],
    ["no client", { client_id: undefined }],
    ["no redirect URI", { redirect_uri: undefined }],
    ["another host", { redirect_uri: "https://evil.example/callback" }],
    ["a host that begins like the registered one", { redirect_uri: "https://app.example.evil.example/callback" }],
    ["another path", { redirect_uri: `${REDIRECT}/..` }],
    ["a further query", { redirect_uri: `${REDIRECT}?next=https://evil.example` }],
    ["another port", { redirect_uri: "https://app.example:8443/callback" }],
    ["http instead of https", { redirect_uri: "http://app.example/callback" }],
    ["a user", { redirect_uri: "https://app.example@evil.example/callback" }],
    ["a fragment", { redirect_uri: `${REDIRECT}#x` }],
    ["a script", { redirect_uri: "javascript:alert(1)" }],
    ["another host case", { redirect_uri: "https://APP.example/callback" }],
    ["a loopback path of a desktop client", { client_id: "desktop", redirect_uri: "http://127.0.0.1:1/other" }],
    ["another loopback name", { client_id: "desktop", redirect_uri: "http://localhost:1/callback" }],
  ];
  for (const [what, changes] of cases) {
    const page = await visit(authorizeUrl(door, changes));
    t.match(page, { status: 400, location: undefined }, what);
    t.match(page.headers.get("content-type"), /^text\/html/);
  }
  const loopback = { client_id: "desktop", redirect_uri: "http://127.0.0.1:51234/callback" };
  t.match(await visit(authorizeUrl(door, loopback)), { status: 200, text: /a program on your computer/ }, "any port");
});

t.test("other errors go to the client, with state and iss", async (t) => {
  const { door } = await openWithClient(t);
  const cases: [what: string, changes: Changes, error: string][] = [
    ["the implicit grant", { response_type: "token" }, "unsupported_response_type"],
    ["no PKCE", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    ["PKCE by plain", { code_challenge_method: "plain" }, "invalid_request"],
    ["PKCE without a method, which means plain", { code_challenge_method: undefined }, "invalid_request"],
    ["a short challenge", { code_challenge: "short" }, "invalid_request"],
    ["a scope that is no pattern", { scope: "openid" }, "invalid_scope"],
    ["the resource of another server", { resource: "https://other.example/mcp" }, "invalid_target"],
    ["the answer in the fragment", { response_mode: "fragment" }, "invalid_request"],
    ["a request object", { request: "x.y.z" }, "request_not_supported"],
    ["no page", { prompt: "none" }, "login_required"],
  ];
  for (const [what, changes, error] of cases) {
    const { status, location = "" } = await visit(authorizeUrl(door, changes));
    t.equal(status, 303, what);
    const { origin, pathname, searchParams } = new URL(location);
    t.equal(`${origin}${pathname}`, REDIRECT);
    t.match(Object.fromEntries(searchParams), { error, state: "s", iss: door.url }, what);
  }
  const twice = await visit(`${authorizeUrl(door)}&scope=a&scope=b`);
  t.match(twice.location, /error=invalid_request/, "a parameter that is there twice");
});

t.test("pages cannot be framed, sent by other pages, forged or sent twice", async (t) => {
  const { door } = await openWithClient(t);
  const signIn = await visit(authorizeUrl(door));
  const page = await submit(door, signIn, PERSON);
  for (const { headers } of [signIn, page]) {
    t.match(headers.get("content-security-policy"), /frame-ancestors 'none'/);
    t.match(headers.get("content-security-policy"), /default-src 'none'/);
    t.equal(headers.get("x-frame-options"), "DENY");
    t.equal(headers.get("cache-control"), "no-store");
  }
  const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
  t.equal((await submit(door, page, { decision: "allow" }, foreign)).status, 403);
  t.equal((await submit(door, page, { decision: "allow" }, { origin: "https://evil.example" })).status, 403);
  const [, sealed = ""] = page.fields.find(([name]) => name === "request") ?? [];
  for (const forged of ["", "x", `${sealed}x`, `x${sealed}`, sealed.replace(".", "")]) {
    const { status, location } = await submit(door, page, { decision: "allow", request: forged });
    t.match({ status, location }, { status: 400, location: undefined }, "a forged request");
  }
  t.match(await submit(door, page, { decision: "allow", scope: undefined }), { status: 400, text: /Tick at least/ });
  t.match(await submit(door, page, { decision: "allow", days: "4000" }), { status: 400 });
  t.equal((await submit(door, page, { decision: "allow" })).status, 303);
  t.match(await submit(door, page, { decision: "allow" }), { status: 400, text: /used already/ });
  const denied = await submit(door, await submit(door, signIn, PERSON), { decision: "deny" });
  t.match(denied.location, /error=access_denied.*iss=/);
});

t.test("pages of other origins send no forms of sign-in and consent, whatever PORTICO_CORS allows", async (t) => {
  const door = await openDoor(t, { flags: { cors: "*" } });
  await door.auth("Clients/Create", { name: "app", redirectUris: [REDIRECT], confidential: false });
  const signIn = await visit(authorizeUrl(door));
  const page = await submit(door, signIn, PERSON);
  for (const site of ["cross-site", "same-site"]) {
    const foreign = { "sec-fetch-site": site, origin: "https://evil.example" };
    t.equal((await submit(door, signIn, PERSON, foreign)).status, 403);
    t.equal((await submit(door, page, { decision: "allow" }, foreign)).status, 403);
    t.equal((await submit(door, await visit(`${door.url}/device`), PERSON, foreign)).status, 403);
  }
  t.equal((await submit(door, page, { decision: "allow" })).status, 303);
});

t.test("a wrong password is 401, then 429", async (t) => {
  const { door } = await openWithClient(t);
  const signIn = await visit(authorizeUrl(door));
  for (let count = 0; count < 5; count++) {
    const page = await submit(door, signIn, { account: "admin", password: "wrong wrong wrong" });
    t.match(page, { status: 401, text: /Wrong account or password/ });
    t.match(page.headers.get("www-authenticate"), /^Bearer/);
  }
  const page = await submit(door, signIn, PERSON);
  t.match(page, { status: 429, location: undefined });
  t.match(page.headers.get("retry-after"), /^\d+$/);
});

t.test("a code is exchanged by its client, once, as it was asked for", async (t) => {
  const { door, secret } = await openWithClient(t);
  const cases: [what: string, changes: Changes, status: number, error: string, asked?: Changes][] = [
    ["another client", { client_id: "other" }, 400, "invalid_grant"],
    ["another redirect URI", { redirect_uri: `${REDIRECT}2` }, 400, "invalid_grant"],
    ["no redirect URI", { redirect_uri: undefined }, 400, "invalid_grant"],
    ["another verifier", { code_verifier: "w".repeat(43) }, 400, "invalid_grant"],
    ["no verifier", { code_verifier: undefined }, 400, "invalid_grant"],
    ["the challenge as verifier", { code_verifier: CHALLENGE }, 400, "invalid_grant"],
    ["a made-up code", { code: `ptx_${"A".repeat(49)}` }, 400, "invalid_grant"],
    ["no code", { code: undefined }, 400, "invalid_request"],
    ["no client", { client_id: undefined }, 401, "invalid_client"],
    ["an unknown client", { client_id: "nobody" }, 401, "invalid_client"],
    ["a secret for a public client", { client_secret: secret }, 401, "invalid_client"],
    ["no secret", { client_id: "server" }, 401, "invalid_client", { client_id: "server" }],
    ["a wrong secret", { client_id: "server", client_secret: "x" }, 401, "invalid_client", { client_id: "server" }],
    ["another server", { resource: "https://other.example" }, 400, "invalid_target"],
    ["more than /mcp", { resource: "$door" }, 400, "invalid_target", { resource: "$door/mcp" }],
    ["an unknown grant type", { grant_type: "password" }, 400, "unsupported_grant_type"],
    ["no grant type", { grant_type: undefined }, 400, "invalid_request"],
  ];
  const here = (changes: Changes = {}): Changes =>
    Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, value?.replace("$door", door.url)]));
  const base = { grant_type: "authorization_code", client_id: "app", redirect_uri: REDIRECT, code_verifier: VERIFIER };
  for (const [what, changes, status, error, asked] of cases) {
    const code = await codeFor(door, here(asked));
    const response = await post(door, "/oauth/token", { ...base, code, ...here(changes) });
    t.match({ status: response.status, error: response.body.error }, { status, error }, what);
    t.equal(response.headers.get("cache-control"), "no-store");
  }
  const code = await codeFor(door);
  const first = await post(door, "/oauth/token", { ...base, code });
  t.equal(first.status, 200);
  t.match(await post(door, "/oauth/token", { ...base, code }), { status: 400, body: { error: "invalid_grant" } });
  t.equal(await door.statusOf(first.body.access_token), 401, "a code that comes twice ends its grant");
});

t.test("a client reads what is wrong with its header Authorization", async (t) => {
  const { door, secret } = await openWithClient(t);
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
  for (const [text, form, description] of [
    ["server", {}, "the header Authorization is not the client's ID, a colon and its secret, in base64"],
    [`server:${secret}`, { client_secret: secret }, "the client authenticates in two ways"],
    [`server:${secret}`, { client_id: "app" }, "two clients are named"],
    ["server:%", {}, "the header Authorization has a broken percent-encoding"],
  ] as const) {
    const all = { grant_type: "authorization_code", code: "x", ...form };
    const { status, body } = await post(door, "/oauth/token", all, basic(text));
    t.same({ status, ...body }, { status: 401, error: "invalid_client", error_description: description });
  }
});

t.test("a refresh token is used once, by its client", async (t) => {
  const { door } = await openWithClient(t);
  const base = { grant_type: "authorization_code", client_id: "app", redirect_uri: REDIRECT, code_verifier: VERIFIER };
  const first = await post(door, "/oauth/token", {
    ...base,
    code: await codeFor(door, { scope: "service:helloworld:*" }),
  });
  const refresh = (changes: Changes) =>
    post(door, "/oauth/token", {
      ...{ grant_type: "refresh_token", client_id: "app", refresh_token: first.body.refresh_token },
      ...changes,
    });
  t.match(await refresh({ client_id: "other" }), { status: 400, body: { error: "invalid_grant" } });
  t.match(await refresh({ scope: "*:*:*" }), { status: 400, body: { error: "invalid_scope" } });
  t.match(await refresh({ resource: "https://other.example" }), { status: 400, body: { error: "invalid_target" } });
  const second = await refresh({ scope: "service:helloworld:*" });
  t.match(second, { status: 200, body: { scope: "service:helloworld:*" } });
  t.equal(await door.statusOf(second.body.access_token), 200);
  t.match(await refresh({}), { status: 400, body: { error: "invalid_grant" } });
  t.equal(await door.statusOf(second.body.access_token), 401, "a refresh token that comes twice ends its grant");
  t.match(await refresh({ refresh_token: second.body.refresh_token }), { body: { error: "invalid_grant" } });
});

t.test("only forms are read, and only by POST", async (t) => {
  const { door } = await openWithClient(t);
  for (const path of [
    "/oauth/token",
    "/oauth/revoke",
    "/oauth/introspect",
    "/oauth/device_authorization",
    "/oauth/consent",
  ]) {
    t.equal((await fetch(`${door.url}${path}`)).status, 405, path);
    const json = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    t.equal((await fetch(`${door.url}${path}`, json)).status, 415, path);
    const large = { method: "POST", body: new URLSearchParams({ code: "x".repeat(70_000) }) };
    t.equal((await fetch(`${door.url}${path}`, large)).status, 413, path);
  }
});

t.test("pages of any origin read metadata and exchange codes, and nothing else", async (t) => {
  const { door } = await openWithClient(t);
  const headers = { origin: "https://app.example", "sec-fetch-site": "cross-site" };
  const wellKnown = "/.well-known/oauth-authorization-server";
  for (const path of [
    wellKnown,
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
  ]) {
    const response = await fetch(`${door.url}${path}`, { headers });
    t.match([response.status, response.headers.get("access-control-allow-origin")], [200, "*"], path);
    t.equal(response.headers.get("access-control-allow-credentials"), null);
  }
  const preflight = { method: "OPTIONS", headers: { ...headers, "access-control-request-method": "POST" } };
  const allowed = await fetch(`${door.url}/oauth/token`, preflight);
  t.match([allowed.status, allowed.headers.get("access-control-allow-origin")], [204, "*"]);
  t.equal((await post(door, "/oauth/token", {}, headers)).headers.get("access-control-allow-origin"), "*");
  for (const path of ["/oauth/authorize", "/oauth/consent", "/oauth/revoke", "/oauth/introspect", "/device"]) {
    t.equal((await post(door, path, {}, headers)).status, 403, path);
  }
});

t.test("each 401 names the metadata of the resource", async (t) => {
  const { door } = await openWithClient(t);
  const response = await fetch(`${door.url}/v1/helloworld/call`, { method: "POST" });
  const challenge = response.headers.get("www-authenticate") ?? "";
  const [, metadata = ""] = /^Bearer resource_metadata="([^"]*)"$/.exec(challenge) ?? [];
  t.match(await (await fetch(metadata)).json(), { resource: door.url, authorization_servers: [door.url] });
});
