/**
 * The opening handshake of a WebSocket (RFC 6455 §4.2.1). The gateway itself checks everything that
 * the package ws checks, so that every rejection is an error object of the gateway.
 */
import { HttpError } from "./errors.js";
import { listOf, valuesOf } from "./headers.js";
import type { GatewayRequestHead } from "./message.js";

/** @throws {HttpError} 400 malformed, 426 a version of the protocol other than 13 */
export function checkHandshake(rawHeaders: readonly string[]): void {
  if (!/^[A-Za-z0-9+/]{22}==$/.test(listOf(rawHeaders, "sec-websocket-key"))) {
    throw new HttpError(400, "Sec-WebSocket-Key must be 16 bytes in base64");
  }
  if (listOf(rawHeaders, "sec-websocket-version") !== "13") {
    const headers = ["Sec-WebSocket-Version", "13", "Upgrade", "websocket", "Connection", "Upgrade"];
    throw new HttpError(426, "The version of the WebSocket protocol must be 13", { headers });
  }
}

/** The subprotocol that the gateway chooses where a client offers it. */
export const SUBPROTOCOL = "portico";
const BEARER = /^bearer\.([A-Za-z0-9._~-]+)$/;
/** An element of a list of tokens (RFC 9110 §5.6.2). */
const LISTED = /^[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*$/;

/**
 * The bearer token of a browser. A browser cannot send a header Authorization with a WebSocket, but
 * it can offer subprotocols: `portico` and `bearer.<token>`. The gateway never sends the second one
 * back.
 * @throws {HttpError} 400 for more than one token, and for subprotocols that are not a list
 */
export function subprotocolToken({ rawHeaders, headers }: GatewayRequestHead): string | undefined {
  const tokens = offered(rawHeaders).flatMap((name) => BEARER.exec(name)?.[1] ?? []);
  if (tokens.length + (headers.authorization === undefined ? 0 : 1) > 1) {
    throw new HttpError(400, "More than one token was sent");
  }
  return tokens[0];
}

/**
 * The subprotocols that a client offers.
 * @throws {HttpError} 400 when they are not distinct tokens (RFC 6455 §4.1)
 */
function offered(rawHeaders: readonly string[]): string[] {
  const elements = valuesOf(rawHeaders, "sec-websocket-protocol").flatMap((list) => list.split(","));
  const names = elements.map((element) => LISTED.exec(element)?.[1] ?? "");
  if (names.includes("") || new Set(names).size < names.length) {
    throw new HttpError(400, "Sec-WebSocket-Protocol must be a list of tokens, each of them once");
  }
  return names;
}
