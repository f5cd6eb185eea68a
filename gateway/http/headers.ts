/** The headers of a request: the ones that the gateway reads, and the checks for ambiguous ones. */
import { HttpError } from "./errors.js";

/**
 * The request headers that the gateway reads. If a header is repeated that must not be, the gateway
 * rejects the request and does not guess which value counts.
 */
export class RequestHeaders {
  acceptEncoding: string | undefined;
  authorization: string | undefined;
  connectAcceptEncoding: string | undefined;
  connectContentEncoding: string | undefined;
  connectTimeout: string | undefined;
  connectVersion: string | undefined;
  contentEncoding: string | undefined;
  contentLength: string | undefined;
  contentType: string | undefined;
  expect: string | undefined;
  fetchMode: string | undefined;
  fetchSite: string | undefined;
  grpcAcceptEncoding: string | undefined;
  grpcEncoding: string | undefined;
  host: string | undefined;
  origin: string | undefined;
  namespace: string | undefined;
  requestId: string | undefined;
  requestMethod: string | undefined;
  service: string | undefined;
  timeout: string | undefined;
  traceparent: string | undefined;
  tracestate: string | undefined;
  transferEncoding: string | undefined;
  /** The number of all headers, including those that the gateway does not read. */
  count = 0;
  /** The name of a header that was sent more than once and must not be. */
  repeated: string | undefined;
  /**
   * A body follows and no header states its length. HTTP/1.1 announces that by Transfer-Encoding,
   * HTTP/2 does not (RFC 9113 §8.1).
   */
  streamed = false;
}

/** A header that the gateway reads. */
export type KnownHeader = Exclude<keyof RequestHeaders, "count" | "repeated" | "streamed">;

/** The headers by their names in lower case. */
export const HEADER_FIELDS: ReadonlyMap<string, KnownHeader> = new Map<string, KnownHeader>([
  ["accept-encoding", "acceptEncoding"],
  ["authorization", "authorization"],
  ["connect-accept-encoding", "connectAcceptEncoding"],
  ["connect-content-encoding", "connectContentEncoding"],
  ["connect-timeout-ms", "connectTimeout"],
  ["connect-protocol-version", "connectVersion"],
  ["content-encoding", "contentEncoding"],
  ["content-length", "contentLength"],
  ["content-type", "contentType"],
  ["expect", "expect"],
  ["sec-fetch-mode", "fetchMode"],
  ["sec-fetch-site", "fetchSite"],
  ["grpc-accept-encoding", "grpcAcceptEncoding"],
  ["grpc-encoding", "grpcEncoding"],
  ["host", "host"],
  ["origin", "origin"],
  ["platform-namespace", "namespace"],
  ["portico-service", "service"],
  ["x-request-id", "requestId"],
  ["access-control-request-method", "requestMethod"],
  ["grpc-timeout", "timeout"],
  ["traceparent", "traceparent"],
  ["tracestate", "tracestate"],
  ["transfer-encoding", "transferEncoding"],
]);

/** Headers whose value is a list. */
const LISTS: ReadonlySet<KnownHeader> = new Set<KnownHeader>([
  ...(["acceptEncoding", "connectAcceptEncoding", "expect", "grpcAcceptEncoding", "tracestate"] as const),
]);

/** Parses the raw list: name, value, name, value … */
export function readHeaders(raw: readonly string[]): RequestHeaders {
  const headers = new RequestHeaders();
  headers.count = raw.length / 2;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] as string;
    const field = HEADER_FIELDS.get(name.toLowerCase());
    if (field === undefined) continue;
    if (!tryAddHeader(headers, field, raw[index + 1] as string)) headers.repeated ??= name;
  }
  return headers;
}

/** @returns false where the header must not be sent more than once, and was */
export function tryAddHeader(headers: RequestHeaders, field: KnownHeader, value: string): boolean {
  const before = headers[field];
  if (before === undefined) headers[field] = value;
  // A list may be split over several headers. If two request IDs or two traceparents were sent,
  // neither counts (W3C Trace Context §3.2.1 and §3.3.1).
  else if (LISTS.has(field)) headers[field] = `${before},${value}`;
  else if (field === "requestId" || field === "traceparent") headers[field] = "";
  else return false;
  return true;
}

/**
 * All values of a header, in the order sent. For headers that are needed in few requests only.
 * `name` is in lower case.
 */
export function valuesOf(raw: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if ((raw[index] as string).toLowerCase() === name) values.push(raw[index + 1] as string);
  }
  return values;
}

/** The values of `valuesOf`, joined as one list (RFC 9110 §5.3); "" for none. */
export function listOf(raw: readonly string[], name: string): string {
  return valuesOf(raw, name).join(",");
}

/** Whether the header TE says that the client takes trailers (RFC 9110 §10.1.4). */
export function takesTrailers(raw: readonly string[]): boolean {
  return /(?:^|,)[ \t]*trailers[ \t]*(?:,|;|$)/i.test(listOf(raw, "te"));
}

/** Whether a body follows the headers (RFC 9112 §6.3, RFC 9113 §8.1). */
export function announcesBody(headers: RequestHeaders): boolean {
  return (
    headers.transferEncoding !== undefined ||
    headers.streamed ||
    (headers.contentLength !== undefined && headers.contentLength !== "0")
  );
}

/**
 * Rejects a second Host, even in requests whose other headers are not checked (RFC 9112 §3.2).
 * @throws {HttpError} 400
 */
export function checkHost({ repeated }: RequestHeaders): void {
  if (repeated?.toLowerCase() === "host") throw new HttpError(400, "The header Host was sent more than once");
}

/**
 * Rejects repeated headers, and transfer codings other than chunked.
 * @throws {HttpError} 400
 */
export function checkUnambiguous(headers: RequestHeaders): void {
  if (headers.repeated !== undefined) {
    throw new HttpError(400, `The header ${headers.repeated} was sent more than once`);
  }
  if (headers.transferEncoding !== undefined && headers.transferEncoding.toLowerCase() !== "chunked") {
    throw new HttpError(400, "The only Transfer-Encoding understood is chunked");
  }
}
