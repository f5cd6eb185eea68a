/**
 * Portico's own dialect, JSON over plain HTTP. A GET has its message in the query, a POST in the
 * body. Streams are NDJSON, server-sent events or WebSockets. docs/json.md and docs/streams.md
 * describe the dialect.
 */

import { parseTimeout } from "../../../src/call/metadata.js";
import type { Endpoint } from "../../../src/contract/endpoint.js";
import type { EndpointTarget, Route } from "../../catalog/target.js";
import { decodeContent, isCoded } from "../../http/coded-body.js";
import { writeErrorReply } from "../../http/error-object.js";
import { HttpError } from "../../http/errors.js";
import { listOf, type RequestHeaders } from "../../http/headers.js";
import type { BareResponse, GatewayRequest, GatewayRequestHead } from "../../http/message.js";
import { pathOf } from "../../http/target.js";
import { type Allow, allowing, type Dialect } from "../../stages/dialect.js";
import type { StreamCallOptions } from "../../stages/stream-call.js";
import { addMetadata, failed, succeeded } from "../metadata.js";
import { decodeHttpBody, encodeHttpBody, type HttpBody, RAW_HEADERS, rawChunks } from "./bodies/http-body.js";
import {
  checkBody,
  checkNoQuery,
  isHttpBody,
  isPlain,
  readMessage,
  takesChunks,
  writeJson,
  writeMessage,
} from "./message.js";
import { ndjson } from "./streams/ndjson.js";
import { ResponseStream, type StreamFormat } from "./streams/response-stream.js";
import { acceptsEvents, isComplete, serverSentEvents } from "./streams/sse.js";
import { upload } from "./streams/upload.js";
import { WebSocketCall } from "./streams/websocket.js";

export const json: Dialect = {
  name: "json",
  roots: ["/v1"],
  writesDetails: true,
  usesServiceStatus: true,
  findRoute: (request, routes) => routes.find(pathOf(request.target)),
  methods,
  checkBody,
  readTimeout,
  takesChunks,
  maxBody: (maxMessage) => maxMessage,
  isEncoded: isCoded,
  decodeBody: (request, _target, body, maxMessage) => decodeContent(request, body, maxMessage),
  readMessage,
  writeMessage: (_request, target, message, response) => succeeded(writeMessage(target, message), response),
  openStream,
  writeError: (_request, failure, { service, target, response }) =>
    failed(writeErrorReply(service, failure, target), response),
};

const POST_ONLY = allowing("POST", "OPTIONS");
/** A request that opens a WebSocket is a GET (RFC 6455 §4.1). */
const WEBSOCKET = allowing("GET", "OPTIONS");
const GET_OR_POST = allowing("GET", "HEAD", "POST", "OPTIONS");

function methods({ upgrade }: GatewayRequestHead, endpoint: Endpoint, { versioned }: Route): Allow {
  if (upgrade) return WEBSOCKET;
  return endpoint.postOnly || (versioned && isPlain(endpoint)) ? POST_ONLY : GET_OR_POST;
}

/** Reads gRPC's header, because HTTP has no header for a timeout. */
function readTimeout({ timeout }: RequestHeaders): number | undefined {
  if (timeout === undefined) return undefined;
  const milliseconds = parseTimeout(timeout);
  if (milliseconds !== undefined) return milliseconds;
  throw new HttpError(400, "Grpc-Timeout must be up to eight digits and a unit (H M S m u n), such as 500m");
}

/**
 * Calls a streaming endpoint: over a WebSocket, by an upload, or with a stream as the response's
 * body.
 */
function openStream(
  request: GatewayRequest,
  body: readonly Uint8Array[],
  options: StreamCallOptions,
): BareResponse | Promise<BareResponse | Uint8Array> {
  const { target } = options;
  if (request.upgrade) return openWebSocket(request, options);
  if (request.method === "POST" && takesChunks(request, target)) {
    checkNoQuery(request.target);
    return upload(request, options, encodeHttpBody);
  }
  if (!isPlain(target.endpoint)) {
    throw new HttpError(426, `${target.endpoint.name} takes a stream of messages: open a WebSocket at this path`, {
      headers: ["Upgrade", "websocket", "Connection", "Upgrade"],
    });
  }
  return openResponse(request, readMessage(request, target, body), options, responseEncoderOf(target));
}

function openWebSocket(request: GatewayRequest, options: StreamCallOptions): BareResponse {
  checkNoQuery(request.target);
  const session = new WebSocketCall(options);
  request.onAbort((reason) => session.stop(reason));
  return { status: 101, body: "", session };
}

/**
 * Makes nginx pass each message on at once.
 * https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
 */
export const UNBUFFERED: readonly string[] = ["X-Accel-Buffering", "no"];

/**
 * How the messages of a response stream are written: as JSON, or as the raw bytes of a
 * google.api.HttpBody.
 */
export type ResponseEncoder =
  | { readonly toJson: (message: Uint8Array) => string; readonly toRaw?: undefined }
  | { readonly toRaw: (message: Uint8Array) => HttpBody };

function responseEncoderOf(target: EndpointTarget): ResponseEncoder {
  const { service, method } = target.endpoint;
  if (isHttpBody(method.output)) return { toRaw: (message) => decodeHttpBody(service, message) };
  return { toJson: (message) => writeJson(target, message) };
}

/** Begins the response of a server-streaming endpoint when the first message has arrived. */
export async function openResponse(
  request: GatewayRequest,
  message: Uint8Array,
  options: StreamCallOptions,
  encoder: ResponseEncoder,
): Promise<BareResponse> {
  const raw = encoder.toRaw !== undefined;
  const events = !raw && acceptsEvents(listOf(request.rawHeaders, "accept"));
  if (events && isComplete(listOf(request.rawHeaders, "last-event-id"))) return { status: 204, body: "" };
  const format = formatOf(encoder, events);
  const body = new ResponseStream(options, message, format);
  request.onAbort((reason) => body.stop(reason));
  const contentType = await body.contentType;
  if (request.method === "HEAD") body.stop(new HttpError(499, "Only the headers were asked for"));
  const headers = addMetadata([...(raw ? RAW_HEADERS : UNBUFFERED)], body.metadata);
  return { status: body.status, headers, contentType, body };
}

function formatOf(encoder: ResponseEncoder, events: boolean): StreamFormat {
  if (encoder.toRaw !== undefined) return rawChunks(encoder.toRaw);
  return events ? serverSentEvents(encoder.toJson) : ndjson(encoder.toJson);
}
