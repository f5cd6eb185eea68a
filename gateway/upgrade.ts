/** The opening of a WebSocket (RFC 6455 §4.2.1), as far as the gateway and not the protocol's implementation checks it. */
import type { Cors } from "./cors.js";
import { HttpError } from "./errors.js";
import { listOf, type RequestHeaders } from "./headers.js";

/**
 * @throws {HttpError} 400 or 426 when a server cannot take it up.
 */
export function checkHandshake(raw: readonly string[]): void {
  if (!/^[A-Za-z0-9+/]{22}==$/.test(listOf(raw, "sec-websocket-key"))) {
    throw new HttpError(400, "Sec-WebSocket-Key must be 16 bytes in base64");
  }
  if (listOf(raw, "sec-websocket-version") !== "13") {
    const headers = ["Sec-WebSocket-Version", "13", "Upgrade", "websocket", "Connection", "Upgrade"];
    throw new HttpError(426, "The version of the WebSocket protocol must be 13", { headers });
  }
}

/**
 * Browsers let any page open a WebSocket and leave it to the server to look at where the page is from. A page of the
 * gateway's own origin may always.
 * @throws {HttpError} 403
 */
export function checkOrigin(cors: Cors, { origin, host }: RequestHeaders): void {
  if (origin === undefined || cors.allows(origin) || /^https?:\/\/(.*)$/.exec(origin)?.[1] === host) return;
  throw new HttpError(403, `Pages of ${origin.slice(0, 128)} may not call here`);
}

/** The subprotocol that browsers ask for, and the one of which the rest is their token. */
export const PROTOCOL = "portico";
const TOKEN = /(?:^|,)[ \t]*bearer\.([A-Za-z0-9._~-]+)/g;

/**
 * The bearer token of a browser, which can send no header Authorization but offer subprotocols: `portico` and
 * `bearer.<token>`. The first is what the gateway chooses; the second is never sent back.
 * @throws {HttpError} 400 for more than one token.
 */
export function protocolToken(raw: readonly string[], { authorization }: RequestHeaders): string | undefined {
  const tokens = [...listOf(raw, "sec-websocket-protocol").matchAll(TOKEN)].map(([, token]) => token);
  if (tokens.length + (authorization === undefined ? 0 : 1) > 1)
    throw new HttpError(400, "More than one token was sent");
  return tokens[0];
}
