/** Auth: logs accounts in and out. */

import type { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { hashToken, isToken } from "../../../src/call/token.js";
import { CLI_CLIENT, DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import { failedPrecondition, unauthenticated } from "../../../src/errors.js";
import type { Grant, Login } from "../../../src/gen/portico/auth/log/v1/log.js";
import {
  AuthService,
  type LoginRequest,
  type RefreshRequest,
  type Tokens,
} from "../../../src/gen/portico/auth/v1/auth.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";
import type { Changes } from "../log/changelog/changes.js";
import type { LogEvent, Origin } from "../log/changelog/decide.js";
import { MAX_ACCESS, MAX_LOGINS } from "../log/state/fold.js";
import type { State } from "../log/state/state.js";
import type { TokenState } from "../log/state/token-state.js";
import { checkMatchStill, matchedHash, type PasswordChecks, wrongPassword } from "../login/password-check.js";
import { createPair, type TokenPair } from "../login/tokens.js";
import { renewAndExchange } from "../oauth/exchange.js";
import type { IssuerSignIns } from "../people/issuer-sign-in.js";
import { accountOf, authorOf, originOf } from "./checks.js";

interface AuthOptions extends PasswordChecks {
  readonly issuers: Pick<IssuerSignIns, "renew">;
}

/** The gRPC service portico.auth.v1.Auth. */
export function auth(options: AuthOptions): ServicePart {
  const { changes } = options;
  return part(AuthService, {
    login: (request, context) => login(options, request, context),
    refresh: (request, context) => refresh(options, request, originOf(context)),
    logout: async ({ everywhere }, context) => {
      const caller = accountOf(context);
      await changes.make(authorOf(context), (state) => {
        const token = state.token(Buffer.from(caller.sha256, "hex"));
        return [everywhere ? endOfAll(state, token, caller) : endOf(token)];
      });
      return {};
    },
    whoAmI: (_, context) => {
      const { namespace, account, scopes, expires } = accountOf(context);
      return { namespace, account, scopes: [...scopes], expires: toTimestamp(expires) };
    },
  });
}

/** Ends what the token came from. @throws {StatusError} FAILED_PRECONDITION if that is no login. */
function endOf(token: TokenState | undefined): LogEvent {
  if (token?.kind === "access") return { $case: "loginRevoked", value: { login: token.login.login, reused: false } };
  if (token?.kind === "session") return { $case: "pageSessionEnded", value: { sha256: token.session.sha256 } };
  if (token?.kind === "granted") {
    return { $case: "grantEnded", value: { id: token.granted.grant.id, cause: "logged out" } };
  }
  throw failedPrecondition("This token came from no login; an API key is revoked instead");
}

/**
 * Ends all logins, grants and sessions of the account, by the event of a password that is set:
 * every version revokes the same tokens for it.
 * @throws {StatusError} FAILED_PRECONDITION unless the person itself has logged in with the token.
 */
function endOfAll(state: State, token: TokenState | undefined, { namespace, account: name }: KnownCaller): LogEvent {
  const isOwn = token?.kind === "granted" && token.granted.grant.clientId === CLI_CLIENT;
  if (token?.kind !== "access" && token?.kind !== "session" && !isOwn) {
    throw failedPrecondition("Only a login can log out everywhere: not an API key, and not a client's grant");
  }
  const password = state.account(namespace, name)?.password;
  return { $case: "passwordSet", value: { namespace, name, password, unchanged: true } };
}

async function login(
  options: PasswordChecks,
  { account: name, password, namespace: named }: LoginRequest,
  context: Context,
): Promise<Tokens> {
  const namespace = named || DEFAULT_NAMESPACE;
  const origin = originOf(context);
  const attempt = { namespace, account: name, address: origin.address, requestId: origin.requestId };
  const hash = await matchedHash(options, attempt, password);
  if (hash === undefined) throw wrongPassword();
  const { changes } = options;
  const pair = createPair(changes.now);
  let endsOldest = false;
  const revision = await changes.issue({ namespace, account: name, origin }, (state) => {
    checkMatchStill(state, attempt, hash);
    endsOldest = (state.account(namespace, name)?.logins.length ?? 0) >= MAX_LOGINS;
    const { access, refresh } = pair;
    return [{ $case: "loggedIn", value: { login: refresh.sha256, namespace, account: name, access, refresh } }];
  });
  if (endsOldest) await changes.settled(revision);
  return shown(pair, { namespace, account: name });
}

async function refresh(options: AuthOptions, { refreshToken }: RefreshRequest, origin: Origin): Promise<Tokens> {
  const { changes } = options;
  const sha256 = isToken(refreshToken) ? hashToken(refreshToken) : undefined;
  const pair = createPair(changes.now);
  const find = (state: State): { kind: string; login: Login } => {
    const token = sha256 && state.token(sha256);
    if ((token?.kind === "refresh" || token?.kind === "spent") && timestampMs(token.token.expires) > changes.now) {
      return { kind: token.kind, login: token.login };
    }
    throw unauthenticated("refresh_token: is unknown, expired or revoked; log in again");
  };
  await changes.sync();
  const granted = sha256 && changes.state.token(sha256);
  if (granted?.kind === "granted") return refreshGrant(options, refreshToken, granted.granted.grant, origin);
  const { namespace, account } = find(changes.state).login;
  let [reused, endsTokens] = [false, false];
  const decide: Parameters<Changes["issue"]>[1] = (state) => {
    const { kind, login: found } = find(state);
    const { login, access } = found;
    reused = kind === "spent";
    endsTokens = reused || access.length >= MAX_ACCESS;
    if (reused) return [{ $case: "loginRevoked", value: { login, reused } }];
    return [{ $case: "refreshed", value: { login, access: pair.access, refresh: pair.refresh } }];
  };
  const revision = await changes.issue({ namespace, account, origin }, decide);
  if (endsTokens) await changes.settled(revision);
  if (!reused) return shown(pair, { namespace, account });
  throw unauthenticated("refresh_token: was used before, so every token of its login is revoked; log in again");
}

/**
 * Exchanges the refresh token of a grant to the command line, which keeps it like a login.
 * Other clients use the token endpoint.
 */
async function refreshGrant(
  { changes, issuers }: AuthOptions,
  refreshToken: string,
  { namespace, account, expires: refreshExpires }: Grant,
  { address, requestId = "" }: Origin,
): Promise<Tokens> {
  const response = await renewAndExchange(changes, issuers, {
    ...{ clientId: CLI_CLIENT, clientSecret: "", credential: { $case: "refreshToken", value: refreshToken } },
    ...{ redirectUri: "", verifier: "", resource: "", scopes: [], address, requestId },
  });
  if (response.error !== "") throw unauthenticated(`refresh_token: ${response.description}; log in again`);
  const { accessToken, accessExpires, refreshToken: next } = response;
  return { accessToken, accessExpires, refreshToken: next, refreshExpires, namespace, account };
}

function shown(
  { accessToken, access, refreshToken, refresh }: TokenPair,
  owner: { readonly namespace: string; readonly account: string },
): Tokens {
  return { accessToken, accessExpires: access.expires, refreshToken, refreshExpires: refresh.expires, ...owner };
}
