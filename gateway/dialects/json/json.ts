/**
 * Requests and answers as messages: which content types a request may come in, and how each becomes wire bytes and back.
 */
import { TooLargeError } from "../../../src/json/codec.js";
import type { Target } from "../../catalog/routes.js";
import { HttpError } from "../../errors.js";
import { checkContentType, checkEncoding, type RequestHeaders } from "../../request-headers.js";
import { parseQuery } from "../../request-target.js";
import { isForm, readForm } from "./bodies/form.js";
import { decodeHttpBody, encodeHttpBody, isHttpBody, RAW_HEADERS } from "./bodies/http-body.js";

/**
 * Refuses a body that the endpoint's request cannot come in.
 * @throws {HttpError} 415
 */
export function checkBody({ endpoint }: Target, headers: RequestHeaders): void {
  const { input } = endpoint.method;
  if (isHttpBody(input) || isForm(headers.contentType, input)) checkEncoding(headers);
  else checkContentType(headers);
}

/** Whether a POST's body is sent on in pieces: raw bytes, for an endpoint that takes a stream of them. */
export function takesPieces({ endpoint }: Target): boolean {
  return endpoint.shape === "client_streaming" && isHttpBody(endpoint.method.input);
}

/**
 * The message of a GET.
 * @throws {JsonError}
 * @throws {HttpError} 400
 */
export function readGet({ request }: Target, query: string): Uint8Array {
  return request.readQuery(parseQuery(query));
}

/**
 * The message of a POST.
 * @throws {JsonError}
 * @throws {HttpError} 400
 */
export function readPost(
  { endpoint, request }: Target,
  query: string,
  { contentType = "" }: RequestHeaders,
  pieces: readonly Uint8Array[],
): Uint8Array {
  checkNoQuery(query);
  const body = whole(pieces);
  const { input } = endpoint.method;
  if (isHttpBody(input)) return encodeHttpBody({ contentType, data: body });
  if (body.length === 0) return request.read(NO_FIELDS);
  return isForm(contentType, input) ? readForm(input, request, contentType, body) : request.read(body);
}

/**
 * Where bodies are put together. All that is read of one is copied, so that the next may stand here; to make room for each
 * would be garbage of its whole size.
 */
const together = Buffer.allocUnsafeSlow(256 * 1024);

/** A body of which nothing is needed after it was read. */
function whole(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array;
  let size = 0;
  for (const piece of pieces) size += piece.length;
  if (size > together.length) return Buffer.concat(pieces, size);
  let at = 0;
  for (const piece of pieces) {
    together.set(piece, at);
    at += piece.length;
  }
  return together.subarray(0, size);
}

/**
 * Refuses a query where it is not what the call has its fields from.
 * @throws {HttpError} 400
 */
export function checkNoQuery(query: string): void {
  if (query === "") return;
  throw new HttpError(
    400,
    "A query is read with a plain GET only: POST has its fields in the body, a WebSocket in messages",
  );
}

/** A request of which nothing came. */
export const NO_FIELDS = Buffer.from("{}");

/** A whole answer. */
export interface Content {
  readonly contentType: string;
  readonly body: string | Uint8Array;
  /** Name, value, name, value … */
  readonly headers: readonly string[];
}

const NO_HEADERS: readonly string[] = [];

/** @throws {HttpError} 502 when the bytes are not a message of the type, or too large a one. */
export function writeAnswer(target: Target, message: Uint8Array): Content {
  if (isHttpBody(target.endpoint.method.output)) {
    const { contentType, data } = decodeHttpBody(target.endpoint.service, message);
    return { contentType, body: data, headers: RAW_HEADERS };
  }
  try {
    return { contentType: "application/json", body: target.response.writeBody(message), headers: NO_HEADERS };
  } catch (cause) {
    throw unusable(target, cause);
  }
}

/** @throws {HttpError} 502 when the bytes are not a message of the type, or too large a one. */
export function writeJson(target: Target, message: Uint8Array): string {
  try {
    return target.response.write(message);
  } catch (cause) {
    throw unusable(target, cause);
  }
}

function unusable({ endpoint: { service, method } }: Target, cause: unknown): HttpError {
  const why = cause instanceof TooLargeError ? `too much: ${cause.message}` : `what is no ${method.output.typeName}`;
  return new HttpError(502, `${service} answered with ${why}`, { cause });
}
