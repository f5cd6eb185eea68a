/** Cookies of the gateway's own pages (RFC 6265). No service is sent one. */
import { valuesOf } from "./headers.js";
import type { GatewayRequestHead } from "./message.js";

/** The first cookie of the name; undefined if the request has none. */
export function cookieOf({ rawHeaders }: Pick<GatewayRequestHead, "rawHeaders">, name: string): string | undefined {
  for (const pair of valuesOf(rawHeaders, "cookie").join(";").split(";")) {
    const at = pair.indexOf("=");
    if (at >= 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}
