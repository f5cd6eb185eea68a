/** Messages of the JSON dialect: the content types of requests, how they become wire bytes, and wire bytes a body. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Endpoint } from "../../../src/contract/endpoint.js";
import { TooLargeError } from "../../../src/json/codec.js";
import type { Target } from "../../catalog/target.js";
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

/** Whether plain HTTP can carry the call: a request stream needs a WebSocket, or is the body of one POST. */
export function isPlain({ shape }: Endpoint): boolean {
  return shape === "unary" || shape === "server_streaming";
}

/** Refuses a body of a content type that the endpoint's request does not take. @throws {HttpError} 415, 400 with another method */
export function checkBody(request: GatewayRequestHead, target: Target): void {
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

/** Refuses a content coding in which the body cannot be read. @throws {HttpError} 415 */
export function checkCoding(headers: RequestHeaders, inChunks: boolean): void {
  if (inChunks) checkNotCoded(headers);
  else codingOf(headers);
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*(?:charset="?utf-8"?[ \t]*)?)?$/i;

export function isJson(contentType = ""): boolean {
  return contentType === "application/json" || JSON_TYPE.test(contentType);
}

/** Whether a POST's body is sent on in pieces: raw bytes, for an endpoint that takes a stream of them. */
export function takesChunks(_request: GatewayRequestHead, target: Target): boolean {
  return target.endpoint.shape === "client_streaming" && isHttpBody(target.input);
}

/** The message of a POST, from its body; of a GET, from its query. @throws {JsonError} @throws {HttpError} 400 */
export function readMessage(
  { method, target, headers: { contentType = "" } }: GatewayRequestHead,
  { input, request }: Target,
  chunks: readonly Uint8Array[],
): Uint8Array {
  if (method !== "POST") return request.readQuery(parseQuery(queryOf(target)));
  checkNoQuery(target);
  const body = joined(chunks);
  if (isHttpBody(input)) return encodeHttpBody({ contentType, data: body });
  if (body.length === 0) return request.read(EMPTY_OBJECT);
  return isJson(contentType) ? request.read(body) : readForm(input, request, contentType, body);
}

/** Where a body of several pieces is joined. All that is read from it is copied, so the next one may overwrite it. */
const joinBuffer = Buffer.allocUnsafeSlow(256 * 1024);

/** The pieces as one body, valid until the next call. */
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

/** Refuses a query where the message does not come from it. @throws {HttpError} 400 */
export function checkNoQuery(target: string): void {
  if (queryOf(target) === "") return;
  throw new HttpError(
    400,
    "A query is read with a plain GET only: POST has its fields in the body, a WebSocket in messages",
  );
}

/** The message of a request that sends none. */
export const EMPTY_OBJECT = Buffer.from("{}");

/** The reply of a unary call. @throws {HttpError} 502 for bytes that are no message of the response type, or too large a one */
export function writeMessage(target: Target, message: Uint8Array): BareResponse {
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

/** A message of a stream as JSON without line breaks. @throws {HttpError} 502 as `writeMessage` */
export function writeJson(target: Target, message: Uint8Array): string {
  try {
    return target.response.write(message);
  } catch (cause) {
    throw toResponseError(target, cause);
  }
}

/** The error of a service whose answer cannot be read or written. */
export function toResponseError({ endpoint: { service }, output }: Target, cause: unknown): Error {
  if (cause instanceof MissingTypesError) return cause;
  if (cause instanceof TooLargeError) return responseTooLargeError(service, cause.message, cause);
  return new HttpError(502, `${service} answered with what is no ${output.typeName}`, { cause });
}
