/**
 * An attempt of a person to sign in by an issuer. The browser holds its ID, with what it is for, in
 * a cookie. State, nonce and PKCE verifier follow from the ID by a key that only authorities have:
 * so any authority can end what another began, and strangers who begin fill no table.
 */
import { createHash, randomBytes } from "node:crypto";
import type { AuthorizationRequest } from "../../../src/gen/portico/auth/v1/oauth.js";
import { timestampMs } from "../../../src/time.js";
import type { State } from "../log/state/state.js";
import { mac, opened, sealed } from "../oauth/seal.js";
import type { SignInIssuer } from "./settings.js";

/** How long a person may take at the issuer, in milliseconds. */
const ATTEMPT_TIME = 10 * 60_000;
/** Browsers keep cookies of at most 4096 bytes, with their name and attributes. */
const MAX_ATTEMPT = 3_800;

export interface Attempt {
  readonly id: string;
  readonly namespace: string;
  readonly issuer: string;
  /** When the issuer was created: a later one of the same name is another. */
  readonly issuerCreated: number;
  readonly redirectUri: string;
  /** In milliseconds since 1970. */
  readonly expires: number;
  readonly request?: AuthorizationRequest | undefined;
  readonly userCode: string;
  /** In base64url; "" unless the person signs in on the web pages. */
  readonly publicKey: string;
}

export function createAttempt(
  { namespace, name, created }: SignInIssuer,
  asked: Pick<Attempt, "redirectUri" | "request" | "userCode" | "publicKey">,
  now: number,
): Attempt {
  const id = randomBytes(18).toString("base64url");
  const issuerCreated = timestampMs(created);
  return { id, namespace, issuer: name, issuerCreated, expires: now + ATTEMPT_TIME, ...asked };
}

/** The attempt for the cookie; undefined if it is too long for one. */
export function sealAttempt({ contextSecret }: State, attempt: Attempt): string | undefined {
  const text = sealed(contextSecret, "issuer attempt", attempt);
  return text.length > MAX_ATTEMPT ? undefined : text;
}

/** The attempt; undefined if it is not ours, or too old. */
export function openAttempt({ contextSecret }: State, text: string, now: number): Attempt | undefined {
  const attempt = opened(contextSecret, "issuer attempt", text) as Attempt | undefined;
  return attempt !== undefined && attempt.expires > now ? attempt : undefined;
}

/** What only the authority knows about an attempt until the person comes back. */
export interface AttemptSecrets {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE (RFC 7636). */
  readonly verifier: string;
}

export function secretsOf({ contextSecret }: State, { id }: Attempt): AttemptSecrets {
  return {
    state: mac(contextSecret, "issuer state", id),
    nonce: mac(contextSecret, "issuer nonce", id),
    verifier: mac(contextSecret, "issuer verifier", id),
  };
}

/** Under which the log remembers that the attempt was used. */
export function hashAttempt({ id }: Attempt): Buffer {
  return createHash("sha256").update(`issuer attempt ${id}`).digest();
}
