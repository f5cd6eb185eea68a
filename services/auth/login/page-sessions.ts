/**
 * Sessions of the web pages, as gateways ask for them (gateway/built-in/page-sessions.ts). The
 * browser holds the secret of a session in a cookie, and a key that cannot leave it. An access
 * token costs both (docs/decisions/0096-the-pages-session.md).
 */
import { createToken, hashToken, isToken } from "../../../src/call/token.js";
import { DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import { invalidArgument, permissionDenied, type StatusError, unauthenticated } from "../../../src/errors.js";
import type { PageSession } from "../../../src/gen/portico/auth/log/v1/log.js";
import {
  type CreateTokenRequest,
  type EndRequest,
  SessionsService,
  type SessionTokens,
  type StartRequest,
  type StartResponse,
} from "../../../src/gen/portico/auth/v1/sessions.js";
import type { ServicePart } from "../../../src/rpc/service.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";
import { gatewayPart } from "../endpoints/checks.js";
import type { Changes } from "../log/changelog/changes.js";
import { type Asking, type Author, requestOrigin } from "../log/changelog/decide.js";
import { idleUntil } from "../log/state/fold-sessions.js";
import { MAX_SESSION_ACCESS, MAX_SESSIONS } from "../log/state/session-table.js";
import type { State } from "../log/state/state.js";
import { type IssuerSession, isInForce } from "../people/issuer-session.js";
import type { IssuerSignIns } from "../people/issuer-sign-in.js";
import { checkMatchStill, matchedHash, type PasswordChecks, wrongPassword } from "./password-check.js";
import { Challenges, sessionKey } from "./session-proof.js";
import { ACCESS_LIFE, createAccess } from "./tokens.js";

/** How long a browser that comes from an issuer may take to use its session, in milliseconds. */
const ARRIVAL_TIME = 10 * 60_000;
/** In milliseconds. Reloads of a page within this time do not ask the issuer again. */
const READ_AGAIN = ACCESS_LIFE / 2;

interface PageSessionOptions extends PasswordChecks {
  readonly issuers: IssuerSignIns;
}

/** The gRPC service portico.auth.v1.Sessions. */
export function pageSessions(options: PageSessionOptions): ServicePart {
  const { changes, issuers } = options;
  const challenges = challengesOf(changes);
  return gatewayPart(SessionsService, {
    start: (request) => start(options, request),
    getInstallation: () => ({ id: changes.state.installationId }),
    createChallenge: async ({ secret }) => {
      await changes.sync();
      return { challenge: challenges().create(find(changes.state, secret, changes.now).sha256) };
    },
    createToken: async (request) => {
      const session = await prove(changes, challenges(), request);
      if (changes.now - readAt(changes.state, session) > READ_AGAIN) await issuers.renew(session, request.requestId);
      return addToken(changes, session, request);
    },
    end: async (request) => {
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

/** @throws {StatusError} INVALID_ARGUMENT unless a browser's key can be of this form. */
export function checkSessionKey(publicKey: Buffer): void {
  if (sessionKey(publicKey) === undefined)
    throw invalidArgument("key: must be a P-256 key, SubjectPublicKeyInfo in DER");
}

async function start(options: PasswordChecks, request: StartRequest): Promise<StartResponse> {
  const { changes } = options;
  const { account, password, publicKey, address, requestId } = request;
  checkSessionKey(publicKey);
  const attempt = { namespace: request.namespace || DEFAULT_NAMESPACE, account, address, requestId };
  const hash = await matchedHash(options, attempt, password);
  if (hash === undefined) throw wrongPassword();
  const { namespace } = attempt;
  const secret = createToken("session");
  const { accessToken, access } = createAccess(changes.now);
  const session = {
    ...{ sha256: hashToken(secret), namespace, account, publicKey, access: [access] },
    ...{ expires: idleUntil({ ends: undefined }, changes.now), issuer: "", subject: "", ends: undefined },
  };
  await store(changes, session, { request, check: (state) => checkMatchStill(state, attempt, hash) });
  return { secret, tokens: shown(changes.state, session, accessToken) };
}

/** Who has signed in by an issuer, in which browser. */
interface Arriving extends Pick<PageSession, "namespace" | "account" | "publicKey"> {
  readonly by: IssuerSession;
}

/**
 * Starts the session of a person who has signed in by an issuer. It has no token: the first one
 * costs the signature of the browser's key too, so it is no use to another browser.
 * @returns its secret
 * @throws {StatusError} UNAUTHENTICATED (rejects) if the person is no longer the account
 */
export async function startByIssuer(changes: Changes, { by, ...owner }: Arriving, request: Asking): Promise<string> {
  const secret = createToken("session");
  const { issuer, subject, until } = by;
  const session = {
    ...{ ...owner, sha256: hashToken(secret), access: [], expires: toTimestamp(changes.now + ARRIVAL_TIME) },
    ...{ issuer, subject, ends: until === 0 ? undefined : toTimestamp(until) },
  };
  const check = (state: State): void => {
    const { namespace, account } = owner;
    if (state.account(namespace, account)?.disabled || !isInForce(state, namespace, account, by)) throw ended();
  };
  await store(changes, session, { request, check });
  return secret;
}

async function store(
  changes: Changes,
  session: PageSession,
  { request, check }: { request: Asking; check: (state: State) => void },
): Promise<void> {
  let endsOldest = false;
  const revision = await changes.issue(authorOf(session, request), (state) => {
    check(state);
    endsOldest = state.sessions.sessionsOf(session.namespace, session.account).length >= MAX_SESSIONS;
    return [{ $case: "pageSessionStarted", value: { session } }];
  });
  if (endsOldest) await changes.settled(revision);
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
  throw ended();
}

function ended(): StatusError {
  return unauthenticated("The session has ended; sign in again");
}

/**
 * When an issuer last said who the person of a session is, in milliseconds since 1970, if it can be
 * asked again; else forever.
 */
function readAt(state: State, { namespace, issuer, subject }: PageSession): number {
  const link = issuer === "" ? undefined : state.people.link({ namespace, issuer, subject });
  return link === undefined || link.refreshToken === "" ? Number.POSITIVE_INFINITY : timestampMs(link.read);
}

async function addToken(changes: Changes, session: PageSession, request: CreateTokenRequest): Promise<SessionTokens> {
  const { sha256, ends } = session;
  // What the issuer said counts for as long as a token.
  const until = Math.min(
    readAt(changes.state, session) + ACCESS_LIFE,
    ends ? timestampMs(ends) : Number.POSITIVE_INFINITY,
  );
  const { accessToken, access } = createAccess(changes.now, until);
  let endsOldest = false;
  const revision = await changes.issue(authorOf(session, request), (state, now) => {
    endsOldest = find(state, request.secret, now).access.length >= MAX_SESSION_ACCESS;
    return [{ $case: "pageSessionUsed", value: { sha256, access } }];
  });
  if (endsOldest) await changes.settled(revision);
  const expires = idleUntil(session, changes.now);
  return shown(changes.state, { ...session, access: [access], expires }, accessToken);
}

function shown(
  state: State,
  { namespace, account, access, expires }: Pick<PageSession, "namespace" | "account" | "access" | "expires">,
  accessToken: string,
): SessionTokens {
  const scopes = [...(state.account(namespace, account)?.scopes ?? [])];
  const accessExpires = access[0]?.expires;
  return { accessToken, accessExpires, namespace, account, scopes, sessionExpires: expires };
}

function authorOf({ namespace, account }: Pick<PageSession, "namespace" | "account">, request: Asking): Author {
  return { namespace, account, origin: requestOrigin(request) };
}
