// JWTs of every wrong kind, the keys of issuers, and the subjects of trusts (RFC 8725).
import { SignJWT } from "jose";
import t from "tap";
import { IssuerError, isEndpointOf, issuerUrlProblem } from "../../../services/auth/jwt/issuer-fetch.js";
import { FETCH_INTERVAL, IssuerKeys, MAX_AGE, MAX_STALE } from "../../../services/auth/jwt/issuer-keys.js";
import { subjectProblem, trustOf } from "../../../services/auth/jwt/match.js";
import { JwtError, verifyJwt } from "../../../services/auth/jwt/verify.js";
import { TrustTable } from "../../../services/auth/log/state/trust-table.js";
import { createKey, openIssuer, type TestIssuer } from "../../oauth/issuer.js";

const CLAIMS = { sub: "repo:acme/shop:ref:refs/heads/main", aud: "https://api.example", jti: "1" };
const NO_SIGN_IN = { signIn: undefined, clientSecret: "" };
const seconds = (offset: number): number => Math.floor(Date.now() / 1000) + offset;

function verify({ url }: TestIssuer, jwt: string, keys = new IssuerKeys()) {
  return verifyJwt(jwt, { keys, isKnownIssuer: (other) => other === url, now: Date.now() });
}

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

t.test("a JWT is verified, whatever algorithm of the list its issuer uses", async (t) => {
  const issuer = await openIssuer(t);
  for (const alg of ["RS256", "PS256", "ES256", "ES384", "EdDSA"]) {
    const key = await createKey(alg, alg);
    issuer.published = [key];
    const claims = await verify(issuer, await issuer.sign(CLAIMS));
    t.match(claims, { issuer: issuer.url, subject: CLAIMS.sub, audiences: [CLAIMS.aud], jti: "1" }, alg);
  }
});

t.test("a JWT of a wrong kind is refused", async (t) => {
  const issuer = await openIssuer(t);
  const other = await createKey("first");
  const [own] = issuer.published;
  const valid = await issuer.sign(CLAIMS);
  const [header, payload, signature] = valid.split(".");
  const body = { iss: issuer.url, exp: seconds(300), ...CLAIMS };
  const wrong: Record<string, string | Promise<string>> = {
    "no signature": `${encoded({ alg: "none" })}.${encoded(body)}.`,
    "the algorithm none with a signature": `${encoded({ alg: "none", kid: "first" })}.${encoded(body)}.${signature}`,
    "HMAC with the public key": new SignJWT(body)
      .setProtectedHeader({ alg: "HS256", kid: "first" })
      .sign(Buffer.from(JSON.stringify(own!.kid).padEnd(32))),
    "a key of nobody under a known name": issuer.sign(CLAIMS, {}, other),
    "a key in its header": issuer.sign(CLAIMS, { jwk: { kty: "EC" } }, other),
    "the address of a key in its header": issuer.sign(
      CLAIMS,
      { jku: "http://127.0.0.1:1/", x5u: "http://127.0.0.1:1/" },
      other,
    ),
    "an unknown key": issuer.sign(CLAIMS, { kid: "other" }),
    "a critical extension": issuer.sign(CLAIMS, { crit: ["b64"], b64: true }),
    "another payload": `${header}.${encoded({ ...body, sub: "repo:evil" })}.${signature}`,
    "another issuer": issuer.sign({ ...CLAIMS, iss: "https://other.example" }),
    "no issuer": issuer.sign({ ...CLAIMS, iss: undefined as unknown as string }),
    "no expiry": issuer.sign({ ...CLAIMS, exp: undefined as unknown as number }),
    "an expiry in words": issuer.sign({ ...CLAIMS, exp: "never" as unknown as number }),
    "an expiry a minute ago": issuer.sign({ ...CLAIMS, exp: seconds(-62) }),
    "a beginning in two minutes": issuer.sign({ ...CLAIMS, nbf: seconds(120) }),
    "no subject": issuer.sign({ ...CLAIMS, sub: undefined as unknown as string }),
    "an empty subject": issuer.sign({ ...CLAIMS, sub: "" }),
    "a subject that is a list": issuer.sign({ ...CLAIMS, sub: ["a"] as unknown as string }),
    "no audience": issuer.sign({ ...CLAIMS, aud: undefined as unknown as string }),
    "an audience that is an object": issuer.sign({ ...CLAIMS, aud: { a: 1 } as unknown as string }),
    "two parts": `${header}.${payload}`,
    "an encrypted JWT's five parts": `${valid}.${payload}.${signature}`,
    "no JSON": `${Buffer.from("{").toString("base64url")}.${payload}.${signature}`,
    nothing: "",
  };
  for (const [what, jwt] of Object.entries(wrong)) t.type(await errorOf(verify(issuer, await jwt)), JwtError, what);
  await t.resolves(verify(issuer, valid));
});

t.test("clocks may be a minute apart", async (t) => {
  const issuer = await openIssuer(t);
  await t.resolves(verify(issuer, await issuer.sign({ ...CLAIMS, exp: seconds(-50) })));
  await t.resolves(verify(issuer, await issuer.sign({ ...CLAIMS, nbf: seconds(50) })));
});

t.test("rolled keys count, and unknown ones cost few fetches", async (t) => {
  const issuer = await openIssuer(t);
  let now = 0;
  const keys = new IssuerKeys(() => now);
  const old = issuer.published[0]!;
  await verify(issuer, await issuer.sign(CLAIMS), keys);
  await verify(issuer, await issuer.sign(CLAIMS), keys);
  t.equal(issuer.fetches, 1, "keys are kept");
  const next = await createKey("next");
  issuer.published = [next];
  t.type(
    await errorOf(verify(issuer, await issuer.sign(CLAIMS), keys)),
    JwtError,
    "twelve seconds lie between two fetches",
  );
  for (now = 1_000; now <= 60_000; now += 1_000) {
    t.type(await errorOf(verify(issuer, await issuer.sign(CLAIMS, { kid: `made up ${now}` }), keys)), JwtError);
  }
  t.equal(issuer.fetches, 6, "at most five fetches a minute");
  await t.resolves(verify(issuer, await issuer.sign(CLAIMS), keys), "the new key counts");
  t.type(await errorOf(verify(issuer, await issuer.sign(CLAIMS, {}, old), keys)), JwtError, "the old key does not");
});

t.test("a key that was removed counts for less than 45 s", async (t) => {
  const issuer = await openIssuer(t);
  let now = 0;
  const keys = new IssuerKeys(() => now);
  const jwt = await issuer.sign(CLAIMS);
  await verify(issuer, jwt, keys);
  issuer.published = [await createKey("next")];
  now = MAX_AGE + 1;
  t.type(await errorOf(verify(issuer, jwt, keys)), JwtError);
});

t.test("an issuer that does not respond in order", async (t) => {
  const issuer = await openIssuer(t);
  const json = (value: unknown) => JSON.stringify(value);
  const jwt = await issuer.sign(CLAIMS);
  const found = (rest: object) => json({ issuer: issuer.url, ...rest });
  const bad: [what: string, message: RegExp, status: number, body: string, headers?: Record<string, string>][] = [
    ["an error", /has the status 500/, 500, "{}"],
    ["no JSON", /JSON/, 200, "<html>"],
    ["a list", /is no JSON object/, 200, "[]"],
    ["another issuer", /names another issuer/, 200, json({ issuer: "https://other.example", jwks_uri: issuer.url })],
    ["no address of keys", /has no jwks_uri/, 200, found({})],
    ["an address of keys without TLS", /no jwks_uri at https/, 200, found({ jwks_uri: "http://keys.example/" })],
    ["an address that is a file", /no jwks_uri at https/, 200, found({ jwks_uri: "file:///etc/passwd" })],
    ["an address with a password", /no jwks_uri at https/, 200, found({ jwks_uri: "https://a:b@keys.example/" })],
    ["a document that is too large", /is larger than/, 200, found({ jwks_uri: issuer.url, x: "x".repeat(65_536) })],
    ["a redirect", /fetch failed/, 302, "", { location: `${issuer.url}/keys` }],
  ];
  for (const [what, message, status, body, headers] of bad) {
    issuer.respond = (_, response) => response.writeHead(status, headers).end(body);
    const error = await errorOf(verify(issuer, jwt));
    t.type(error, IssuerError, what);
    t.match((error as Error).message, message, what);
  }
});

t.test("known keys count for ten minutes while their issuer cannot be reached", async (t) => {
  const issuer = await openIssuer(t);
  let now = 0;
  const keys = new IssuerKeys(() => now);
  const jwt = await issuer.sign(CLAIMS);
  await verify(issuer, jwt, keys);
  issuer.respond = (_, response) => response.writeHead(503).end();
  now = MAX_AGE + FETCH_INTERVAL;
  await t.resolves(verify(issuer, jwt, keys));
  now = MAX_STALE + 1;
  t.type(await errorOf(verify(issuer, jwt, keys)), IssuerError);
});

t.test("the URL of an issuer", async (t) => {
  for (const url of [
    "https://token.actions.githubusercontent.com",
    "https://a.example/realms/b",
    "http://127.0.0.1:8080",
  ]) {
    t.equal(issuerUrlProblem(url), undefined, url);
  }
  for (const url of [
    "",
    "a.example",
    "http://a.example",
    "https://a.example/?a",
    "https://a:b@a.example",
    "ftp://a.example",
  ]) {
    t.type(issuerUrlProblem(url), "string", url);
  }
});

t.test("which endpoints an issuer may name", async (t) => {
  const [far, here] = ["https://a.example", "http://127.0.0.1:8080"];
  for (const [issuer, endpoint] of [
    [far, "https://keys.example/keys?v=2"],
    [far, "https://10.0.0.1/keys"],
    [here, "http://127.0.0.1:8081/keys"],
    [here, "https://a.example/keys"],
  ] as const)
    t.ok(isEndpointOf(issuer, endpoint), `${endpoint} of ${issuer}`);
  for (const [issuer, endpoint] of [
    [far, "http://127.0.0.1:8080/keys"],
    [far, "http://localhost/keys"],
    [far, "http://[::1]/keys"],
    [here, "http://[::ffff:127.0.0.1]/keys"],
    [here, "http://a.example/keys"],
    [far, "http://a.example/keys"],
    [far, "file:///keys"],
    [far, "/keys"],
    [far, `https://a.example/${"k".repeat(500)}`],
    [far, 7],
  ] as const)
    t.notOk(isEndpointOf(issuer, endpoint), `${endpoint} of ${issuer}`);
});

t.test("which subjects a trust may have", async (t) => {
  for (const subject of ["a", "repo:acme/*", "system:serviceaccount:shop:deployer"])
    t.equal(subjectProblem(subject), undefined);
  for (const subject of ["", "*", "**", "a*b", "*a", "x".repeat(1_001)])
    t.type(subjectProblem(subject), "string", subject);
});

/** The claims of platforms, as their documentation shows them, and the trusts for them. */
const PLATFORMS = [
  {
    platform: "GitHub Actions",
    claims: { aud: "https://github.com/acme", sub: "repo:acme/shop:environment:production" },
    yes: ["repo:acme/shop:environment:production", "repo:acme/shop:*", "repo:acme/*"],
    no: ["repo:acme/shop", "repo:Acme/*", "repo:acme/shop:environment:prod", "repo:acme/shopping*"],
  },
  {
    platform: "GitLab",
    claims: { aud: ["https://gitlab.example"], sub: "project_path:acme/shop:ref_type:branch:ref:main" },
    yes: ["project_path:acme/shop:ref_type:branch:ref:main", "project_path:acme/shop:*"],
    no: ["project_path:acme/shop:ref_type:tag:*", "project_path:acme/sho"],
  },
  {
    platform: "Kubernetes",
    claims: { aud: ["https://api.example", "other"], sub: "system:serviceaccount:shop:deployer" },
    yes: ["system:serviceaccount:shop:deployer", "system:serviceaccount:shop:*"],
    no: ["system:serviceaccount:Shop:deployer", "system:serviceaccount:shop:deploy"],
  },
];

for (const { platform, claims, yes, no } of PLATFORMS) {
  t.test(`the claims of ${platform}`, async (t) => {
    const audiences = [claims.aud].flat();
    const accepts = (subject: string, audience: string): boolean => {
      const trusts = new TrustTable();
      const common = { namespace: "default", created: undefined };
      trusts.putIssuer({ ...common, ...NO_SIGN_IN, name: "platform", url: "https://issuer.example" });
      trusts.putTrust({ ...common, name: "a", issuer: "platform", audience, subject, account: "a", bearer: false });
      const given = { issuer: "https://issuer.example", subject: claims.sub, audiences, jti: "", expires: 0 };
      try {
        return trustOf({ trusts, account: () => ({}) }, given, false).name === "a";
      } catch (error) {
        t.type(error, JwtError);
        return false;
      }
    };
    for (const subject of yes) t.ok(accepts(subject, audiences[0]!), subject);
    for (const subject of no) t.notOk(accepts(subject, audiences[0]!), subject);
    t.notOk(accepts(yes[0]!, "https://else.example"), "another audience");
  });
}
