/**
 * The opening of a WebSocket (RFC 6455 §4.2.1): all that the protocol's implementation checks too, so that no refusal is
 * left to it.
 */
import { HttpError } from "./errors.js";
import { listOf, type RequestHeaders, valuesOf } from "./request-headers.js";

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

/** The subprotocol that browsers ask for, and the one of which the rest is their token. */
export const PROTOCOL = "portico";
const BEARER = /^bearer\.([A-Za-z0-9._~-]+)$/;
/** A token in a list (RFC 9110 §5.6.2). */
const LISTED = /^[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*$/;

/**
 * The bearer token of a browser, which can send no header Authorization but offer subprotocols: `portico` and
 * `bearer.<token>`. The first is what the gateway chooses; the second is never sent back.
 * @throws {HttpError} 400 for more than one token, and for subprotocols that are no list.
 */
export function protocolToken(raw: readonly string[], { authorization }: RequestHeaders): string | undefined {
  const tokens = offered(raw).flatMap((name) => BEARER.exec(name)?.[1] ?? []);
  if (tokens.length + (authorization === undefined ? 0 : 1) > 1)
    throw new HttpError(400, "More than one token was sent");
  return tokens[0];
}

/**
 * The subprotocols that a client offers.
 * @throws {HttpError} 400 when they are not distinct tokens (RFC 6455 §4.1).
 */
function offered(raw: readonly string[]): string[] {
  const parts = valuesOf(raw, "sec-websocket-protocol").flatMap((list) => list.split(","));
  const names = parts.map((part) => LISTED.exec(part)?.[1] ?? "");
  if (names.includes("") || new Set(names).size < names.length) {
    throw new HttpError(400, "Sec-WebSocket-Protocol must be a list of tokens, each of them once");
  }
  return names;
}
