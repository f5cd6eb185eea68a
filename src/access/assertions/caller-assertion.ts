/**
 * What a service believes about a call because it is signed: `base64url(CallContext).ticket.mac`, sent as
 * `x-portico-context`. See portico/auth/v1/delegation.proto.
 *
 * The texts are compared, not the bytes they stand for: base64 has several texts for one sequence of bytes.
 */
import { timingSafeEqual } from "node:crypto";
import { CallContext } from "../../gen/portico/auth/v1/delegation.js";
import { asBuffer } from "../../wire/buffer.js";
import type { AssertionKey } from "./assertion-keys.js";
import { hmacSha256 } from "./hmac.js";

/** Of a signature, the first 16 bytes of an HMAC-SHA256 (RFC 2104 §5 asks for at least half of it), in base64url. */
const MAC_LENGTH = 22;
/** A context names a caller with all its scopes and limits. */
const MAX_LENGTH = 64 * 1024;

/** @param delegationToken the key of tickets. */
export function signAssertion(context: CallContext, key: AssertionKey, delegationToken: Uint8Array): string {
  const payload = asBuffer(CallContext.encode(context).finish()).toString("base64url");
  const signed = `${payload}.${sign(payload, delegationToken)}`;
  return `${signed}.${sign(signed, key.secret)}`;
}

/** What a context says; undefined unless it is signed by the key of the service called. */
export function verifyAssertion(text: string, key: AssertionKey): CallContext | undefined {
  const end = text.length - MAC_LENGTH;
  if (text.length > MAX_LENGTH || text[end - 1] !== ".") return undefined;
  return isMac(text.slice(end), text.slice(0, end - 1), key.secret) ? readAssertion(text) : undefined;
}

/** What a context says; undefined unless a gateway or an authority made it. */
export function verifyDelegationToken(text: string, delegationToken: Uint8Array): CallContext | undefined {
  const [payload, mac] = text.split(".", 2);
  if (text.length > MAX_LENGTH || payload === undefined || mac === undefined) return undefined;
  return isMac(mac, payload, delegationToken) ? readAssertion(text) : undefined;
}

/** What a context says, whether it is signed or not; undefined for none. */
export function readAssertion(text: string): CallContext | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  try {
    return CallContext.decode(Buffer.from(text.slice(0, text.indexOf(".")), "base64url"));
  } catch {
    return undefined;
  }
}

/** The signature at a context's end. */
export function macOf(text: string): string {
  return text.slice(-MAC_LENGTH);
}

/** By the code of a character of base64url, the character whose last four bits are 0: 16 bytes end within a character. */
const LAST: string[] = [];
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
for (let value = 0; value < DIGITS.length; value++) LAST[DIGITS.charCodeAt(value)] = DIGITS[value & 0b110000] as string;

function sign(text: string, key: Uint8Array): string {
  const hmac = hmacSha256(text, key);
  return hmac.slice(0, MAC_LENGTH - 1) + LAST[hmac.charCodeAt(MAC_LENGTH - 1)];
}

const given = Buffer.alloc(MAC_LENGTH);
const expected = Buffer.alloc(MAC_LENGTH);

function isMac(mac: string, text: string, key: Uint8Array): boolean {
  if (mac.length !== MAC_LENGTH) return false;
  given.latin1Write(mac, 0);
  expected.latin1Write(sign(text, key), 0);
  return timingSafeEqual(given, expected);
}
