/**
 * The log before the requests: an account that has something of each kind, and what ends it or
 * makes it again.
 */
import { createHash, generateKeyPairSync } from "node:crypto";
import { createLocalJWKSet, exportJWK, type JWTVerifyGetKey, SignJWT } from "jose";
import type { LogEvent } from "../../../services/auth/log/changelog/decide.js";
import { createToken, hashToken } from "../../../src/call/token.js";
import {
  AccountTrust,
  Grant,
  OAuthClient,
  PageSession,
  PersonLink,
  VouchingIssuer,
} from "../../../src/gen/portico/auth/log/v1/log.js";
import { Access } from "../../../src/gen/portico/auth/v1/rules.js";
import { toTimestamp } from "../../../src/time.js";
import { HASH } from "../../services/auth/open.js";
import { NOW } from "./world.js";

export const INSTALLATION = "one";
export const VERIFIER = "v".repeat(43);
export const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");
export const SESSION = createToken("session");
export const CODE = { grant: createToken("code"), device: createToken("deviceCode") };
export const REFRESH = {
  grant: createToken("refresh"),
  issuerGrant: createToken("refresh"),
  login: createToken("refresh"),
};
/** The tokens of a service, and of the person for whom it calls. */
export const SERVICE = { enrolment: createToken("enrolment"), caller: createToken("access") };
export const PAGE_KEY = generateKeyPairSync("ec", { namedCurve: "P-256" });

const URL = "https://company.example";
const AUDIENCE = "https://api.example";
const signing = generateKeyPairSync("ec", { namedCurve: "P-256" });
export const JWT = new SignJWT({ iss: URL, sub: "ann", aud: AUDIENCE, jti: "one", exp: NOW / 1000 + 300 })
  .setProtectedHeader({ alg: "ES256" })
  .sign(signing.privateKey);
const published = exportJWK(signing.publicKey).then((key) => createLocalJWKSet({ keys: [{ ...key, alg: "ES256" }] }));
/** The keys of the issuer, as IssuerKeys has them. */
export const JWT_KEYS = {
  use: async <T>(_: string, verify: (keys: JWTVerifyGetKey) => Promise<T>): Promise<T> => verify(await published),
};

const expires = toTimestamp(NOW + 24 * 60 * 60_000);
const created = toTimestamp(NOW);
const token = (text = createToken("access")) => ({ sha256: hashToken(text), expires });
const OWNER = { namespace: "default", account: "ann" };
const LOGIN = hashToken(REFRESH.login);

function grantOf(id: string, part: Partial<Grant>): LogEvent {
  const grant = { ...Grant.fromPartial({ ...OWNER, id, clientId: "app" }), created, expires, ...part };
  return { $case: "grantCreated", value: { grant } };
}

const codeOf = (text: string, isDevice: boolean) => ({
  ...{ ...token(text), redirectUri: "http://127.0.0.1/", challenge: CHALLENGE, resource: "" },
  ...{ isDevice, redeemed: false },
});

const account: LogEvent = {
  $case: "accountCreated",
  value: { namespace: "default", name: "ann", scopes: [], password: HASH },
};
const client: LogEvent = {
  $case: "oauthClientCreated",
  value: { client: OAuthClient.fromPartial({ namespace: "default", id: "app", redirectUris: ["http://127.0.0.1/"] }) },
};
const issuer: LogEvent = {
  $case: "issuerCreated",
  value: {
    issuer: VouchingIssuer.fromPartial({
      namespace: "default",
      name: "company",
      url: URL,
      signIn: { clientId: "app" },
    }),
  },
};
const trust: LogEvent = {
  $case: "trustCreated",
  value: {
    trust: AccountTrust.fromPartial({
      ...OWNER,
      name: "ci",
      issuer: "company",
      audience: AUDIENCE,
      subject: "ann",
      bearer: true,
    }),
  },
};
const link: LogEvent = {
  $case: "personLinked",
  value: { link: PersonLink.fromPartial({ ...OWNER, issuer: "company", subject: "ann" }) },
};
const session = PageSession.fromPartial({
  ...{ ...OWNER, sha256: hashToken(SESSION), expires, access: [token()] },
  publicKey: PAGE_KEY.publicKey.export({ format: "der", type: "spki" }),
});

const enrolmentOf = (text: string): LogEvent => ({
  $case: "enrolmentCreated",
  value: { name: "front", sha256: hashToken(text), prefix: "", beside: true },
});
const rule: LogEvent = {
  $case: "ruleCreated",
  value: {
    namespace: "default",
    rule: {
      ...{ id: "all", scope: "<public>", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false },
    },
    replaced: undefined,
  },
};

export const SETUP: readonly LogEvent[] = [
  { $case: "installationCreated", value: { id: INSTALLATION } },
  { $case: "namespaceCreated", value: { name: "default" } },
  { $case: "contextSecretCreated", value: { secret: Buffer.alloc(32, 1) } },
  ...[account, client, issuer, trust, link, rule, enrolmentOf(SERVICE.enrolment)],
  grantOf("code", { code: codeOf(CODE.grant, false) }),
  grantOf("device", { code: codeOf(CODE.device, true) }),
  grantOf("refresh", { access: [token(SERVICE.caller)], refresh: token(REFRESH.grant) }),
  grantOf("issuer", { access: [token()], refresh: token(REFRESH.issuerGrant), issuer: "company", subject: "ann" }),
  { $case: "loggedIn", value: { ...OWNER, login: LOGIN, access: token(), refresh: token(REFRESH.login) } },
  { $case: "pageSessionStarted", value: { session } },
];

/** A command that ends something, and the events by which an administrator makes it again. */
export interface End {
  readonly events: readonly LogEvent[];
  readonly again: readonly LogEvent[];
}

const named = { namespace: "default", name: "ann" };
const ended = (id: string): End => ({ events: [{ $case: "grantEnded", value: { id, cause: "" } }], again: [] });

export const ENDS = {
  "its account is disabled": {
    events: [{ $case: "accountDeleted", value: { ...named, disabled: true } }],
    again: [{ $case: "accountEnabled", value: named }],
  },
  "its account is deleted": {
    events: [{ $case: "accountDeleted", value: { ...named, disabled: undefined } }],
    again: [account, link, trust],
  },
  "its account has a new password": {
    events: [
      { $case: "passwordSet", value: { ...named, password: { ...HASH, hash: Buffer.from("new") }, unchanged: false } },
    ],
    again: [],
  },
  "its account signs out everywhere": {
    events: [{ $case: "passwordSet", value: { ...named, password: HASH, unchanged: true } }],
    again: [],
  },
  "its client is deleted": {
    events: [{ $case: "oauthClientDeleted", value: { namespace: "default", id: "app" } }],
    again: [client],
  },
  "its account is unlinked from the person": {
    events: [{ $case: "personUnlinked", value: { namespace: "default", issuer: "company", subject: "ann" } }],
    again: [link],
  },
  "its enrolment is deleted": {
    events: [{ $case: "enrolmentDeleted", value: { name: "front", sha256: Buffer.alloc(0) } }],
    again: [enrolmentOf(createToken("enrolment"))],
  },
  "its issuer is deleted": {
    events: [{ $case: "issuerDeleted", value: { namespace: "default", name: "company" } }],
    again: [issuer, trust, link],
  },
  "its trust is deleted": {
    events: [{ $case: "trustDeleted", value: { namespace: "default", name: "ci" } }],
    again: [trust],
  },
  "the grant with the code is deleted": ended("code"),
  "the grant of the device is deleted": ended("device"),
  "the grant is deleted": ended("refresh"),
  "the grant by the issuer is deleted": ended("issuer"),
  "the login is logged out": { events: [{ $case: "loginRevoked", value: { login: LOGIN, reused: false } }], again: [] },
  "the page signs out": { events: [{ $case: "pageSessionEnded", value: { sha256: session.sha256 } }], again: [] },
} satisfies Record<string, End>;

export type EndName = keyof typeof ENDS;
