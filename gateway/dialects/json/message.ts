/**
 * Messages of the JSON dialect: which content types a request may have, how a request becomes wire
 * bytes, and how wire bytes become a response.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Endpoint } from "../../../src/contract/endpoint.js";
import { TooLargeError } from "../../../src/json/codec.js";
import type { EndpointTarget } from "../../catalog/target.js";
import { checkNotCoded, codingOf } from "../../http/coded-body.js";
import { HttpError, MissingTypesError, responseTooLargeError } from "../../http/errors.js";
import type { RequestHeaders } from "../../http/headers.js";
import type { BareResponse, GatewayRequestHead } from "../../http/message.js";
import { parseQuery, queryOf } from "../../http/target.js";
import { isForm, readForm } from "./bodies/form.js";
import { decodeHttpBody, encodeHttpBody, RAW_HEADERS } from "./bodies/http-body.js";

/** Whether messages of the type are raw bytes with a content type, instead of JSON. */
export function isHttpBody({ typeName }: DescMessage): boolean {
  return typeName === "google.api.HttpBody";
}

/**
 * Whether plain HTTP can carry the call. A request stream needs a WebSocket, or is the body of one
 * POST.
 */
export function isPlain({ shape }: Endpoint): boolean {
  return shape === "unary" || shape === "server_streaming";
}

/**
 * Rejects a body whose content type the endpoint does not accept.
 * @throws {HttpError} 415; 400 for another method than POST
 */
export function checkBody(request: GatewayRequestHead, target: EndpointTarget): void {
  const { input } = target;
  const { contentType } = request.headers;
  if (!isJson(contentType) && !isHttpBody(input) && !isForm(contentType, input)) throw notJson();
  checkCoding(request.headers, takesChunks(request, target));
  if (request.method !== "POST") {
    throw new HttpError(400, "A body is read with POST only; GET has its fields in the query");
  }
}

export function notJson(): HttpError {
  return new HttpError(415, "The body must be JSON in UTF-8, sent with Content-Type: application/json");
}

/** Rejects a content coding in which the gateway cannot read the body. @throws {HttpError} 415 */
export function checkCoding(headers: RequestHeaders, inChunks: boolean): void {
  if (inChunks) checkNotCoded(headers);
  else codingOf(headers);
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*(?:charset="?utf-8"?[ \t]*)?)?$/i;

export function isJson(contentType = ""): boolean {
  return contentType === "application/json" || JSON_TYPE.test(contentType);
}

/**
 * Whether a POST's body is passed on in chunks: raw bytes, for an endpoint that takes a stream of
 * them.
 */
export function takesChunks(_request: GatewayRequestHead, target: EndpointTarget): boolean {
  return target.endpoint.shape === "client_streaming" && isHttpBody(target.input);
}

/**
 * Reads the message: of a POST from its body, of a GET from its query. @throws {JsonError} @throws
 * {HttpError} 400
 */
export function readMessage(
  { method, target, headers: { contentType = "" } }: GatewayRequestHead,
  { input, request }: EndpointTarget,
  chunks: readonly Uint8Array[],
): Uint8Array {
  if (method !== "POST") return request.readQuery(parseQuery(queryOf(target)));
  checkNoQuery(target);
  const body = joined(chunks);
  if (isHttpBody(input)) return encodeHttpBody({ contentType, data: body });
  if (body.length === 0) return request.read(EMPTY_OBJECT);
  return isJson(contentType) ? request.read(body) : readForm(input, request, contentType, body);
}

/**
 * The buffer in which the chunks of a body are joined. The readers copy all that they read, so the
 * next body may overwrite the buffer.
 */
const joinBuffer = Buffer.allocUnsafeSlow(256 * 1024);

/** Joins the chunks to one body, which is valid until the next call of this function. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array {
  if (chunks.length === 1) return chunks[0] as Uint8Array;
  let size = 0;
  for (const chunk of chunks) size += chunk.length;
  if (size > joinBuffer.length) return Buffer.concat(chunks, size);
  let offset = 0;
  for (const chunk of chunks) {
    joinBuffer.set(chunk, offset);
    offset += chunk.length;
  }
  return joinBuffer.subarray(0, size);
}

/** Rejects a query where the message does not come from the query. @throws {HttpError} 400 */
export function checkNoQuery(target: string): void {
  if (queryOf(target) === "") return;
  throw new HttpError(
    400,
    "A query is read with a plain GET only: POST has its fields in the body, a WebSocket in messages",
  );
}

/** The message of a request without a body. */
export const EMPTY_OBJECT = Buffer.from("{}");

/**
 * The response to a unary call.
 * @throws {HttpError} 502 for a message that is too large, or is not of the response type
 */
export function writeMessage(target: EndpointTarget, message: Uint8Array): BareResponse {
  if (isHttpBody(target.output)) {
    const { contentType, data } = decodeHttpBody(target.endpoint.service, message);
    return { status: 200, contentType, body: data, headers: RAW_HEADERS };
  }
  try {
    return { status: 200, body: target.response.writeBody(message) };
  } catch (cause) {
    throw toResponseError(target, cause);
  }
}

/**
 * A message of a stream as JSON without line breaks. @throws {HttpError} 502 like `writeMessage`
 */
export function writeJson(target: EndpointTarget, message: Uint8Array): string {
  try {
    return target.response.write(message);
  } catch (cause) {
    throw toResponseError(target, cause);
  }
}

/** The error for a response of a service that cannot be read or written. */
export function toResponseError({ endpoint: { service }, output }: EndpointTarget, cause: unknown): Error {
  if (cause instanceof MissingTypesError) return cause;
  if (cause instanceof TooLargeError) return responseTooLargeError(service, cause.message, cause);
  return new HttpError(502, `${service} did not respond with a valid ${output.typeName}`, { cause });
}
