// Programs call with JWTs that their platforms issue: exchanged (RFC 8693), or as bearer tokens.
import { inspect } from "node:util";
import * as oauth from "oauth4webapi";
import t, { type Test } from "tap";
import { Feed } from "../gateway/dialects/json/streams/feed.js";
import { inTime } from "../support/until.js";
import { type Door, openDoor } from "./browser.js";
import { openIssuer, type TestIssuer } from "./issuer.js";

const AUDIENCE = "https://api.example";
const SUBJECT = "repo:acme/shop:ref:refs/heads/main";

interface Trusting {
  readonly door: Door;
  readonly issuer: TestIssuer;
}

async function trusting(t: Test, bearer: boolean): Promise<Trusting> {
  const [door, issuer] = [await openDoor(t, { services: [new Feed().service] }), await openIssuer(t)];
  await door.auth("Accounts/Create", { name: "deployer", withoutPassword: true, scopes: ["admin"] });
  await door.auth("Issuers/Create", { name: "platform", url: issuer.url });
  await trust(door, bearer);
  return { door, issuer };
}

function trust(door: Door, bearer: boolean) {
  const request = {
    name: "deploy",
    issuer: "platform",
    audience: AUDIENCE,
    subject: "repo:acme/*",
    account: "deployer",
  };
  return door.auth("Trusts/Create", { ...request, bearer });
}

function jwtOf({ issuer }: Trusting, claims: Record<string, unknown> = {}): Promise<string> {
  return issuer.sign({ sub: SUBJECT, aud: AUDIENCE, jti: "run-1", ...claims });
}

async function exchange({ url }: Door, parameters: Record<string, string>): Promise<oauth.TokenEndpointResponse> {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(url);
  const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  const as = await oauth.processDiscoveryResponse(issuer, found);
  const client = { client_id: "ci" };
  const type = "urn:ietf:params:oauth:grant-type:token-exchange";
  const all = { subject_token_type: "urn:ietf:params:oauth:token-type:jwt", ...parameters };
  const response = await oauth.genericTokenEndpointRequest(as, client, oauth.None(), type, all, insecure);
  return oauth.processGenericTokenEndpointResponse(as, client, response);
}

/** The error code with which an exchange is refused. */
function refusalOf(exchanged: Promise<unknown>): Promise<string> {
  return exchanged.then(
    () => "none",
    (error: oauth.ResponseBodyError) => error.error,
  );
}

t.test("a JWT is exchanged for an access token, which lives no longer than it", async (t) => {
  const given = await trusting(t, false);
  const { door } = given;
  const response = await exchange(door, { subject_token: await jwtOf(given) });
  t.match(response, {
    access_token: /^pta_/,
    issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
    token_type: "bearer",
    refresh_token: undefined,
  });
  t.ok(response.expires_in! > 290 && response.expires_in! <= 300, "as long as the JWT");
  t.equal(await door.statusOf(response.access_token), 200);
  t.equal(await door.statusOf(await jwtOf(given)), 401, "the JWT itself is no token without --bearer");
  const long = await exchange(door, {
    subject_token: await jwtOf(given, { exp: Math.floor(Date.now() / 1000) + 90_000 }),
  });
  t.ok(long.expires_in! > 3_590 && long.expires_in! <= 3_600, "an hour at most");
  t.equal(await door.statusOf(long.access_token, "/v1/auth/Rules/List"), 403, "it administers nothing");
  const limited = await exchange(door, { subject_token: await jwtOf(given), scope: "service:probe:*" });
  t.equal(await door.statusOf(limited.access_token), 403, "it can be limited to resources");
});

t.test("what came from a JWT creates and rotates no key, which would outlive it and its trust", async (t) => {
  const given = await trusting(t, true);
  const { door } = given;
  const { key } = await door.auth<{ key: { prefix: string } }>("Keys/Create", { name: "own", account: "deployer" });
  const jwt = await jwtOf(given);
  const { access_token: exchanged } = await exchange(door, { subject_token: jwt });
  for (const token of [jwt, exchanged]) {
    await t.rejects(door.auth("Keys/Create", { name: "ci" }, token), /came from a JWT cannot create keys/);
    await t.rejects(door.auth("Keys/Rotate", { prefix: key.prefix }, token), /came from a JWT cannot create keys/);
  }
  t.equal((await door.auth<{ keys: unknown[] }>("Keys/List", {}, exchanged)).keys.length, 1);
});

t.test("an exchange that is refused", async (t) => {
  const given = await trusting(t, false);
  const { door } = given;
  const cases: [string, Record<string, string>, string][] = [
    ["another subject", { subject_token: await jwtOf(given, { sub: "repo:evil/shop" }) }, "invalid_grant"],
    ["another audience", { subject_token: await jwtOf(given, { aud: "https://else.example" }) }, "invalid_grant"],
    ["no JWT", { subject_token: "ey" }, "invalid_grant"],
    ["nothing", {}, "invalid_request"],
    [
      "a type that is no JWT",
      { subject_token: "a", subject_token_type: "urn:ietf:params:oauth:token-type:saml2" },
      "invalid_request",
    ],
    ["for somebody else", { subject_token: await jwtOf(given), actor_token: "a" }, "invalid_request"],
    ["a scope that is none", { subject_token: await jwtOf(given), scope: "openid" }, "invalid_scope"],
  ];
  for (const [what, parameters, error] of cases) t.equal(await refusalOf(exchange(door, parameters)), error, what);
});

t.test("a JWT of a trust with bearer is a token", async (t) => {
  const given = await trusting(t, true);
  const { door, issuer } = given;
  const jwt = await jwtOf(given);
  t.equal(await door.statusOf(jwt), 200);
  t.equal(await door.statusOf(jwt), 200);
  t.equal(issuer.fetches, 1);
  t.equal(await door.statusOf(jwt, "/v1/auth/Rules/List"), 403, "it administers nothing, whatever its account may");
  for (const wrong of [await jwtOf(given, { sub: "repo:evil" }), `${jwt}A`, `ey${"a".repeat(9_000)}.a.a`, "ey.ey.ey"]) {
    t.equal(await door.statusOf(wrong), 401);
  }
  const { logged, starts } = door.deployment;
  t.notOk(JSON.stringify(logged).includes(jwt), "no log has it");
  t.ok(starts.length > 0);
  for (const { metadata } of starts) t.notOk(inspect(metadata, { depth: 9 }).includes(jwt), "no service gets it");
});

/** Opens a stream that ends only when it is refused. */
async function openStream({ url }: Door, token: string): Promise<{ rest(): Promise<string> }> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/feed/count?messages=1&hang=true`, { headers });
  const reader = response.body!.getReader();
  const first = await reader.read();
  const rest = async (): Promise<string> => {
    let text = Buffer.from(first.value ?? []).toString();
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += Buffer.from(next.value);
    return text;
  };
  return { rest: () => inTime(rest(), "the end of the stream") };
}

// What else ends them is in test/access/ended.test.ts.
t.test("a JWT, its access token and its streams end when the trust is deleted", async (t) => {
  const given = await trusting(t, true);
  const { door } = given;
  const jwt = await jwtOf(given);
  const { access_token: token } = await exchange(door, { subject_token: jwt });
  for (const one of [token, jwt]) t.equal(await door.statusOf(one), 200);
  const stream = await openStream(door, jwt);
  await door.auth("Trusts/Delete", { name: "deploy" });
  for (const one of [token, jwt]) t.equal(await door.statusOf(one), 401);
  t.match(await stream.rest(), /"code":|error/, "the open stream has ended");
  t.equal(await refusalOf(exchange(door, { subject_token: jwt })), "invalid_grant");
});

/** The order of the curve P-256 (FIPS 186-4 D.1.2.3). */
const P256 = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** The JWT with the other signature of ES256 that is as valid: n − s instead of s. */
function withOtherSignature(jwt: string): string {
  const [header, payload, signature = ""] = jwt.split(".");
  const bytes = Buffer.from(signature, "base64url");
  const s = P256 - BigInt(`0x${bytes.toString("hex", 32)}`);
  const other = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, "0"), "hex")]);
  return `${header}.${payload}.${other.toString("base64url")}`;
}

t.test("another signature of the same JWT is as valid", async (t) => {
  const given = await trusting(t, true);
  t.equal(await given.door.statusOf(withOtherSignature(await jwtOf(given))), 200);
});

t.test("what was revoked stays so, whatever is made again", async (t) => {
  const given = await trusting(t, true);
  const { door, issuer } = given;
  const [first, second] = [await jwtOf(given), await jwtOf(given, { jti: "run-2" })];
  for (const jwt of [first, second]) t.equal(await door.statusOf(jwt), 200);
  await door.auth("Trusts/RevokeToken", { jti: "run-1" });
  t.equal(await door.statusOf(withOtherSignature(first)), 401, "nor does it count with its signature written anew");
  t.equal(await door.statusOf(second), 200, "another JWT of the trust is not affected");
  await door.auth("Accounts/SetDisabled", { name: "deployer", disabled: true });
  await door.auth("Accounts/SetDisabled", { name: "deployer", disabled: false });
  for (const jwt of [first, second]) t.equal(await door.statusOf(jwt), 401, "not by enabling the account");
  await door.auth("Issuers/Delete", { name: "platform" });
  await door.auth("Issuers/Create", { name: "platform", url: issuer.url });
  t.same(await door.auth("Trusts/List"), { trusts: [] }, "an issuer made again has no trusts");
  await trust(door, true);
  for (const jwt of [first, second]) t.equal(await door.statusOf(jwt), 401);
  t.equal(await door.statusOf(await jwtOf(given, { jti: "run-3" })), 200, "a new JWT is accepted");
});

t.test("issuers and trusts that cannot be created", async (t) => {
  const { door } = await trusting(t, false);
  const good = { name: "b", issuer: "platform", audience: "b", subject: "b", account: "deployer" };
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ["Issuers/Create", { name: "platform", url: "https://a.example" }, /exists already/],
    ["Issuers/Create", { name: "b", url: "http://a.example" }, /url: must be https/],
    ["Trusts/Create", { ...good, name: "deploy" }, /exists already/],
    ["Trusts/Create", { ...good, subject: "*" }, /subject: must say more/],
    ["Trusts/Create", { ...good, audience: "" }, /audience: must have/],
    ["Trusts/Create", { ...good, issuer: "none" }, /no issuer/],
    ["Trusts/Create", { ...good, account: "none" }, /no account/],
    ["Trusts/Create", { ...good, audience: AUDIENCE, subject: "repo:acme/*" }, /the same audience and subject/],
    ["Trusts/RevokeToken", { jti: "unknown" }, /no JWT with this jti/],
  ];
  for (const [path, body, message] of cases) await t.rejects(door.auth(path, body), { message }, message.source);
});
