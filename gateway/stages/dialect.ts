/**
 * A dialect is one way of writing calls in HTTP, such as Portico's own JSON: how a request's message is read, and how an
 * answer, a stream and an error are written. The stages are the same for every dialect.
 */
import type { Target } from "../catalog/target.js";
import type { GatewayRequest, Reply, RequestHeaders } from "../http.js";
import type { StreamOptions } from "./stream-call.js";

export interface Dialect {
  /** Refuses, by its headers, a body in which the endpoint's request cannot be sent. @throws {HttpError} 415 */
  checkBody(target: Target, headers: RequestHeaders): void;
  /** Whether the body of a POST is sent on to the service piece by piece instead of being read to its end first. */
  takesPieces(target: Target): boolean;
  /** The request message in wire bytes. @throws {HttpError} 400 @throws {JsonError} 400 */
  readMessage(request: GatewayRequest, target: Target, body: readonly Uint8Array[]): Uint8Array;
  /** @throws {HttpError} 502 when the bytes are not a message of the endpoint's response type, or too large a one */
  writeMessage(target: Target, message: Uint8Array): Reply;
  /**
   * Calls an endpoint that answers with a stream. Resolves when the response may begin.
   * @throws {Error} (rejects) what the call failed with before its first message
   */
  openStream(request: GatewayRequest, message: Uint8Array, options: StreamOptions): Promise<Reply>;
  /** Sends the body of a POST on, piece by piece. @returns the one response in wire bytes */
  upload(request: GatewayRequest, options: StreamOptions): Promise<Uint8Array>;
  /** Calls a streaming endpoint over a WebSocket. */
  openWebSocket(request: GatewayRequest, options: StreamOptions): Reply;
}
