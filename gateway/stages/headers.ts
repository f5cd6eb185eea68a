/** Stage 3, headers: rejects headers that are ambiguous or do not fit the endpoint. */
import type { Route } from "../catalog/target.js";
import { HttpError } from "../http/errors.js";
import { checkHandshake } from "../http/handshake.js";
import { announcesBody, checkHost, checkUnambiguous } from "../http/headers.js";
import type { GatewayRequest } from "../http/message.js";
import type { StageOptions } from "./options.js";
import type { RequestState } from "./record.js";

/**
 * Ends a request with:
 * - 400 a repeated header, a transfer coding other than chunked, a malformed timeout, a body with a
 *   method that is not the dialect's, a WebSocket to an endpoint that does not stream, a malformed
 *   Sec-WebSocket-Key
 * - 415 a body of a content type or coding that the endpoint does not take
 * - 426 a version of the WebSocket protocol other than 13
 * @returns how long the call may take, in milliseconds; undefined where no header sets a limit
 */
export function checkHeaders(request: GatewayRequest, route: Route, { dialect }: RequestState): number | undefined {
  const { headers } = request;
  const { target } = route;
  checkUnambiguous(headers);
  if (request.upgrade) {
    const { shape, name } = target.endpoint;
    if (shape === "unary") throw new HttpError(400, `${name} does not stream: call it by plain HTTP`);
    checkHandshake(request.rawHeaders);
  }
  if (announcesBody(headers)) dialect.checkBody(request, target, route);
  return dialect.readTimeout(headers);
}

/**
 * Runs before the first stage: rejects a request that the port could not read as acceptable HTTP.
 * Ends a request with:
 * - 400 malformed HTTP, no Host, or two
 * - 405 CONNECT
 * - 408 the headers took too long to arrive
 * - 417 an expectation other than 100-continue
 * - 431 the headers are too large, or too many
 * - 505 a version other than HTTP/1.0 and HTTP/1.1
 */
export function checkWellFormed(
  { error, headers }: GatewayRequest,
  { config: { maxHeaderCount } }: StageOptions,
): void {
  if (error !== undefined) throw error;
  if (headers.count > maxHeaderCount) {
    throw new HttpError(431, `At most ${maxHeaderCount} headers are accepted`);
  }
  checkHost(headers);
}
