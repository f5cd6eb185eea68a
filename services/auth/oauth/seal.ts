/**
 * Values that a browser holds for the authority, each with a MAC whose key only authorities can
 * derive from the log. So any authority can open them, and none is stored.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** What the value is for. A value for one purpose is none for another. */
export type SealPurpose = "consent" | "issuer attempt" | "issuer state" | "issuer nonce" | "issuer verifier";

export function sealed(secret: Buffer, purpose: SealPurpose, value: unknown): string {
  const text = Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${text}.${mac(secret, purpose, text)}`;
}

/** The value; undefined if it is not ours. */
export function opened(secret: Buffer, purpose: SealPurpose, text: string): unknown {
  const [value = "", code = ""] = text.split(".");
  if (!isSame(code, mac(secret, purpose, value))) return undefined;
  return JSON.parse(Buffer.from(value, "base64url").toString());
}

/** 43 characters of base64url. */
export function mac(secret: Buffer, purpose: SealPurpose, text: string): string {
  const key = createHmac("sha256", secret).update(`portico oauth ${purpose}`).digest();
  return createHmac("sha256", key).update(text).digest("base64url");
}

/** Compares without telling by its time how much is the same. */
export function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
