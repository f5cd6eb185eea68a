/** New tokens: of a login, of a session of the pages, and of a grant. */
import { createToken, hashToken } from "../../../src/call/token.js";
import type { Token } from "../../../src/gen/portico/auth/log/v1/log.js";
import { toTimestamp } from "../../../src/time.js";

/** How long tokens live, in milliseconds. */
export const ACCESS_LIFE = 60 * 60_000;
const REFRESH_LIFE = 30 * 24 * 60 * 60_000;

interface NewAccess {
  readonly accessToken: string;
  readonly access: Token;
}

export interface TokenPair extends NewAccess {
  readonly refreshToken: string;
  readonly refresh: Token;
}

/** @param end what the token comes from ends then, in milliseconds since 1970 */
export function createAccess(now: number, end = Number.POSITIVE_INFINITY): NewAccess {
  const accessToken = createToken("access");
  return { accessToken, access: hashed(accessToken, Math.min(now + ACCESS_LIFE, end)) };
}

/** @param end as in `createAccess` */
export function createPair(now: number, end = Number.POSITIVE_INFINITY): TokenPair {
  const refreshToken = createToken("refresh");
  return { ...createAccess(now, end), refreshToken, refresh: hashed(refreshToken, Math.min(now + REFRESH_LIFE, end)) };
}

function hashed(token: string, expires: number): Token {
  return { sha256: hashToken(token), expires: toTimestamp(expires) };
}
