/**
 * Checks a head that llhttp has accepted: its errors, the length of the body, and whether it asks
 * for a WebSocket.
 */
import { HttpError } from "../../http/errors.js";
import { listOf, valuesOf } from "../../http/headers.js";
import type { ConnectionLimits } from "../connection.js";
import { NO_TUNNEL } from "../request-errors.js";
import { CHUNKED } from "./exchange.js";
import type { Http1RequestHead } from "./request-head.js";
import { OTHER_VERSION } from "./request-parser.js";

/**
 * Matches where chunked is the last transfer coding. Otherwise a body has no end (RFC 9112 §6.3).
 */
const CHUNKED_LAST = /(?:^|,)[ \t]*chunked$/i;

const TOO_MANY = new HttpError(431, "There are too many headers");
const BAD_CODING = new HttpError(400, "The request is not well-formed HTTP: the last transfer coding is not chunked");
/** An HTTP/1.0 proxy may have passed on the header without knowing it (RFC 9112 §6.1). */
const OLD_CODING = new HttpError(400, "HTTP/1.0 has no Transfer-Encoding");
const NO_HOST = new HttpError(400, "The header Host is missing");

/**
 * The error of a request whose end is unknown. Where there are too many headers, the last ones are
 * not read, so they could state another length.
 */
export function unclearEnd(head: Http1RequestHead, { maxHeaderCount }: ConnectionLimits): HttpError | undefined {
  const { count, transferEncoding } = head.headers;
  if (count > maxHeaderCount) return TOO_MANY;
  if (transferEncoding === undefined) return undefined;
  if (hasOldCoding(head)) return OLD_CODING;
  return CHUNKED_LAST.test(transferEncoding) ? undefined : BAD_CODING;
}

/** Bytes of the body that follows the head. */
export function bodyLength({ method, headers: { transferEncoding, contentLength } }: Http1RequestHead): number {
  if (method === "CONNECT") return 0;
  if (transferEncoding !== undefined) return CHUNKED;
  return contentLength === undefined ? 0 : Number(contentLength);
}

/**
 * The error of a head that llhttp has accepted. llhttp accepts HTTP/0.9 and HTTP/2.0, which are
 * rejected here (RFC 9110 §15.6.6).
 */
export function errorOf(head: Http1RequestHead): HttpError | undefined {
  const { method, major, minor, headers } = head;
  if (method === "CONNECT") return NO_TUNNEL;
  if (major !== 1 || minor > 1) return OTHER_VERSION;
  if (hasOldCoding(head)) return OLD_CODING;
  return minor === 1 && headers.host === undefined ? NO_HOST : undefined;
}

function hasOldCoding({ minor, headers }: Http1RequestHead): boolean {
  return minor === 0 && headers.transferEncoding !== undefined;
}

/**
 * Whether the client asks for a WebSocket. No other protocol is supported, and HTTP/1.0 has no
 * Upgrade (RFC 9110 §7.8).
 */
export function asksForWebSocket({ upgrade, method, minor, rawHeaders }: Http1RequestHead): boolean {
  if (!upgrade || method === "CONNECT" || minor === 0) return false;
  return /(?:^|,)[ \t]*websocket[ \t]*(?:,|$)/i.test(listOf(rawHeaders, "upgrade"));
}

/** The headers that the package ws reads, in the form in which Node provides them. */
export function handshakeHeaders(rawHeaders: readonly string[]): Record<string, string> {
  const names = ["sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol"];
  const present = names.filter((name) => valuesOf(rawHeaders, name).length > 0);
  return Object.fromEntries(present.map((name) => [name, listOf(rawHeaders, name)]));
}
