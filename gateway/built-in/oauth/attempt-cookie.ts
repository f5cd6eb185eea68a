/**
 * The cookie that holds an attempt to sign in by an issuer. Only the browser that began may end it,
 * so nobody can sign another in (RFC 6749 §10.12). It is sent to the callback of that issuer only,
 * and SameSite=Lax because the browser comes there from the issuer's site (RFC 6265bis §5.6).
 */
import { valuesOf } from "../../http/headers.js";
import type { GatewayRequestHead } from "../../http/message.js";

/** In seconds, as the authority lets an attempt live. */
const MAX_AGE = 600;

export const CALLBACK = "/oauth/callback/";

/** The header that sets the cookie. @param attempt "" deletes it */
export function attemptCookie(publicUrl: string, issuer: string, attempt: string): readonly string[] {
  const age = attempt === "" ? 0 : MAX_AGE;
  const attributes = [`Path=${CALLBACK}${issuer}`, `Max-Age=${age}`, "HttpOnly", "SameSite=Lax"];
  const all = [`${nameFor(publicUrl)}=${attempt}`, ...attributes, ...(isSecure(publicUrl) ? ["Secure"] : [])];
  return ["Set-Cookie", all.join("; ")];
}

/** The attempt that the browser sends; "" for none, and for several of that name. */
export function attemptOf({ rawHeaders }: Pick<GatewayRequestHead, "rawHeaders">, publicUrl: string): string {
  const start = `${nameFor(publicUrl)}=`;
  const pairs = valuesOf(rawHeaders, "cookie").flatMap((value) => value.split(";").map((pair) => pair.trim()));
  const [first = "", ...others] = pairs.filter((pair) => pair.startsWith(start));
  return others.length > 0 ? "" : first.slice(start.length);
}

function nameFor(publicUrl: string): string {
  return isSecure(publicUrl) ? "__Secure-portico-attempt" : "portico-attempt";
}

function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith("https:");
}
