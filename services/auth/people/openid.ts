/**
 * Portico as the client of an issuer (OpenID Connect Core 1.0 §3.1): the request that a browser
 * takes there, the exchange of the code that it brings back, and who the issuer says the person is.
 */
import { type JWTPayload, jwtVerify } from "jose";
import { challengeOf } from "../../../src/call/pkce.js";
import { askIssuer, endpointOf, IssuerError, readIssuer } from "../jwt/issuer-fetch.js";
import type { IssuerKeys, IssuerMetadata } from "../jwt/issuer-keys.js";
import { ALGORITHMS, JwtError, LEEWAY, refusalOf } from "../jwt/verify.js";
import type { AttemptSecrets } from "./attempt.js";
import { EMAIL, type SignInIssuer } from "./settings.js";

/** Milliseconds for the requests of one sign-in. */
const TIMEOUT_MS = 8_000;
export const MAX_SUBJECT = 255;

/** What an issuer says about a person, verified. */
export interface Identity {
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Empty where the issuer gives none. */
  readonly refreshToken: string;
}

/** The issuer says that it vouches no longer: the person is gone, or the refresh token is. */
export class NoLongerError extends Error {}

export interface OpenIdOptions {
  readonly keys: IssuerKeys;
  /** In milliseconds since 1970. */
  readonly now: number;
}

/** Where the browser goes. @throws {IssuerError} (rejects) */
export async function authorizationUrl(
  { url, signIn }: SignInIssuer,
  { state, nonce, verifier }: AttemptSecrets,
  { redirectUri, keys }: { redirectUri: string; keys: IssuerKeys },
): Promise<string> {
  const metadata = await keys.metadata(url);
  const location = new URL(endpointOf(url, metadata, "authorization_endpoint"));
  const supported = [metadata.scopes_supported ?? []].flat();
  // Without them, some issuers give no refresh token, name or groups; others refuse what they do
  // not know.
  const scopes = ["email", "profile", "groups", "offline_access"].filter((scope) => supported.includes(scope));
  const parameters = {
    ...{ response_type: "code", client_id: signIn.clientId, redirect_uri: redirectUri },
    ...{ scope: ["openid", ...scopes].join(" "), state, nonce },
    ...{ code_challenge: challengeOf(verifier), code_challenge_method: "S256" },
  };
  for (const [name, value] of Object.entries(parameters)) location.searchParams.set(name, value);
  return location.href;
}

/**
 * Whether an authorization response comes from this issuer (RFC 9207): one that announces `iss`
 * always sends it.
 */
export async function isFrom({ url }: SignInIssuer, iss: string, keys: IssuerKeys): Promise<boolean> {
  if (iss !== "") return iss === url;
  return (await keys.metadata(url)).authorization_response_iss_parameter_supported !== true;
}

/**
 * Exchanges the code.
 * @throws {JwtError | IssuerError} (rejects)
 */
export async function identify(
  issuer: SignInIssuer,
  { code, redirectUri, secrets }: { code: string; redirectUri: string; secrets: AttemptSecrets },
  options: OpenIdOptions,
): Promise<Identity> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const metadata = await options.keys.metadata(issuer.url);
  const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: secrets.verifier };
  const { status, value } = await askForTokens(issuer, metadata, { form, signal });
  if (status !== 200) throw new IssuerError(`it refused the code${reasonIn(value)}`);
  if (typeof value.id_token !== "string") throw new IssuerError("it sent no ID token");
  const claims = await verifyIdToken(issuer, value.id_token, options);
  if (claims.nonce !== secrets.nonce) throw new JwtError("its claim nonce is that of another sign-in");
  return whole(issuer, metadata, { claims, tokens: value, signal });
}

/**
 * Asks again, by a refresh token.
 * @throws {NoLongerError | JwtError | IssuerError} (rejects)
 */
export async function identifyAgain(
  issuer: SignInIssuer,
  { subject, refreshToken }: Pick<Identity, "subject" | "refreshToken">,
  options: OpenIdOptions,
): Promise<Identity> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const metadata = await options.keys.metadata(issuer.url);
  const form = { grant_type: "refresh_token", refresh_token: refreshToken };
  const { status, value } = await askForTokens(issuer, metadata, { form, signal });
  if (status === 400 && value.error === "invalid_grant") throw new NoLongerError("it refused the refresh token");
  if (status !== 200) throw new IssuerError(`it refused the refresh token${reasonIn(value)}`);
  // It may leave the ID token out (OpenID Connect Core 1.0 §12.2).
  const { id_token: idToken } = value;
  const claims = typeof idToken === "string" ? await verifyIdToken(issuer, idToken, options) : { sub: subject };
  if (claims.sub !== subject) throw new JwtError("its claim sub is that of another person");
  return whole(issuer, metadata, { claims, tokens: value, signal });
}

/** The identity, with what only the UserInfo endpoint says (OpenID Connect Core 1.0 §5.3). */
async function whole(
  { url, signIn }: SignInIssuer,
  metadata: IssuerMetadata,
  { claims, tokens, signal }: { claims: JWTPayload; tokens: Record<string, unknown>; signal: AbortSignal },
): Promise<Identity> {
  const { sub: subject = "" } = claims;
  const refreshToken = typeof tokens.refresh_token === "string" ? tokens.refresh_token : "";
  const { accountClaim, groupsClaim, map } = signIn;
  const wanted = [
    accountClaim,
    ...(accountClaim === EMAIL ? ["email_verified"] : []),
    ...(map.length > 0 ? [groupsClaim] : []),
  ];
  const isWhole = wanted.every((name) => claims[name] !== undefined);
  if (isWhole || metadata.userinfo_endpoint === undefined || typeof tokens.access_token !== "string") {
    return { subject, claims, refreshToken };
  }
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  const info = await readIssuer(endpointOf(url, metadata, "userinfo_endpoint"), { signal, headers });
  if (info.sub !== subject) throw new JwtError("its UserInfo endpoint names another person");
  // Whether an address is verified counts only if the same document says so.
  const both = [claims, info].filter(({ email }) => email !== undefined);
  const { email, email_verified } = both.find((it) => it.email_verified !== undefined) ?? both[0] ?? {};
  return { subject, claims: { ...info, ...claims, email, email_verified }, refreshToken };
}

/** @throws {JwtError | IssuerError} (rejects) */
async function verifyIdToken(
  { url, signIn }: SignInIssuer,
  idToken: string,
  { keys, now }: OpenIdOptions,
): Promise<JWTPayload> {
  const options = {
    ...{ issuer: url, audience: signIn.clientId, algorithms: ALGORITHMS, clockTolerance: LEEWAY / 1000 },
    ...{ currentDate: new Date(now), requiredClaims: ["iss", "sub", "aud", "exp", "iat"] },
  };
  let payload: JWTPayload;
  try {
    ({ payload } = await keys.use(url, (set) => jwtVerify(idToken, set, options)));
  } catch (error) {
    throw refusalOf(error);
  }
  const { sub = "", aud, azp } = payload;
  if (typeof sub !== "string" || sub === "" || sub.length > MAX_SUBJECT) throw new JwtError("its claim sub is no name");
  // It may be for another client, which shows ours what it got (OpenID Connect Core 1.0 §3.1.3.7).
  const isForOther = azp === undefined ? [aud].flat().length > 1 : azp !== signIn.clientId;
  if (isForOther) throw new JwtError("its claim azp names another client");
  return payload;
}

/** @throws {IssuerError | Error} (rejects) */
function askForTokens(
  { url, signIn, clientSecret }: SignInIssuer,
  metadata: IssuerMetadata,
  { form, signal }: { form: Record<string, string>; signal: AbortSignal },
) {
  const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = metadata;
  const isBasic = clientSecret !== "" && [methods].flat().includes("client_secret_basic");
  const { clientId } = signIn;
  const inForm = isBasic ? {} : { client_id: clientId, ...(clientSecret !== "" && { client_secret: clientSecret }) };
  const headers = isBasic ? { authorization: basicOf(clientId, clientSecret) } : {};
  const all = new URLSearchParams({ ...form, ...inForm });
  return askIssuer(endpointOf(url, metadata, "token_endpoint"), { signal, headers, form: all });
}

/** Encoded as in a form, and then in base64 (RFC 6749 §2.3.1). */
function basicOf(...parts: readonly string[]): string {
  const encoded = parts.map((part) => new URLSearchParams({ part }).toString().slice("part=".length)).join(":");
  return `Basic ${Buffer.from(encoded).toString("base64")}`;
}

/** An error code, and nothing else that a stranger wrote. */
function reasonIn({ error }: Record<string, unknown>): string {
  return typeof error === "string" && isErrorCode(error) ? ` (${error})` : "";
}

export function isErrorCode(text: string): boolean {
  return /^[a-z_]{1,50}$/.test(text);
}
