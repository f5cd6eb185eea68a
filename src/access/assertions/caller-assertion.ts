/**
 * A caller assertion is how a service learns who calls:
 * `base64url(CallContext).delegationToken.mac`, sent as `x-portico-context`. See
 * portico/auth/v1/delegation.proto.
 *
 * Signatures are compared as texts, not as the bytes that they stand for: several base64 texts
 * stand for one sequence of bytes.
 */
import { timingSafeEqual } from "node:crypto";
import { CallContext } from "../../gen/portico/auth/v1/delegation.js";
import { asBuffer } from "../../wire/buffer.js";
import type { AssertionKey } from "./assertion-keys.js";
import { hmacSha256 } from "./hmac.js";

/**
 * Length in base64url of a signature: the first 16 of the 32 bytes of an HMAC-SHA256 (RFC 2104 §5
 * demands at least half of them).
 */
const MAC_LENGTH = 22;
/** Maximum length of an assertion. It contains all scopes of its caller. */
const MAX_LENGTH = 64 * 1024;

/** @param delegationToken the key of delegation tokens */
export function signAssertion(context: CallContext, key: AssertionKey, delegationToken: Uint8Array): string {
  const payload = asBuffer(CallContext.encode(context).finish()).toString("base64url");
  const signed = `${payload}.${sign(payload, delegationToken)}`;
  return `${signed}.${sign(signed, key.secret)}`;
}

/** The content of an assertion; undefined unless it is signed by the key of the called service. */
export function verifyAssertion(text: string, key: AssertionKey): CallContext | undefined {
  const end = text.length - MAC_LENGTH;
  if (text.length > MAX_LENGTH || text[end - 1] !== ".") return undefined;
  return isMac(text.slice(end), text.slice(0, end - 1), key.secret) ? readAssertion(text) : undefined;
}

/**
 * The content of an assertion; undefined unless a gateway or an authority made its delegation
 * token.
 * @param delegationToken the key of delegation tokens
 */
export function verifyDelegationToken(text: string, delegationToken: Uint8Array): CallContext | undefined {
  const [payload, mac] = text.split(".", 2);
  if (text.length > MAX_LENGTH || payload === undefined || mac === undefined) return undefined;
  return isMac(mac, payload, delegationToken) ? readAssertion(text) : undefined;
}

/**
 * The content of an assertion, without a check of its signature; undefined if it cannot be decoded.
 */
export function readAssertion(text: string): CallContext | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  try {
    return CallContext.decode(Buffer.from(text.slice(0, text.indexOf(".")), "base64url"));
  } catch {
    return undefined;
  }
}

/** The signature at the end of an assertion. */
export function macOf(text: string): string {
  return text.slice(-MAC_LENGTH);
}

/**
 * By character code of a base64url digit: the digit with its last four bits set to 0. A signature
 * has 128 bits, so its last digit has only two of them.
 */
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
