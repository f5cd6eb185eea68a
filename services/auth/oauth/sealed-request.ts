/**
 * A request for which a person has signed in, and may now consent. It is not stored: the person's
 * browser holds it, with a MAC whose key only authorities can derive from the log. So any authority
 * can open it. It is in no cookie, so no other page can consent with it: only the page that was the
 * response to the password has it.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { PasswordHash } from "../../../src/gen/portico/auth/log/v1/log.js";
import type { AuthorizationRequest } from "../../../src/gen/portico/auth/v1/oauth.js";
import type { State } from "../log/state/state.js";

/** How long a person may take to consent, in milliseconds. */
export const CONSENT_TIME = 10 * 60_000;

export interface SealedRequest {
  /** The ID that the grant will have. So a request leads to one grant at most. */
  readonly grant: string;
  readonly namespace: string;
  readonly account: string;
  /** Shows whether the password has been changed since the sign-in. */
  readonly password: string;
  /** In milliseconds since 1970. */
  readonly expires: number;
  readonly request: AuthorizationRequest;
  readonly clientName: string;
  /** The hash of the device code, in hexadecimal; "" for a request of a browser. */
  readonly device: string;
}

export function seal({ contextSecret }: State, request: SealedRequest): string {
  const text = Buffer.from(JSON.stringify(request)).toString("base64url");
  return `${text}.${mac(contextSecret, text)}`;
}

/** The request; undefined if it is not ours, too old, or its account has changed or is disabled. */
export function open(state: State, sealed: string, now: number): SealedRequest | undefined {
  const [text = "", code = ""] = sealed.split(".");
  const [given, expected] = [Buffer.from(code), Buffer.from(mac(state.contextSecret, text))];
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const request: SealedRequest = JSON.parse(Buffer.from(text, "base64url").toString());
  if (request.expires <= now) return undefined;
  const account = state.account(request.namespace, request.account);
  if (account === undefined || account.disabled) return undefined;
  return fingerprint(account.password) === request.password ? request : undefined;
}

/** Differs for each password hash, and tells nothing about it. */
export function fingerprint(password: PasswordHash | undefined): string {
  return createHash("sha256")
    .update("password ")
    .update(password?.hash ?? "none")
    .digest("base64url")
    .slice(0, 16);
}

function mac(secret: Buffer, text: string): string {
  const key = createHmac("sha256", secret).update("portico oauth consent").digest();
  return createHmac("sha256", key).update(text).digest("base64url");
}
