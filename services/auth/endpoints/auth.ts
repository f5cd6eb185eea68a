/** Auth: logs accounts in and out. */

import { createToken, hashToken, isToken } from "../../../src/call/token.js";
import { DEFAULT_NAMESPACE, MAX_ACCOUNT_NAME, MAX_NAME } from "../../../src/contract/names.js";
import { failedPrecondition, type StatusError, unauthenticated } from "../../../src/errors.js";
import type { Grant, PasswordHash } from "../../../src/gen/portico/auth/log/v1/log.js";
import {
  AuthService,
  type LoginRequest,
  type RefreshRequest,
  type Tokens,
} from "../../../src/gen/portico/auth/v1/auth.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";
import type { Changes } from "../log/changelog/changes.js";
import type { Origin } from "../log/changelog/decide.js";
import type { State } from "../log/state/state.js";
import type { Attempts } from "../login/attempts.js";
import { exchange } from "../oauth/exchange.js";
import { CLI_CLIENT } from "../oauth/known-client.js";
import { accountOf, authorOf, disabledDetail, originOf } from "./checks.js";

const ACCESS_LIFE = 60 * 60_000;
const REFRESH_LIFE = 30 * 24 * 60 * 60_000;

interface Options {
  readonly changes: Changes;
  readonly attempts: Attempts;
}

/** The gRPC service portico.auth.v1.Auth. */
export function auth(options: Options): ServicePart {
  const { changes } = options;
  return part(AuthService, {
    login: (request, context) => login(options, request, context),
    refresh: (request, context) => refresh(changes, request, originOf(context)),
    logout: async (_, context) => {
      const caller = accountOf(context);
      await changes.make(authorOf(context), (state) => {
        const token = state.token(Buffer.from(caller.sha256, "hex"));
        if (token?.kind === "access") {
          return [{ $case: "loginRevoked", value: { login: token.login.login, reused: false } }];
        }
        if (token?.kind === "granted") {
          return [{ $case: "grantEnded", value: { id: token.granted.grant.id, cause: "logged out" } }];
        }
        throw failedPrecondition("This token came from no login; an API key is revoked instead");
      });
      return {};
    },
    whoAmI: (_, context) => {
      const { namespace, account, scopes, expires } = accountOf(context);
      return { namespace, account, scopes: [...scopes], expires: toTimestamp(expires) };
    },
  });
}

async function login(
  { changes, attempts }: Options,
  { account: name, password, namespace: named }: LoginRequest,
  context: Context,
): Promise<Tokens> {
  const namespace = named || DEFAULT_NAMESPACE;
  // No account has so long a name. Failures are counted by name, and long names would take memory.
  if (name.length > MAX_ACCOUNT_NAME || namespace.length > MAX_NAME) throw wrong();
  const origin = originOf(context);
  const attempt = { namespace, account: name, address: origin.address, requestId: origin.requestId };
  let hash: PasswordHash | undefined;
  const readHash = async (): Promise<PasswordHash | undefined> => {
    await changes.sync();
    hash = changes.state.account(namespace, name)?.password;
    return hash;
  };
  if (!(await attempts.verify(attempt, password, readHash))) throw wrong();
  const pair = createPair(changes.now);
  await changes.issue({ namespace, account: name, origin }, (state) => {
    // The account may have been deleted, or got another password, while this password was checked.
    const { password: current, disabled } = state.account(namespace, name) ?? {};
    if (hash === undefined || !current?.hash.equals(hash.hash)) throw wrong();
    // Only whoever knows the password learns it.
    if (disabled) throw unauthenticated(disabledDetail(name));
    const { access, refresh } = pair.hashed;
    return [{ $case: "loggedIn", value: { login: refresh.sha256, namespace, account: name, access, refresh } }];
  });
  return { ...pair.shown, namespace, account: name };
}

async function refresh(changes: Changes, { refreshToken }: RefreshRequest, origin: Origin): Promise<Tokens> {
  const sha256 = isToken(refreshToken) ? hashToken(refreshToken) : undefined;
  const pair = createPair(changes.now);
  const find = (state: State): { kind: string; namespace: string; account: string; login: Buffer } => {
    const token = sha256 && state.token(sha256);
    if ((token?.kind === "refresh" || token?.kind === "spent") && timestampMs(token.token.expires) > changes.now) {
      return { kind: token.kind, ...token.login };
    }
    throw unauthenticated("refresh_token: is unknown, expired or revoked; log in again");
  };
  await changes.sync();
  const granted = sha256 && changes.state.token(sha256);
  if (granted?.kind === "granted") return refreshGrant(changes, refreshToken, granted.granted.grant, origin);
  const { namespace, account } = find(changes.state);
  let reused = false;
  const decide: Parameters<Changes["issue"]>[1] = (state) => {
    const { kind, login } = find(state);
    reused = kind === "spent";
    if (reused) return [{ $case: "loginRevoked", value: { login, reused } }];
    return [{ $case: "refreshed", value: { login, ...pair.hashed } }];
  };
  const revision = await changes.issue({ namespace, account, origin }, decide);
  if (!reused) return { ...pair.shown, namespace, account };
  await changes.settled(revision);
  throw unauthenticated("refresh_token: was used before, so every token of its login is revoked; log in again");
}

/**
 * Exchanges the refresh token of a grant to the command line, which keeps it like a login.
 * Other clients use the token endpoint.
 */
async function refreshGrant(
  changes: Changes,
  refreshToken: string,
  { namespace, account, expires: refreshExpires }: Grant,
  { address, requestId = "" }: Origin,
): Promise<Tokens> {
  const response = await exchange(changes, {
    ...{ clientId: CLI_CLIENT, clientSecret: "", credential: { $case: "refreshToken", value: refreshToken } },
    ...{ redirectUri: "", verifier: "", resource: "", scopes: [], address, requestId },
  });
  if (response.error !== "") throw unauthenticated(`refresh_token: ${response.description}; log in again`);
  const { accessToken, accessExpires, refreshToken: next } = response;
  return { accessToken, accessExpires, refreshToken: next, refreshExpires, namespace, account };
}

function createPair(now: number) {
  const access = createToken("access");
  const refresh = createToken("refresh");
  const accessExpires = toTimestamp(now + ACCESS_LIFE);
  const refreshExpires = toTimestamp(now + REFRESH_LIFE);
  return {
    shown: { accessToken: access, accessExpires, refreshToken: refresh, refreshExpires },
    hashed: {
      access: { sha256: hashToken(access), expires: accessExpires },
      refresh: { sha256: hashToken(refresh), expires: refreshExpires },
    },
  };
}

/** One error for an unknown account and a wrong password: it must not show which accounts exist. */
function wrong(): StatusError {
  return unauthenticated("Wrong account or password");
}
