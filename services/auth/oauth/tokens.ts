/** New tokens and codes of grants. */
import { randomBytes } from "node:crypto";
import { createToken, hashToken } from "../../../src/call/token.js";
import type { Grant, Token } from "../../../src/gen/portico/auth/log/v1/log.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";

const ACCESS_LIFE = 60 * 60_000;
const REFRESH_LIFE = 30 * 24 * 60 * 60_000;
/** RFC 6749 §4.1.2 recommends at most ten minutes. A client exchanges its code at once. */
export const CODE_LIFE = 60_000;

export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly access: Token;
  readonly refresh: Token;
}

/** New tokens of a grant. None lives longer than the grant. */
export function createPair({ expires }: Pick<Grant, "expires">, now: number): TokenPair {
  const end = timestampMs(expires);
  const [accessToken, refreshToken] = [createToken("access"), createToken("refresh")];
  const hashed = (token: string, life: number): Token => ({
    sha256: hashToken(token),
    expires: toTimestamp(Math.min(now + life, end)),
  });
  return {
    accessToken,
    refreshToken,
    access: hashed(accessToken, ACCESS_LIFE),
    refresh: hashed(refreshToken, REFRESH_LIFE),
  };
}

/** A new ID of a grant, by which lists name it. */
export function createGrantId(): string {
  return `g${randomBytes(8).toString("hex")}`;
}
