/** JWTs in compact form (RFC 7519 §3, RFC 7515 §7.1), as callers send them. */

/** Maximum characters of a JWT. */
export const MAX_JWT: number = 8 * 1024;
/** Header, payload and signature. A header is a JSON object, so it begins with `{`, encoded `e`. */
const SHAPE = /^ey[A-Za-z0-9_-]{2,4000}\.[A-Za-z0-9_-]{2,8000}\.[A-Za-z0-9_-]{16,2000}$/;

/** Whether a text has the form of a JWT. Nothing is verified. */
export function isJwt(text: string): boolean {
  return text.length <= MAX_JWT && text.startsWith("ey") && SHAPE.test(text);
}
