/**
 * A request for which a person has signed in, and may now consent. It is not stored: the person's
 * browser holds it, with a MAC whose key only authorities can derive from the log. So any authority
 * can open it. It is in no cookie, so no other page can consent with it: only the page that was the
 * response to the password has it.
 */
import { createHash } from "node:crypto";
import type { PasswordHash } from "../../../src/gen/portico/auth/log/v1/log.js";
import type { AuthorizationRequest } from "../../../src/gen/portico/auth/v1/oauth.js";
import type { State } from "../log/state/state.js";
import { type IssuerSession, isInForce } from "../people/issuer-session.js";
import { revisionOf } from "./known-client.js";
import { opened, sealed } from "./seal.js";

/** How long a person may take to consent, in milliseconds. */
export const CONSENT_TIME = 10 * 60_000;

export interface SealedRequest {
  /** The ID that the grant will have. So a request leads to one grant at most. */
  readonly grant: string;
  readonly namespace: string;
  readonly account: string;
  /** Shows whether the password has been changed since the sign-in. */
  readonly password: string;
  /** Shows whether all logins of the account have ended since the sign-in. */
  readonly loginsEnded: number;
  /** In milliseconds since 1970. */
  readonly expires: number;
  readonly request: AuthorizationRequest;
  readonly clientName: string;
  /** The revision that registered the client (`revisionOf`): a later one with its ID is another. */
  readonly clientRevision: number;
  /** The hash of the device code, in hexadecimal; "" for a request of a browser. */
  readonly device: string;
  /** Absent where the person has proved a password. */
  readonly by?: IssuerSession | undefined;
}

export function seal({ contextSecret }: State, request: SealedRequest): string {
  return sealed(contextSecret, "consent", request);
}

/**
 * The request; undefined if it is not ours, too old, or its account, link or client has changed,
 * the account is disabled, or its logins have ended.
 */
export function open(state: State, text: string, now: number): SealedRequest | undefined {
  const request = opened(state.contextSecret, "consent", text) as SealedRequest | undefined;
  if (request === undefined || request.expires <= now) return undefined;
  const { namespace, account: name, by } = request;
  if (revisionOf(state, request.request.clientId) !== request.clientRevision) return undefined;
  const account = state.account(namespace, name);
  if (account === undefined || account.disabled || fingerprint(account.password) !== request.password) return undefined;
  if (loginsEndedOf(account) !== request.loginsEnded) return undefined;
  return by === undefined || isInForce(state, namespace, name, by) ? request : undefined;
}

/** The revision at which all logins of an account last ended; 0 for never. */
export function loginsEndedOf(account: { readonly loginsEnded?: bigint | undefined } | undefined): number {
  return Number(account?.loginsEnded ?? 0n);
}

/** Differs for each password hash, and tells nothing about it. */
export function fingerprint(password: PasswordHash | undefined): string {
  return createHash("sha256")
    .update("password ")
    .update(password?.hash ?? "none")
    .digest("base64url")
    .slice(0, 16);
}
