/**
 * Tokens: `<prefix>_<256 random bits in base62><CRC-32 in base62>`. A token contains nothing about
 * its owner. The checksum shows a mistyped token: to a secret scanner, and to the gateway before it
 * asks the authority.
 */
import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** What each prefix stands for. */
const PREFIXES = {
  ...({ access: "pta", refresh: "ptr", key: "ptk", enrolment: "pte" } as const),
  ...({ code: "ptx", clientSecret: "ptc", deviceCode: "ptd" } as const),
  ...({ session: "pts" } as const),
} as const;
/**
 * The purpose of a token: a call, new tokens, a call by a program, joining; and of OAuth an
 * authorization code, a client's secret, and a device code; and the cookie of the web pages.
 */
type TokenKind = keyof typeof PREFIXES;

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_LENGTH = 43; // ceil(256 / log2(62))
const CHECKSUM_LENGTH = 6; // ceil(32 / log2(62))
const SHAPE = /^pt[aekrcdsx]_[0-9A-Za-z]{49}$/;

function base62(value: bigint, length: number): string {
  let digits = "";
  for (let rest = value; digits.length < length; rest /= 62n) digits = DIGITS[Number(rest % 62n)] + digits;
  return digits;
}

function checksum(text: string): string {
  return base62(BigInt(crc32(text)), CHECKSUM_LENGTH);
}

/** A new token of 256 random bits. */
export function createToken(kind: TokenKind): string {
  const text = `${PREFIXES[kind]}_${base62(BigInt(`0x${randomBytes(32).toString("hex")}`), RANDOM_LENGTH)}`;
  return text + checksum(text);
}

/** Whether the text has the shape and the checksum of a token. */
export function isToken(text: string): boolean {
  return SHAPE.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
}

/**
 * The start of a token, in upper or lower case. Any text that begins so is treated as a part of a
 * token, however short.
 */
const TOKEN_START = /pt[aekrcdsx]_/i;

/** Whether a token, or the start of one, is part of the text. */
export function holdsToken(text: string): boolean {
  return TOKEN_START.test(text);
}

/** A JWT (RFC 7519 §3): its header is a JSON object in base64url. */
const JWT = /eyJ[\w-]+\.[\w-]+/;

const ENCODED = /%([0-9a-f]{2})/gi;
/** How many levels of percent-encoding are decoded to find a token. */
const MAX_ENCODINGS = 3;

/**
 * A path with `[secret]` for each segment that contains a token or a JWT, percent-encoded or not.
 * The result may be logged and shown.
 */
export function withoutTokens(path: string): string {
  const segments = path.split("/");
  return segments.map((segment) => (hidesToken(segment) ? "[secret]" : segment)).join("/");
}

function hidesToken(segment: string): boolean {
  let text = segment;
  for (let decoded = 0; decoded < MAX_ENCODINGS && text.includes("%"); decoded++) {
    text = text.replace(ENCODED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  return holdsToken(text) || JWT.test(text);
}

const SCHEME = "Bearer ";

/**
 * The bearer token in an Authorization header (RFC 6750 §2.1; scheme in any case, followed by any
 * number of spaces, RFC 9110 §11.4); undefined for any other scheme. The text may lack the form of
 * Portico's tokens. It then belongs to no caller.
 */
export function bearerOf(authorization: string): string | undefined {
  const scheme = authorization.slice(0, SCHEME.length);
  if (scheme !== SCHEME && scheme.toLowerCase() !== "bearer ") return undefined;
  let start = SCHEME.length;
  while (authorization[start] === " ") start++;
  return authorization.slice(start);
}

/** The SHA-256 of a token: the only form in which one is stored. */
export function hashToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/**
 * The start of a token by which lists and messages name it: the prefix and six characters,
 * `ptk_4fGh81`.
 */
export function tokenPrefix(token: string): string {
  return token.slice(0, 10);
}
