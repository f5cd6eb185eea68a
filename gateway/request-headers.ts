/**
 * The request headers that the gateway reads, parsed from the raw list in one pass. A header that may be sent once but
 * came twice is an attack or a broken client: the gateway never guesses which of the two counts.
 */
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
  /** The name of a header that was sent more than once and must not be. */
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

/** Parses the raw list: name, value, name, value … */
export function readHeaders(raw: readonly string[]): RequestHeaders {
  const headers = new RequestHeaders();
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] as string;
    const field = FIELDS.get(name.toLowerCase());
    if (field === undefined) continue;
    const value = raw[index + 1] as string;
    const before = headers[field];
    if (before === undefined) headers[field] = value;
    // A list may be split over several headers; of two request IDs or trace parents neither counts (W3C Trace Context
    // §3.2.1 and §3.3.1).
    else if (field === "tracestate" || field === "expect") headers[field] = `${before},${value}`;
    else if (field === "requestId" || field === "traceparent") headers[field] = "";
    else headers.repeated ??= name;
  }
  return headers;
}

/** All values of a header that only few requests are searched for, in the order sent. `name` is in lower case. */
export function valuesOf(raw: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if ((raw[index] as string).toLowerCase() === name) values.push(raw[index + 1] as string);
  }
  return values;
}

/** The same values joined as one list (RFC 9110 §5.3); "" for none. */
export function listOf(raw: readonly string[], name: string): string {
  return valuesOf(raw, name).join(",");
}

/** Whether a body follows the headers (RFC 9112 §6.3). */
export function announcesBody(headers: RequestHeaders): boolean {
  return (
    headers.transferEncoding !== undefined || (headers.contentLength !== undefined && headers.contentLength !== "0")
  );
}

/**
 * Refuses a second Host, which is refused even where no other header is looked at (RFC 9112 §3.2).
 * @throws {HttpError} 400
 */
export function checkHost({ repeated }: RequestHeaders): void {
  if (repeated?.toLowerCase() === "host") throw new HttpError(400, "The header Host was sent more than once");
}

/**
 * Refuses headers that are ambiguous in any request: repeated ones, and transfer codings other than chunked.
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
