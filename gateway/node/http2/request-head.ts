/**
 * Converts the header list of a request over HTTP/2 into the form of HTTP/1.1, so that later code
 * need not know the version. Checks it by RFC 9113 §8.2 and §8.3.
 */
import {
  FIRST_OWN_KIND,
  HeaderNames,
  isMalformed,
  Kind,
  PSEUDO,
  type ReceivedField,
} from "../../../src/http2/header-fields.js";
import { ContentLength } from "../../../src/http2/stream.js";
import { HttpError } from "../../http/errors.js";
import { type RequestHeaders, readHeaders } from "../../http/headers.js";
import { NO_TUNNEL, UNKNOWN_EXPECTATION } from "../request-errors.js";

/**
 * Header names that this file treats specially, in addition to the names that HTTP/2 treats
 * specially.
 */
const OwnKind = { HOST: FIRST_OWN_KIND, COOKIE: FIRST_OWN_KIND << 1 } as const;

/** The header names of all HTTP/2 connections of the port. */
export const HEADER_NAMES = new HeaderNames({
  kindOf: (name) => (name === "host" ? OwnKind.HOST : name === "cookie" ? OwnKind.COOKIE : 0),
  indexed: ["x-request-id"],
});

/** A request whose header list is well-formed. */
export interface Http2RequestHead {
  readonly method: string;
  readonly target: string;
  /** Name, value, name, value …: without pseudo-headers, with `host`, and with one `cookie`. */
  readonly rawHeaders: readonly string[];
  readonly headers: RequestHeaders;
  /** The length of the body; undefined where no header states it. */
  readonly contentLength: ContentLength | undefined;
  /** Why the request is rejected. */
  readonly error: HttpError | undefined;
}

const NO_HOST = new HttpError(400, "The header Host, or :authority, is missing");

/** A token (RFC 9110 §5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/**
 * A target in origin form (RFC 9112 §3.2.1). The stage `route` checks the other characters, which
 * are all printable.
 */
const TARGET = /^\/[^\0-\x20\x7f]*$/;

/**
 * @param endStream no body follows
 * @returns undefined for a malformed request, which must be reset (RFC 9113 §8.1.1)
 */
export function readHead(fields: readonly ReceivedField[], endStream: boolean): Http2RequestHead | undefined {
  const parts = readParts(fields);
  const { method, scheme, path, authority } = parts;
  const isTunnel = method === "CONNECT";
  if (isMalformed(fields, isTunnel ? "tunnel" : "request") || !TOKEN.test(method)) return undefined;
  if (!isTunnel && !isOrigin(method, scheme, path)) return undefined;
  if (parts.repeatedLength || authority?.includes("@")) return undefined;
  const length = parts.contentLength === undefined ? undefined : new ContentLength(parts.contentLength);
  if (length?.receive(0, endStream) === false) return undefined;
  const headers = readHeaders(parts.rawHeaders);
  if (authority !== undefined && headers.host !== authority) return undefined;
  headers.streamed = !endStream && length === undefined;
  const error = isTunnel ? NO_TUNNEL : errorOf(headers);
  return { method, target: path, rawHeaders: parts.rawHeaders, headers, contentLength: length, error };
}

function isOrigin(method: string, scheme: string, path: string): boolean {
  // A proxy may speak TLS to the client and plain HTTP to the gateway, or the reverse. So every
  // port accepts both schemes.
  if (scheme !== "http" && scheme !== "https") return false;
  return TARGET.test(path) || (path === "*" && method === "OPTIONS");
}

function errorOf({ host, expect }: RequestHeaders): HttpError | undefined {
  if (host === undefined) return NO_HOST;
  return expect === undefined || expect.toLowerCase() === "100-continue" ? undefined : UNKNOWN_EXPECTATION;
}

interface Parts {
  method: string;
  scheme: string;
  path: string;
  authority: string | undefined;
  contentLength: string | undefined;
  repeatedLength: boolean;
  rawHeaders: string[];
}

function readParts(fields: readonly ReceivedField[]): Parts {
  const rawHeaders: string[] = [];
  const parts: Parts = {
    method: "",
    scheme: "",
    path: "",
    authority: undefined,
    contentLength: undefined,
    repeatedLength: false,
    rawHeaders,
  };
  let cookie: string | undefined;
  let hasHost = false;
  for (const { kind, name, value } of fields) {
    if (kind & PSEUDO) readPseudo(parts, kind, value);
    // A client may split its cookies into several fields (RFC 9113 §8.2.3).
    else if (kind === OwnKind.COOKIE) cookie = cookie === undefined ? value : `${cookie}; ${value}`;
    else {
      if (kind === OwnKind.HOST) hasHost = true;
      else if (kind === Kind.CONTENT_LENGTH) {
        parts.repeatedLength = parts.contentLength !== undefined;
        parts.contentLength = value;
      }
      rawHeaders.push(name, value);
    }
  }
  if (cookie !== undefined) rawHeaders.push("cookie", cookie);
  if (!hasHost && parts.authority !== undefined) rawHeaders.push("host", parts.authority);
  return parts;
}

function readPseudo(parts: Parts, kind: number, value: string): void {
  if (kind === Kind.METHOD) parts.method = value;
  else if (kind === Kind.PATH) parts.path = value;
  else if (kind === Kind.SCHEME) parts.scheme = value;
  else if (kind === Kind.AUTHORITY) parts.authority = value;
}
