/**
 * Sessions of the web pages, as gateways ask for them (gateway/built-in/page-sessions.ts). The
 * browser holds the secret of a session in a cookie, and a key that cannot leave it. An access
 * token costs both (docs/decisions/0096-the-pages-session.md).
 */
import { createToken, hashToken, isToken } from "../../../src/call/token.js";
import { DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import { invalidArgument, permissionDenied, unauthenticated } from "../../../src/errors.js";
import type { PageSession } from "../../../src/gen/portico/auth/log/v1/log.js";
import {
  type CreateTokenRequest,
  type EndRequest,
  SessionsService,
  type SessionTokens,
  type StartRequest,
  type StartResponse,
} from "../../../src/gen/portico/auth/v1/sessions.js";
import { part, type ServicePart } from "../../../src/rpc/service.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";
import { checkGateway } from "../endpoints/checks.js";
import type { Changes } from "../log/changelog/changes.js";
import type { Author } from "../log/changelog/decide.js";
import { SESSION_IDLE } from "../log/state/fold-sessions.js";
import { MAX_SESSION_ACCESS, MAX_SESSIONS } from "../log/state/session-table.js";
import type { State } from "../log/state/state.js";
import { checkMatchStill, matchedHash, type PasswordChecks, wrongPassword } from "./password-check.js";
import { Challenges, sessionKey } from "./session-proof.js";

const ACCESS_LIFE = 60 * 60_000;

/** The gRPC service portico.auth.v1.Sessions. */
export function pageSessions(options: PasswordChecks): ServicePart {
  const { changes } = options;
  const challenges = challengesOf(changes);
  return part(SessionsService, {
    start: (request, context) => {
      checkGateway(context);
      return start(options, request);
    },
    getInstallation: (_, context) => {
      checkGateway(context);
      return { id: changes.state.installationId };
    },
    createChallenge: async ({ secret }, context) => {
      checkGateway(context);
      await changes.sync();
      return { challenge: challenges().create(find(changes.state, secret, changes.now).sha256) };
    },
    createToken: async (request, context) => {
      checkGateway(context);
      const session = await prove(changes, challenges(), request);
      return addToken(changes, session, request);
    },
    end: async (request, context) => {
      checkGateway(context);
      const { sha256, ...owner } = await prove(changes, challenges(), request);
      const value = { sha256 };
      await changes.settled(
        await changes.issue(authorOf(owner, request), () => [{ $case: "pageSessionEnded", value }]),
      );
      return {};
    },
  });
}

/** The challenges under the current secret of the log: a new secret ends all that were made. */
function challengesOf(changes: Changes): () => Challenges {
  let made: { readonly secret: Buffer; readonly challenges: Challenges } | undefined;
  return () => {
    const { contextSecret: secret, installationId: installation } = changes.state;
    if (!made?.secret.equals(secret)) {
      made = { secret, challenges: new Challenges({ secret, installation, now: () => changes.now }) };
    }
    return made.challenges;
  };
}

async function start(options: PasswordChecks, request: StartRequest): Promise<StartResponse> {
  const { changes } = options;
  const { account, password, publicKey, address, requestId } = request;
  if (sessionKey(publicKey) === undefined)
    throw invalidArgument("key: must be a P-256 key, SubjectPublicKeyInfo in DER");
  const attempt = { namespace: request.namespace || DEFAULT_NAMESPACE, account, address, requestId };
  const hash = await matchedHash(options, attempt, password);
  if (hash === undefined) throw wrongPassword();
  const { namespace } = attempt;
  const secret = createToken("session");
  const { accessToken, access } = newToken(changes.now);
  const expires = toTimestamp(changes.now + SESSION_IDLE);
  const session = { sha256: hashToken(secret), namespace, account, publicKey, access: [access], expires };
  let endsOldest = false;
  const revision = await changes.issue(authorOf(session, request), (state) => {
    checkMatchStill(state, attempt, hash);
    endsOldest = state.sessions.sessionsOf(namespace, account).length >= MAX_SESSIONS;
    return [{ $case: "pageSessionStarted", value: { session } }];
  });
  if (endsOldest) await changes.settled(revision);
  return { secret, tokens: shown(changes.state, session, accessToken) };
}

/**
 * The session whose secret and key the browser has.
 * @throws {StatusError} UNAUTHENTICATED if it has ended, PERMISSION_DENIED if the key is not
 *   proven.
 */
async function prove(
  changes: Changes,
  challenges: Challenges,
  { secret, proof }: CreateTokenRequest | EndRequest,
): Promise<PageSession> {
  await changes.sync();
  const session = find(changes.state, secret, changes.now);
  const key = sessionKey(session.publicKey);
  if (key !== undefined && proof !== undefined && challenges.accept(session.sha256, key, proof)) return session;
  throw permissionDenied("The challenge is not signed by the key of the session, or it was used or is too old");
}

/** @throws {StatusError} UNAUTHENTICATED unless the session exists. */
function find(state: State, secret: string, now: number): PageSession {
  const session = isToken(secret) ? state.sessions.session(hashToken(secret)) : undefined;
  if (session !== undefined && timestampMs(session.expires) > now) return session;
  throw unauthenticated("The session has ended; sign in again");
}

async function addToken(
  changes: Changes,
  { sha256, ...owner }: PageSession,
  request: CreateTokenRequest,
): Promise<SessionTokens> {
  const { accessToken, access } = newToken(changes.now);
  let endsOldest = false;
  const revision = await changes.issue(authorOf(owner, request), (state, now) => {
    endsOldest = find(state, request.secret, now).access.length >= MAX_SESSION_ACCESS;
    return [{ $case: "pageSessionUsed", value: { sha256, access } }];
  });
  if (endsOldest) await changes.settled(revision);
  const expires = toTimestamp(changes.now + SESSION_IDLE);
  return shown(changes.state, { ...owner, access: [access], expires }, accessToken);
}

function newToken(now: number) {
  const accessToken = createToken("access");
  return { accessToken, access: { sha256: hashToken(accessToken), expires: toTimestamp(now + ACCESS_LIFE) } };
}

function shown(
  state: State,
  { namespace, account, access, expires }: Omit<PageSession, "sha256" | "publicKey">,
  accessToken: string,
): SessionTokens {
  const scopes = [...(state.account(namespace, account)?.scopes ?? [])];
  const accessExpires = access[0]?.expires;
  return { accessToken, accessExpires, namespace, account, scopes, sessionExpires: expires };
}

function authorOf(
  { namespace, account }: Pick<PageSession, "namespace" | "account">,
  { address, requestId }: Pick<StartRequest, "address" | "requestId">,
): Author {
  return { namespace, account, origin: { address, requestId: requestId || undefined } };
}
