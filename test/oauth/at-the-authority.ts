/** Consents to clients and their tokens, asked for as gateways ask the authority. */
import { createHash } from "node:crypto";
import { SYSTEM } from "../../src/access/guard.js";
import {
  type BeginIssuerSignInRequest,
  type ExchangeRequest,
  OAuthService,
  type SignInResponse,
} from "../../src/gen/portico/auth/v1/oauth.js";
import type { CallOptions } from "../../src/rpc/client.js";
import { type Open, PASSWORD } from "../services/auth/open.js";
import type { TestIssuer } from "./issuer.js";

const VERIFIER = "v".repeat(43);
export const REDIRECT = "http://127.0.0.1:1/callback";
const system: CallOptions = { admission: SYSTEM };
const origin = { address: "192.0.2.1", requestId: "" };

const ADMIN = { account: "admin", password: PASSWORD };
const CLI = "portico-cli";

function requestOf(clientId: string) {
  const challenge = createHash("sha256").update(VERIFIER).digest("base64url");
  return { clientId, redirectUri: REDIRECT, challenge, scopes: [], resource: "", state: "" };
}

/** Signs in, by default as the administrator, and consents for some days. Returns the code. */
export async function consent(opened: Open, clientId = CLI, person = ADMIN, days = 30): Promise<string> {
  const request = { namespace: "", ...person, ...origin, request: requestOf(clientId), userCode: "" };
  const { sealed } = await opened.call(OAuthService.signIn, request, undefined, system);
  return decide(opened, sealed, days);
}

/** Signs in as the administrator with the code that a device shows, and allows the device. */
export async function consentToDevice(opened: Open, userCode: string): Promise<void> {
  const asked = { namespace: "", ...ADMIN, ...origin, request: undefined, userCode };
  const { error, sealed } = await opened.call(OAuthService.signIn, asked, undefined, system);
  if (error !== "") throw new Error(error);
  await decide(opened, sealed);
}

/** Signs in by an issuer, which knows the person by the subject, and consents. Returns the code. */
export async function consentBy(opened: Open, by: ByIssuer, clientId: string): Promise<string> {
  const { sealed } = await signInBy(opened, by, { request: requestOf(clientId) });
  return decide(opened, sealed);
}

/** Who signs in by which issuer. */
export interface ByIssuer {
  readonly issuer: TestIssuer;
  readonly name: string;
  readonly subject: string;
  readonly audience: string;
}

/** For what a person signs in by an issuer. */
type Purpose = Partial<Pick<BeginIssuerSignInRequest, "request" | "publicKey">>;

/** Signs in by an issuer, for a client or on the pages. */
export function signInBy(
  opened: Open,
  { issuer, name, subject, audience }: ByIssuer,
  purpose: Purpose,
): Promise<SignInResponse> {
  return signInAt(opened, name, purpose, async (location) => {
    const { searchParams } = new URL(location);
    const [state, nonce] = [searchParams.get("state") ?? "", searchParams.get("nonce") ?? ""];
    const claims = { sub: subject, aud: audience, nonce, iat: Math.floor(Date.now() / 1000) };
    const idToken = await issuer.sign(claims);
    issuer.tokens = { status: 200, body: { token_type: "Bearer", access_token: "a", id_token: idToken } };
    return new URLSearchParams({ state, code: "of the issuer" });
  });
}

/** What a browser brings back that was sent to a location of the issuer. */
type Visit = (location: string) => Promise<URLSearchParams>;

/** Signs in by an issuer with pages of its own, and consents. Returns the code. */
export async function consentAt(opened: Open, name: string, visit: Visit, clientId = CLI): Promise<string> {
  const { sealed } = await signInAt(opened, name, { request: requestOf(clientId) }, visit);
  return decide(opened, sealed);
}

async function signInAt(opened: Open, name: string, purpose: Purpose, visit: Visit): Promise<SignInResponse> {
  const none = { request: undefined, publicKey: Buffer.alloc(0) };
  const asked = {
    issuer: name,
    publicUrl: "https://portico.example",
    userCode: "",
    requestId: "",
    ...none,
    ...purpose,
  };
  const { location, attempt } = await opened.call(OAuthService.beginIssuerSignIn, asked, undefined, system);
  const brought = await visit(location);
  const [state, code, iss] = ["state", "code", "iss"].map((field) => brought.get(field) ?? "") as [
    string,
    string,
    string,
  ];
  const back = { issuer: name, attempt, state, code, iss, error: "", ...origin };
  const response = await opened.call(OAuthService.endIssuerSignIn, back, undefined, system);
  if (response.error !== "") throw new Error(response.error);
  return response;
}

async function decide({ call }: Open, sealed: string, days = 30): Promise<string> {
  const decision = { sealed, denied: false, resources: [], days, clientName: "", address: "", requestId: "" };
  return (await call(OAuthService.decide, decision, undefined, system)).code;
}

export function exchange({ call }: Open, credential: ExchangeRequest["credential"], clientId = CLI) {
  const request = {
    ...{ clientId, clientSecret: "", redirectUri: REDIRECT, verifier: VERIFIER },
    ...{ resource: "", scopes: [], address: "", requestId: "" },
  };
  return call(OAuthService.exchange, { ...request, credential }, undefined, system);
}

/** Exchanges a JWT for an access token. */
export function exchangeJwt({ call }: Open, jwt: string) {
  return call(OAuthService.exchangeJwt, { jwt, scopes: [], resource: "", ...origin }, undefined, system);
}

/** The client revokes a token of its own (RFC 7009). */
export function revoke({ call }: Open, token: string, clientId: string) {
  return call(OAuthService.revokeToken, { clientId, clientSecret: "", token, ...origin }, undefined, system);
}
