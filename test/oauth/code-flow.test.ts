// The code flow by oauth4webapi, a strict client: it checks metadata, `iss`, `state` and types.
import * as oauth from "oauth4webapi";
import t, { type Test } from "tap";
import { consent, type Door, openDoor } from "./browser.js";

const insecure = { [oauth.allowInsecureRequests]: true };
const REDIRECT = "https://app.example/callback";

interface Client {
  readonly as: oauth.AuthorizationServer;
  readonly client: oauth.Client;
  readonly auth: oauth.ClientAuth;
}

async function discover({ url }: Door): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(url);
  const response = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  return oauth.processDiscoveryResponse(issuer, response);
}

async function register(door: Door, how: "none" | "basic" | "post" = "none"): Promise<Client> {
  const request = { name: `app-${how}`, redirectUris: [REDIRECT], confidential: how !== "none" };
  const { client, secret } = await door.auth<{ client: { id: string }; secret: string }>("Clients/Create", request);
  const auth =
    how === "none" ? oauth.None() : how === "basic" ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret);
  return { as: await discover(door), client: { client_id: client.id }, auth };
}

async function grant(door: Door, { as, client, auth }: Client, extra: Record<string, string> = {}, filled = {}) {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(as.authorization_endpoint!);
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: REDIRECT,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    ...extra,
  }).toString();
  const back = await consent(door, url.href, filled);
  const parameters = oauth.validateAuthResponse(as, client, back, state);
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    auth,
    parameters,
    REDIRECT,
    verifier,
    insecure,
  );
  return oauth.processAuthorizationCodeResponse(as, client, response);
}

for (const how of ["none", "basic", "post"] as const) {
  t.test(`a client that authenticates by ${how} gets, renews and revokes tokens`, async (t) => {
    const door = await openDoor(t);
    const client = await register(door, how);
    const { as, auth } = client;
    const first = await grant(door, client);
    t.match(first, { access_token: /^pta_/, refresh_token: /^ptr_/, token_type: "bearer", expires_in: 3600 });
    t.equal(await door.statusOf(first.access_token), 200);
    const refreshed = await oauth.processRefreshTokenResponse(
      as,
      client.client,
      await oauth.refreshTokenGrantRequest(as, client.client, auth, first.refresh_token!, insecure),
    );
    t.equal(await door.statusOf(refreshed.access_token), 200);
    const revoke = (token: string) => oauth.revocationRequest(as, client.client, auth, token, insecure);
    await oauth.processRevocationResponse(await revoke(refreshed.access_token));
    t.equal(await door.statusOf(refreshed.access_token), 401, "an access token ends alone");
    t.equal(await door.statusOf(first.access_token), 200);
    await oauth.processRevocationResponse(await revoke(refreshed.refresh_token!));
    t.equal(await door.statusOf(first.access_token), 401, "with the refresh token the grant ends");
    await oauth.processRevocationResponse(await revoke("of nobody"));
  });
}

t.test("a grant can be limited, listed and ended", async (t) => {
  const door = await openDoor(t);
  const client = await register(door);
  const { access_token: token } = await grant(
    door,
    client,
    { scope: "service:helloworld:* service:probe:*" },
    {
      scope: "service:helloworld:*",
    },
  );
  t.equal(await door.statusOf(token), 200);
  t.equal(await door.statusOf(token, "/v1/probe/call"), 403, "what was not ticked is refused");
  t.equal(await door.statusOf(token, "/v1/auth/Rules/List"), 403, "and so is administration");
  const { grants } = await door.auth<{ grants: { id: string }[] }>("Grants/List");
  t.match(grants, [{ account: "admin", clientId: "app-none", resources: ["service:helloworld:*"], mcpOnly: false }]);
  await door.auth("Grants/Delete", { id: grants[0]!.id });
  t.equal(await door.statusOf(token), 401, "nothing accepts the token when the command returns");
  t.same(await door.auth("Grants/List"), { grants: [], nextPageToken: "" });
});

for (const [what, end] of [
  ["the client is deleted", (door: Door) => door.auth("Clients/Delete", { id: "app-none" })],
  ["the account is deleted", (door: Door) => door.auth("Accounts/Delete", { name: "ann" })],
  [
    "the password is set",
    (door: Door) => door.auth("Accounts/SetPassword", { name: "ann", newPassword: "another password" }),
  ],
] as const) {
  t.test(`every token ends when ${what}`, async (t) => {
    const door = await openDoor(t);
    const person = { account: "ann", password: "a long password" };
    await door.auth("Accounts/Create", { name: "ann", password: person.password, scopes: [] });
    const client = await register(door);
    const tokens = await grant(door, client, {}, { person });
    t.equal(await door.statusOf(tokens.access_token), 200);
    await end(door);
    t.equal(await door.statusOf(tokens.access_token), 401);
    const { as, auth } = client;
    const response = await oauth.refreshTokenGrantRequest(as, client.client, auth, tokens.refresh_token!, insecure);
    await t.rejects(oauth.processRefreshTokenResponse(as, client.client, response));
  });
}

t.test("a service introspects tokens by its enrolment", async (t) => {
  const door = await openDoor(t);
  const client = await register(door);
  const tokens = await grant(door, client, { scope: "service:helloworld:*", resource: `${door.url}/mcp` });
  const { secret } = await door.auth<{ secret: string }>("Enrolments/Create", { name: "orders" });
  const introspect = async (token: string, by: string) => {
    const headers = { authorization: `Bearer ${by}` };
    const body = new URLSearchParams({ token });
    const response = await fetch(`${door.url}/oauth/introspect`, { method: "POST", headers, body });
    return { status: response.status, ...((await response.json()) as object) };
  };
  t.match(await introspect(tokens.access_token, secret), {
    ...{ status: 200, active: true, scope: "service:helloworld:*", client_id: "app-none", username: "admin" },
    ...{ namespace: "default", token_type: "Bearer", iss: door.url, aud: `${door.url}/mcp` },
  });
  for (const other of [tokens.refresh_token!, secret, "x"]) {
    t.same(await introspect(other, secret), { status: 200, active: false });
  }
  for (const by of [door.admin, tokens.access_token, "x"]) {
    t.match(await introspect(tokens.access_token, by), { status: 401, error: "invalid_token" });
  }
});

t.test("a token for /mcp counts there only", async (t: Test) => {
  const door = await openDoor(t);
  const client = await register(door);
  const { access_token: token } = await grant(door, client, { resource: `${door.url}/mcp` });
  t.equal(await door.statusOf(token), 403);
  t.equal(await door.statusOf(token, "/helloworld/call"), 403, "even where everybody may call");
  const call = await fetch(`${door.url}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "helloworld.Call", arguments: { name: "Ada" } },
    }),
  });
  t.match(await call.json(), { result: { structuredContent: { message: "Hello Ada" } } });
});
