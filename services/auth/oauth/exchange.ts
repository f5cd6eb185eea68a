/**
 * The token endpoint: exchanges a code, a refresh token or a device code for tokens (RFC 6749
 * §4.1.3 and §6, RFC 8628 §3.4), and revokes tokens (RFC 7009).
 *
 * What was used once is remembered: a code or a refresh token that comes again was stolen, so its
 * grant ends with every token (RFC 9700 §4.14.2).
 */
import { isVerifierOf } from "../../../src/call/pkce.js";
import { hashToken, isToken } from "../../../src/call/token.js";
import { MCP_RESOURCE } from "../../../src/contract/oauth-scopes.js";
import type { Grant } from "../../../src/gen/portico/auth/log/v1/log.js";
import type {
  ExchangeRequest,
  ExchangeResponse,
  RevokeTokenRequest,
  RevokeTokenResponse,
} from "../../../src/gen/portico/auth/v1/oauth.js";
import { timestampMs } from "../../../src/time.js";
import type { Changes } from "../log/changelog/changes.js";
import { type LogEvent, requestOrigin } from "../log/changelog/decide.js";
import { type GrantToken, type GrantTokenKind, MAX_GRANT_ACCESS } from "../log/state/oauth-table.js";
import type { State } from "../log/state/state.js";
import { createPair, type TokenPair } from "../login/tokens.js";
import type { IssuerSignIns } from "../people/issuer-sign-in.js";
import { authenticates, type ClientCredentials } from "./known-client.js";
import { isMcpOnly, scopesOf, tokenScopes } from "./scopes.js";

/** What a request to the token endpoint leads to. */
type Outcome =
  /** An error code for the client, and its description. */
  | { readonly kind: "refused"; readonly error: string; readonly description: string }
  /** It was used before: the grant ends. */
  | { readonly kind: "reused"; readonly grant: Grant; readonly cause: string }
  | { readonly kind: "tokens"; readonly grant: Grant; readonly isFirst: boolean };

/**
 * Exchanges a refresh token, after the issuer has said again who the person is for whom it was
 * issued; or anything else at once.
 * @throws {StatusError} UNAVAILABLE (rejects) if the issuer cannot be asked
 */
export async function renewAndExchange(
  changes: Changes,
  issuers: Pick<IssuerSignIns, "renew">,
  request: ExchangeRequest,
): Promise<ExchangeResponse> {
  await changes.sync();
  const grant = grantToRenew(changes.state, request, changes.now);
  if (grant !== undefined) await issuers.renew(grant, request.requestId);
  return exchange(changes, request);
}

export async function exchange(changes: Changes, request: ExchangeRequest): Promise<ExchangeResponse> {
  await changes.sync();
  const known = outcomeOf(changes.state, request, changes.now);
  if (known.kind === "refused") return refused(known.error, known.description);
  let outcome: Outcome = known;
  let pair: TokenPair | undefined;
  const { namespace, account } = known.grant;
  const author = { namespace, account, origin: requestOrigin(request) };
  const revision = await changes.issue(author, (state, now): LogEvent[] => {
    outcome = outcomeOf(state, request, now);
    if (outcome.kind === "refused") return [];
    const { id } = outcome.grant;
    if (outcome.kind === "reused") return [{ $case: "grantEnded", value: { id, cause: outcome.cause } }];
    pair = createPair(now, timestampMs(outcome.grant.expires));
    const value = { id, access: pair.access, refresh: pair.refresh };
    return [outcome.isFirst ? { $case: "grantRedeemed", value } : { $case: "grantRefreshed", value }];
  });
  const final = outcome as Outcome;
  const endsTokens =
    final.kind === "reused" || (final.kind === "tokens" && final.grant.access.length >= MAX_GRANT_ACCESS);
  if (endsTokens) await changes.settled(revision);
  if (final.kind === "refused") return refused(final.error, final.description);
  if (final.kind === "reused" || pair === undefined) {
    return refused("invalid_grant", "it was used before; its grant has ended");
  }
  return issued(final.grant, pair, changes.now);
}

/** The grant whose refresh token is going to be exchanged; undefined for any other request. */
function grantToRenew(state: State, request: ExchangeRequest, now: number): Grant | undefined {
  if (request.credential?.$case !== "refreshToken") return undefined;
  const outcome = outcomeOf(state, request, now);
  return outcome.kind === "tokens" ? outcome.grant : undefined;
}

function issued({ resources }: Grant, pair: TokenPair, now: number): ExchangeResponse {
  const { accessToken, refreshToken, access } = pair;
  const expiresIn = Math.max(0, Math.round((timestampMs(access.expires) - now) / 1000));
  return {
    ...{ error: "", description: "" },
    accessToken,
    accessExpires: access.expires,
    refreshToken,
    scopes: tokenScopes(resources),
    expiresIn,
  };
}

function outcomeOf(state: State, request: ExchangeRequest, now: number): Outcome {
  if (!authenticates(state, request)) return refusedBy("invalid_client", "the client or its secret is unknown");
  const credential = request.credential;
  switch (credential?.$case) {
    case "code":
      return byCode(state, request, now);
    case "refreshToken":
      return byRefreshToken(state, request, now);
    case "deviceCode":
      return byDeviceCode(state, credential.value, request, now);
    default:
      return refusedBy("invalid_request", "no code and no token was sent");
  }
}

function byCode(state: State, request: ExchangeRequest, now: number): Outcome {
  const found = find(state, request.credential?.value ?? "", request, ["code"]);
  const { code } = found?.grant ?? {};
  if (found === undefined || code === undefined || code.isDevice) return invalidGrant("the code is unknown");
  const { grant } = found;
  if (code.redeemed) return { kind: "reused", grant, cause: "code used twice" };
  if (timestampMs(code.expires) <= now) return invalidGrant("the code has expired");
  if (code.redirectUri !== request.redirectUri) {
    return invalidGrant("redirect_uri differs from the authorization request's");
  }
  if (!isVerifierOf(request.verifier, code.challenge)) {
    return invalidGrant("code_verifier does not match the challenge");
  }
  if (request.resource !== "" && !covers(grant, request.resource)) {
    return refusedBy("invalid_target", "resource is not that of the authorization request");
  }
  return { kind: "tokens", grant, isFirst: true };
}

function byRefreshToken(state: State, request: ExchangeRequest, now: number): Outcome {
  const found = find(state, request.credential?.value ?? "", request, ["refresh", "spent"]);
  if (found === undefined || timestampMs(found.expires) <= now) {
    return invalidGrant("the refresh token is unknown, has expired, or was revoked");
  }
  const { kind, grant } = found;
  if (kind === "spent") return { kind: "reused", grant, cause: "refresh token used twice" };
  const scopes = scopesOf(grant.resources);
  if (request.scopes.some((scope) => scopes.length > 0 && !scopes.includes(scope))) {
    return refusedBy("invalid_scope", "the scope was not granted");
  }
  if (request.resource !== "" && !covers(grant, request.resource)) {
    return refusedBy("invalid_target", "resource was not granted");
  }
  return { kind: "tokens", grant, isFirst: false };
}

function byDeviceCode(state: State, text: string, client: ClientCredentials, now: number): Outcome {
  const device = isToken(text) ? state.oauth.device(hashToken(text)) : undefined;
  const found = find(state, text, client, ["code"]);
  if (found?.grant.code?.isDevice === true) {
    const { code } = found.grant;
    if (code.redeemed) return { kind: "reused", grant: found.grant, cause: "device code used twice" };
    if (timestampMs(code.expires) <= now) return refusedBy("expired_token", "the device code has expired");
    return { kind: "tokens", grant: found.grant, isFirst: true };
  }
  if (device === undefined || device.clientId !== client.clientId) {
    return invalidGrant("the device code is unknown");
  }
  if (timestampMs(device.expires) <= now) return refusedBy("expired_token", "the device code has expired");
  if (device.denied) return refusedBy("access_denied", "the person refused");
  if (device.decided) return invalidGrant("the grant of the device has ended");
  return refusedBy("authorization_pending", "nobody has decided yet");
}

/** A token or code of the client; of some kinds, where they are given. */
function find(
  { oauth }: State,
  text: string,
  { clientId }: ClientCredentials,
  kinds?: readonly GrantTokenKind[],
): GrantToken | undefined {
  const found = isToken(text) ? oauth.token(hashToken(text)) : undefined;
  const isOfKind = found !== undefined && (kinds?.includes(found.kind) ?? true);
  return isOfKind && found.grant.clientId === clientId ? found : undefined;
}

/** Whether the grant is for the resource: one for the whole gateway is also for `/mcp`. */
function covers({ resources }: Grant, resource: string): boolean {
  return resource === MCP_RESOURCE || !isMcpOnly(resources);
}

export async function revokeToken(changes: Changes, request: RevokeTokenRequest): Promise<RevokeTokenResponse> {
  await changes.sync();
  if (!authenticates(changes.state, request)) return { error: "invalid_client" };
  const known = find(changes.state, request.token, request);
  // An unknown token is no error (RFC 7009 §2.2). It may have ended a moment ago, by a request
  // whose response was lost.
  if (known === undefined) {
    if (isToken(request.token)) await changes.settled(changes.state.revision);
    return { error: "" };
  }
  const { namespace, account } = known.grant;
  const revision = await changes.issue({ namespace, account, origin: requestOrigin(request) }, (state): LogEvent[] => {
    const found = find(state, request.token, request);
    if (found === undefined) return [];
    const { id } = found.grant;
    if (found.kind !== "access") return [{ $case: "grantEnded", value: { id, cause: "revoked by its client" } }];
    return [{ $case: "grantTokenRevoked", value: { id, sha256: hashToken(request.token) } }];
  });
  await changes.settled(revision);
  return { error: "" };
}

function refusedBy(error: string, description: string): Outcome {
  return { kind: "refused", error, description };
}

function invalidGrant(description: string): Outcome {
  return refusedBy("invalid_grant", description);
}

/** @param error its code (RFC 6749 §5.2, RFC 8628 §3.5, RFC 8707 §2) */
export function refused(error: string, description: string): ExchangeResponse {
  const noTokens = { accessToken: "", accessExpires: undefined, refreshToken: "", scopes: [], expiresIn: 0 };
  return { ...noTokens, error, description };
}
