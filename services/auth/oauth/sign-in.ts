/**
 * Sign-in and consent of the authorization server. A person proves a password, by the throttle of
 * logins, for one request of a client; then consents to it or refuses it.
 */
import { randomBytes } from "node:crypto";
import { LIMITED_KEYS } from "../../../src/access/decide/restrictions.js";
import { isRegistered } from "../../../src/address/redirect-uri.js";
import { isChallenge } from "../../../src/call/pkce.js";
import { createToken, hashToken } from "../../../src/call/token.js";
import { DEFAULT_NAMESPACE, MAX_CLIENT_NAME } from "../../../src/contract/names.js";
import { areScopes, MCP_RESOURCE } from "../../../src/contract/oauth-scopes.js";
import { agentScopeOf, isDocumentUrl, MAX_SCOPE_LENGTH } from "../../../src/contract/scope.js";
import { Code, StatusError } from "../../../src/errors.js";
import { RetryInfo } from "../../../src/gen/google/rpc/error_details.js";
import type { DeviceCode, Grant } from "../../../src/gen/portico/auth/log/v1/log.js";
import type {
  AuthorizationRequest,
  DecideRequest,
  DecideResponse,
  EndIssuerSignInRequest,
  SignInRequest,
  SignInResponse,
} from "../../../src/gen/portico/auth/v1/oauth.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";
import type { Changes } from "../log/changelog/changes.js";
import { type LogEvent, requestOrigin } from "../log/changelog/decide.js";
import type { State } from "../log/state/state.js";
import type { LoginThrottle } from "../login/attempts.js";
import { startByIssuer } from "../login/page-sessions.js";
import { checkMatchStill, matchedHash, type PasswordChecks, wrongPassword } from "../login/password-check.js";
import type { Attempt } from "../people/attempt.js";
import type { IssuerSession } from "../people/issuer-session.js";
import type { IssuerSignIns } from "../people/issuer-sign-in.js";
import { hashUserCode } from "./devices.js";
import { registeredClient, revisionOf } from "./known-client.js";
import { resourcesOf } from "./scopes.js";
import { CONSENT_TIME, fingerprint, loginsEndedOf, open, type SealedRequest, seal } from "./sealed-request.js";

/** RFC 6749 §4.1.2 recommends at most ten minutes. A client exchanges its code at once. */
const CODE_LIFE = 60_000;
const DAY = 24 * 60 * 60_000;
const MAX_DAYS = 365;

export interface SignInOptions extends PasswordChecks {
  /** Counts wrong user codes of a person who has signed in. */
  readonly userCodes: LoginThrottle;
}

const REFUSED: SignInResponse = {
  ...{ error: "", sealed: "", namespace: "", account: "", scopes: [], clientName: "", isDevice: false },
  ...{ request: undefined, retryAfter: 0, maxSeconds: 0, isPage: false, sessionSecret: "" },
};

export async function signIn(options: SignInOptions, asked: SignInRequest): Promise<SignInResponse> {
  const { changes } = options;
  const { account, password, address, requestId } = asked;
  const namespace = asked.namespace || DEFAULT_NAMESPACE;
  const attempt = { namespace, account, address, requestId };
  try {
    const hash = await matchedHash(options, attempt, password);
    if (hash === undefined) throw wrongPassword();
    checkMatchStill(changes.state, attempt, hash);
    return signedIn(options, { ...asked, namespace });
  } catch (error) {
    return refusedBy(error);
  }
}

/** For what a person has signed in. */
interface Asked extends Pick<SignInRequest, "namespace" | "account" | "address" | "request" | "userCode"> {
  /** Absent for a password. */
  readonly by?: IssuerSession;
}

/** What is asked of the person; or why nothing can be, in words. */
type Found = Pick<SealedRequest, "request" | "clientName" | "device"> | string;

/** Checks the request that a person has signed in for, and seals it. */
function signedIn(options: SignInOptions, asked: Asked): SignInResponse {
  const { changes } = options;
  const { state, now } = changes;
  const { namespace, account, request, by } = asked;
  const found = request === undefined ? ofDevice(options, asked) : ofClient(state, request, namespace);
  if (typeof found === "string") return { ...REFUSED, error: found };
  const present = state.account(namespace, account);
  return shown(changes, {
    ...{ ...found, namespace, account, expires: now + CONSENT_TIME, by },
    grant: `g${randomBytes(8).toString("hex")}`,
    password: fingerprint(present?.password),
    loginsEnded: loginsEndedOf(present),
    clientRevision: revisionOf(state, found.request.clientId),
  });
}

/** The request of the device that shows the code. Counts wrong codes. */
function ofDevice({ changes, userCodes }: SignInOptions, { namespace, account, address, userCode }: Asked): Found {
  const { state, now } = changes;
  userCodes.check(namespace, account, address);
  const device = state.oauth.deviceByUserCode(hashUserCode(userCode));
  const client = device && registeredClient(state, device.clientId);
  const isOpen = device !== undefined && !device.decided && timestampMs(device.expires) > now;
  if (!isOpen || client === undefined || (client.namespace !== "" && client.namespace !== namespace)) {
    userCodes.failed(namespace, account, address);
    return "No device shows this code, or it has expired";
  }
  // Wrong codes stay counted: with a device one could else guess the codes of others without end.
  const { clientId, clientName, scopes, resource, sha256 } = device;
  const request = { clientId, redirectUri: "", challenge: "", scopes, resource, state: "" };
  return { request, clientName, device: sha256.toString("hex") };
}

/** The request of a client. Gateways have checked it before. */
function ofClient(state: State, request: AuthorizationRequest, namespace: string): Found {
  const { clientId, redirectUri, challenge, scopes, resource } = request;
  const client = registeredClient(state, clientId);
  if (client === undefined && !isDocumentUrl(clientId)) return "The client is unknown";
  // A rule could not name the agent.
  if (agentScopeOf(clientId).length > MAX_SCOPE_LENGTH) return "The client's host is too long";
  if (client !== undefined && client.namespace !== "" && client.namespace !== namespace) return wrongPassword().message;
  if (client !== undefined && !isRegistered(client.redirectUris, redirectUri)) return "The redirect URI is unknown";
  if (!isChallenge(challenge)) return "The challenge is missing";
  if (!areScopes(scopes, resource) || !["", MCP_RESOURCE].includes(resource)) return "The scope or resource is unknown";
  return { request, clientName: client?.name ?? "", device: "" };
}

/** The response that shows a sealed request. */
function shown({ state, now }: Changes, sealed: SealedRequest): SignInResponse {
  const { namespace, account, request, clientName, device, by } = sealed;
  const maxSeconds = by === undefined || by.until === 0 ? 0 : Math.max(1, Math.ceil((by.until - now) / 1000));
  const scopes = [...(state.account(namespace, account)?.scopes ?? [])];
  return {
    ...{ ...REFUSED, sealed: seal(state, sealed), namespace, account, scopes },
    ...{ request, clientName, isDevice: device !== "", maxSeconds },
  };
}

/** The end of a sign-in by an issuer. */
export async function signInByIssuer(
  options: SignInOptions,
  issuers: IssuerSignIns,
  asked: EndIssuerSignInRequest,
): Promise<SignInResponse> {
  const person = await issuers.end(asked);
  if (typeof person === "string")
    return { ...REFUSED, error: person, isPage: isOfPage(issuers.attempt(asked.attempt)) };
  const { namespace, account, by, attempt } = person;
  const { request, userCode } = attempt;
  try {
    if (!isOfPage(attempt)) {
      return signedIn(options, { namespace, account, address: asked.address, request, userCode, by });
    }
    const arriving = { namespace, account, by, publicKey: Buffer.from(attempt.publicKey, "base64url") };
    const sessionSecret = await startByIssuer(options.changes, arriving, asked);
    return { ...REFUSED, namespace, account, isPage: true, sessionSecret };
  } catch (error) {
    return { ...refusedBy(error), isPage: isOfPage(attempt) };
  }
}

function isOfPage(attempt: Attempt | undefined): boolean {
  return attempt !== undefined && attempt.publicKey !== "";
}

export async function openRequest({ changes }: SignInOptions, sealed: string): Promise<SignInResponse> {
  await changes.sync();
  const request = open(changes.state, sealed, changes.now);
  return request === undefined ? { ...REFUSED, error: EXPIRED } : shown(changes, request);
}

const EXPIRED = "This page is too old, or was used already. Begin again in the program that sent you here";

export async function decide({ changes }: SignInOptions, request: DecideRequest): Promise<DecideResponse> {
  await changes.sync();
  const sealed = open(changes.state, request.sealed, changes.now);
  if (sealed === undefined) return { error: EXPIRED, code: "" };
  const { namespace, account, device } = sealed;
  const author = { namespace, account, origin: requestOrigin(request) };
  const sha256 = Buffer.from(device, "hex");
  if (request.denied) {
    const denied: LogEvent = { $case: "deviceCodeDecided", value: { sha256, denied: true } };
    if (device !== "") await changes.issue(author, () => [denied]);
    return { error: "", code: "" };
  }
  const { days } = request;
  const { resource } = sealed.request;
  const resources = resourcesOf(request.resources, resource);
  if (!areScopes(request.resources, resource) || days < 1 || days > MAX_DAYS)
    return { error: "The choice is not possible", code: "" };
  if (resources.length > 0) await changes.checkRestriction(LIMITED_KEYS, "a grant that is limited to resources");
  const code = device === "" ? createToken("code") : "";
  let error = "";
  const revision = await changes.issue(author, (state, now): LogEvent[] => {
    const present = device === "" ? undefined : state.oauth.device(sha256);
    const isLate = open(state, request.sealed, now) === undefined || state.oauth.grant(sealed.grant) !== undefined;
    const isGone = device !== "" && (present === undefined || present.decided);
    error = isLate || isGone ? EXPIRED : "";
    if (error !== "") return [];
    const grant = grantOf(sealed, request, { resources, now, code, device: present });
    const decided: LogEvent = { $case: "deviceCodeDecided", value: { sha256, denied: false } };
    return [...(device === "" ? [] : [decided]), { $case: "grantCreated", value: { grant } }];
  });
  // The client must not use a limited grant before every guard knows limits.
  await changes.settled(revision);
  return { error, code: error === "" ? code : "" };
}

function grantOf(
  sealed: SealedRequest,
  { days, clientName }: DecideRequest,
  made: { resources: string[]; now: number; code: string; device: DeviceCode | undefined },
): Grant {
  const { grant: id, namespace, account, request, by } = sealed;
  const { resources, now, code, device } = made;
  const { clientId, redirectUri, challenge, resource } = request;
  const codeExpires = device === undefined ? toTimestamp(now + CODE_LIFE) : device.expires;
  return {
    ...{ id, namespace, account, clientId, resources },
    clientName: (sealed.clientName || clientName).slice(0, MAX_CLIENT_NAME),
    created: toTimestamp(now),
    expires: toTimestamp(Math.min(now + days * DAY, by?.until || Number.POSITIVE_INFINITY)),
    ...{ issuer: by?.issuer ?? "", subject: by?.subject ?? "" },
    code: {
      sha256: device?.sha256 ?? hashToken(code),
      expires: codeExpires,
      ...{ redirectUri, challenge, resource, isDevice: device !== undefined, redeemed: false },
    },
    ...{ access: [], refresh: undefined, spent: [], lastUsed: undefined },
  };
}

/**
 * The response to who may not sign in, or has to wait.
 * @throws the error, if it is another one
 */
function refusedBy(error: unknown): SignInResponse {
  if (!(error instanceof StatusError)) throw error;
  if (error.code === Code.UNAUTHENTICATED) return { ...REFUSED, error: error.message };
  if (error.code !== Code.RESOURCE_EXHAUSTED) throw error;
  const detail = error.details.find(({ typeUrl }) => typeUrl.endsWith("google.rpc.RetryInfo"));
  const delay = detail && RetryInfo.decode(detail.value).retryDelay;
  return { ...REFUSED, error: error.message, retryAfter: Number(delay?.seconds ?? 1) };
}
