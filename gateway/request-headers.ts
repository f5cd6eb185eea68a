/**
 * The request headers that the gateway reads, taken from the raw list in one pass. A header that may be sent once but
 * came twice is an attack or a broken client: which of the two counts is never guessed.
 */

import { bearerOf, holdsToken } from "../src/access/token.js";
import { NAME } from "../src/contract/names.js";
import { parseTimeout } from "../src/rpc/timeout.js";
import { HttpError } from "./errors.js";

export class RequestHeaders {
  authorization: string | undefined;
  contentEncoding: string | undefined;
  contentLength: string | undefined;
  contentType: string | undefined;
  expect: string | undefined;
  fetchMode: string | undefined;
  fetchSite: string | undefined;
  host: string | undefined;
  origin: string | undefined;
  namespace: string | undefined;
  requestId: string | undefined;
  requestMethod: string | undefined;
  timeout: string | undefined;
  traceparent: string | undefined;
  tracestate: string | undefined;
  transferEncoding: string | undefined;
  /** The name of a header that came more than once and must not. */
  repeated: string | undefined;
}

type Field = Exclude<keyof RequestHeaders, "repeated">;

const FIELDS: ReadonlyMap<string, Field> = new Map<string, Field>([
  ["authorization", "authorization"],
  ["content-encoding", "contentEncoding"],
  ["content-length", "contentLength"],
  ["content-type", "contentType"],
  ["expect", "expect"],
  ["sec-fetch-mode", "fetchMode"],
  ["sec-fetch-site", "fetchSite"],
  ["host", "host"],
  ["origin", "origin"],
  ["platform-namespace", "namespace"],
  ["x-request-id", "requestId"],
  ["access-control-request-method", "requestMethod"],
  ["grpc-timeout", "timeout"],
  ["traceparent", "traceparent"],
  ["tracestate", "tracestate"],
  ["transfer-encoding", "transferEncoding"],
]);

/** Reads the raw list: name, value, name, value … */
export function readHeaders(raw: readonly string[]): RequestHeaders {
  const headers = new RequestHeaders();
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] as string;
    const field = FIELDS.get(name.toLowerCase());
    if (field === undefined) continue;
    const value = raw[index + 1] as string;
    const before = headers[field];
    if (before === undefined) headers[field] = value;
    // A list may come in parts; two request ids or parents are none (W3C Trace Context §3.2.1 and §3.3.1).
    else if (field === "tracestate" || field === "expect") headers[field] = `${before},${value}`;
    else if (field === "requestId" || field === "traceparent") headers[field] = "";
    else headers.repeated ??= name;
  }
  return headers;
}

/** The values of a header that few requests are looked through for, one for each time that it was sent. */
export function valuesOf(raw: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if ((raw[index] as string).toLowerCase() === name) values.push(raw[index + 1] as string);
  }
  return values;
}

/** The same, joined as a list (RFC 9110 §5.3); "" for none. */
export function listOf(raw: readonly string[], name: string): string {
  return valuesOf(raw, name).join(",");
}

/** Whether a body follows (RFC 9112 §6.3). */
export function announcesBody(headers: RequestHeaders): boolean {
  return (
    headers.transferEncoding !== undefined || (headers.contentLength !== undefined && headers.contentLength !== "0")
  );
}

/**
 * Refuses two hosts, also where nothing else is looked at (RFC 9112 §3.2).
 * @throws {HttpError} 400
 */
export function checkHost({ repeated }: RequestHeaders): void {
  if (repeated?.toLowerCase() === "host") throw new HttpError(400, "The header Host was sent more than once");
}

/**
 * Refuses what no request may have, whatever it is for.
 * @throws {HttpError} 400
 */
export function checkHeaders(headers: RequestHeaders): void {
  if (headers.repeated !== undefined)
    throw new HttpError(400, `The header ${headers.repeated} was sent more than once`);
  if (headers.transferEncoding !== undefined && headers.transferEncoding.toLowerCase() !== "chunked") {
    throw new HttpError(400, "The only Transfer-Encoding understood is chunked");
  }
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*(?:charset="?utf-8"?[ \t]*)?)?$/i;

/**
 * Refuses a body that is not JSON in UTF-8.
 * @throws {HttpError} 415
 */
export function checkContentType(headers: RequestHeaders): void {
  const { contentType } = headers;
  if (contentType !== "application/json" && !JSON_TYPE.test(contentType ?? "")) {
    throw new HttpError(415, "The body must be JSON in UTF-8, sent with Content-Type: application/json");
  }
  checkEncoding(headers);
}

/**
 * Refuses a compressed body.
 * @throws {HttpError} 415
 */
export function checkEncoding({ contentEncoding }: RequestHeaders): void {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== "identity") {
    throw new HttpError(415, "The body must not be compressed", { headers: ["Accept-Encoding", "identity"] });
  }
}

/** The bearer token. Any other scheme is as none: the caller may mean it for someone else on the way. */
export function bearerToken({ authorization }: RequestHeaders): string | undefined {
  return authorization === undefined ? undefined : bearerOf(authorization);
}

/**
 * The namespace asked for.
 * @throws {HttpError} 400 when it can be no namespace's name.
 */
export function namespaceOf({ namespace }: RequestHeaders): string | undefined {
  if (namespace !== undefined && !NAME.test(namespace)) {
    throw new HttpError(400, "Platform-Namespace must be lower-case letters, digits and -, at most 63");
  }
  return namespace;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The client's own request id, if it is sane. It is logged, so it must not be a token. */
export function requestIdOf({ requestId }: RequestHeaders): string | undefined {
  if (requestId === undefined || !REQUEST_ID.test(requestId) || holdsToken(requestId)) return undefined;
  return requestId;
}

/** Version, trace id, parent id, flags, and what versions after 00 may add (W3C Trace Context §3.2.2). */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[\x21-\x7e]*)?$/;
const TRACESTATE = /^[\x20-\x7e\t]{1,512}$/;

/** The trace that the request belongs to; `state` only with a valid `parent` (W3C Trace Context §3.3). */
export function traceOf({ traceparent, tracestate }: RequestHeaders): Trace {
  const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent);
  if (match === null || (match[1] === "00" && match[2] !== undefined)) return NO_TRACE;
  return { parent: traceparent, state: tracestate && TRACESTATE.test(tracestate) ? tracestate : undefined };
}

interface Trace {
  readonly parent: string | undefined;
  readonly state: string | undefined;
}

const NO_TRACE: Trace = { parent: undefined, state: undefined };

/**
 * How long the call may take, in milliseconds: `Grpc-Timeout: 500m`, one to eight digits and a unit
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Timeout"; HTTP has no header of its own for it).
 * @throws {HttpError} 400
 */
export function timeoutOf({ timeout }: RequestHeaders): number | undefined {
  if (timeout === undefined) return undefined;
  const milliseconds = parseTimeout(timeout);
  if (milliseconds !== undefined) return milliseconds;
  throw new HttpError(400, "Grpc-Timeout must be up to eight digits and a unit (H M S m u n), such as 500m");
}
