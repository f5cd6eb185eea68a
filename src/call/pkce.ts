/** Proof Key for Code Exchange (RFC 7636), with S256 as the only method. */
import { createHash } from "node:crypto";

/** 43 to 128 unreserved characters (§4.1). */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;
/** A SHA-256 in base64url (§4.2). */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

export function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}

export function isChallenge(text: string): boolean {
  return CHALLENGE.test(text);
}

/** Whether a text is the verifier of a challenge. */
export function isVerifierOf(text: string, challenge: string): boolean {
  return VERIFIER.test(text) && challengeOf(text) === challenge;
}
