/**
 * The authorization server (OAuth 2.1) as gateways ask for it. The HTTP endpoints are in
 * gateway/built-in/oauth; what is decided and stored is here:
 *
 *     sign-in.ts   a person signs in and consents: a grant with a code
 *     exchange.ts  a client exchanges the code for tokens, renews and revokes them
 *     devices.ts   codes for devices without a browser
 *     clients.ts, grants.ts   what administrators and people see of them
 */
import { hashToken, isToken } from "../../../src/call/token.js";
import { qualifiedName } from "../../../src/contract/names.js";
import {
  type IntrospectRequest,
  type IntrospectResponse,
  OAuthService,
} from "../../../src/gen/portico/auth/v1/oauth.js";
import type { ServicePart } from "../../../src/rpc/service.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";
import { gatewayPart } from "../endpoints/checks.js";
import type { Jwts } from "../jwt/jwts.js";
import type { Changes } from "../log/changelog/changes.js";
import { type Attempts, LoginThrottle } from "../login/attempts.js";
import { checkSessionKey } from "../login/page-sessions.js";
import type { IssuerSignIns } from "../people/issuer-sign-in.js";
import { isSignIn } from "../people/settings.js";
import { Devices } from "./devices.js";
import { renewAndExchange, revokeToken } from "./exchange.js";
import { registeredClient } from "./known-client.js";
import { isMcpOnly, tokenScopes } from "./scopes.js";
import { decide, openRequest, type SignInOptions, signIn, signInByIssuer } from "./sign-in.js";

interface OAuthOptions {
  readonly changes: Changes;
  readonly attempts: Attempts;
  readonly jwts: Jwts;
  readonly issuers: IssuerSignIns;
}

/** The gRPC service portico.auth.v1.OAuth. */
export function oauth({ changes, attempts, jwts, issuers }: OAuthOptions): ServicePart {
  const devices = new Devices(changes);
  const options: SignInOptions = { changes, attempts, userCodes: new LoginThrottle({ clock: () => changes.now }) };
  return gatewayPart(OAuthService, {
    getClient: async ({ id }) => {
      await changes.sync();
      const known = registeredClient(changes.state, id);
      if (known === undefined) return { client: undefined };
      const { name, namespace, redirectUris } = known;
      return { client: { name, namespace, redirectUris: [...redirectUris] } };
    },
    signIn: (request) => signIn(options, request),
    listSignInIssuers: async ({ namespace }) => {
      await changes.sync();
      const all = changes.state.trusts.issuersOf(namespace).filter(isSignIn);
      const named = all.map((issuer) => ({ id: qualifiedName(issuer), name: issuer.name }));
      return { issuers: named.sort((a, b) => (a.name < b.name ? -1 : 1)) };
    },
    beginIssuerSignIn: (request) => {
      if (request.publicKey.length > 0) checkSessionKey(request.publicKey);
      return issuers.begin(request);
    },
    endIssuerSignIn: (request) => signInByIssuer(options, issuers, request),
    openRequest: ({ sealed }) => openRequest(options, sealed),
    decide: (request) => decide(options, request),
    exchange: async (request) => {
      const response = await renewAndExchange(changes, issuers, request);
      const isPoll = response.error === "authorization_pending" && request.credential?.$case === "deviceCode";
      if (!isPoll || !devices.pollsTooOften(request.credential?.value ?? "")) return response;
      return { ...response, error: "slow_down", description: "wait five seconds more between two polls" };
    },
    exchangeJwt: (request) => jwts.exchange(request),
    revokeToken: (request) => revokeToken(changes, request),
    introspect: (request) => introspect(changes, request),
    startDevice: (request) => devices.start(request),
  });
}

const INACTIVE: IntrospectResponse = {
  ...{ refused: false, active: false, namespace: "", account: "", clientId: "", scopes: [] },
  ...{ expires: undefined, mcpOnly: false, issued: undefined },
};

async function introspect(changes: Changes, { token, enrolment }: IntrospectRequest): Promise<IntrospectResponse> {
  await changes.sync();
  const { state, now } = changes;
  const asker = isToken(enrolment) ? state.token(hashToken(enrolment)) : undefined;
  if (asker?.kind !== "enrolment") return { ...INACTIVE, refused: true };
  const sha256 = isToken(token) ? hashToken(token) : undefined;
  const found = sha256 && state.token(sha256);
  const caller = sha256 && state.callerOf(sha256, now);
  if (found === undefined || caller === undefined || found.kind === "enrolment") return INACTIVE;
  const { namespace, account, resources, expires } = caller;
  const grant = found.kind === "granted" ? found.granted.grant : undefined;
  const issued = grant && toTimestamp(timestampMs(grant.lastUsed));
  const clientId = grant?.clientId ?? "";
  return {
    ...INACTIVE,
    active: true,
    namespace,
    account,
    clientId,
    scopes: tokenScopes(resources),
    expires,
    mcpOnly: isMcpOnly(resources),
    issued,
  };
}
