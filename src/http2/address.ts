/** Where HTTP/2 is spoken: a TCP port or a unix socket, with TLS or without. */
import { type Address, formatAddress } from "../address.js";

export type Http2Address = Address | { readonly path: string };

/** What HTTP/2 is called within TLS (RFC 9113, section 3.2). */
export const ALPN = "h2";

/** For people. */
export function formatHttp2Address(address: Http2Address): string {
  return "path" in address ? address.path : formatAddress(address);
}
