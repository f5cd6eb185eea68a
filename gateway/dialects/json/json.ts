/**
 * Portico's own dialect, JSON over plain HTTP: a GET has its message in the query, a POST in the body. Streams are NDJSON,
 * server-sent events or WebSockets. docs/json.md and docs/streams.md describe it.
 */
import { HttpError } from "../../errors.js";
import { type GatewayRequest, listOf, type Reply } from "../../http.js";
import type { Dialect } from "../../stages/dialect.js";
import type { StreamOptions } from "../../stages/stream-call.js";
import { RAW_HEADERS, rawChunks } from "./bodies/http-body.js";
import { checkBody, checkNoQuery, isHttpBody, readMessage, takesPieces, writeJson, writeMessage } from "./message.js";
import { ndjson } from "./streams/ndjson.js";
import { ResponseStream } from "./streams/response-stream.js";
import { acceptsEvents, isComplete, serverSentEvents } from "./streams/sse.js";
import { upload } from "./streams/upload.js";
import { WebSocketCall } from "./streams/websocket.js";

export const json: Dialect = {
  checkBody,
  takesPieces,
  readMessage,
  writeMessage,
  openStream,

  upload(request, options) {
    checkNoQuery(request.target);
    return upload(request, request.headers.contentType ?? "", options);
  },

  openWebSocket(request, options) {
    checkNoQuery(request.target);
    const session = new WebSocketCall(options);
    request.onAbort((reason) => session.stop(reason));
    return { status: 101, body: "", session };
  },
};

/** Has nginx pass each message on at once (https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering). */
const UNBUFFERED: readonly string[] = ["X-Accel-Buffering", "no"];

/** Begins the response of a server-streaming endpoint when its first message has come. */
async function openStream(request: GatewayRequest, message: Uint8Array, options: StreamOptions): Promise<Reply> {
  const { target } = options;
  const raw = isHttpBody(target.endpoint.method.output);
  const events = !raw && acceptsEvents(listOf(request.rawHeaders, "accept"));
  if (events && isComplete(listOf(request.rawHeaders, "last-event-id"))) return { status: 204, body: "" };
  const write = (answer: Uint8Array): string => writeJson(target, answer);
  const format = raw ? rawChunks(target.endpoint.service) : events ? serverSentEvents(write) : ndjson(write);
  const body = new ResponseStream(options, message, format);
  request.onAbort((reason) => body.stop(reason));
  const contentType = await body.contentType;
  if (request.method === "HEAD") body.stop(new HttpError(499, "Only the headers were asked for"));
  return { status: 200, headers: raw ? RAW_HEADERS : UNBUFFERED, contentType, body };
}
