/**
 * A dialect is one way of writing calls in HTTP, such as Portico's own JSON or gRPC: how a request names its endpoint, how its
 * message and deadline are read, and how an answer, a stream and an error are written. The stages are the same for every
 * dialect, so none is a way round the rules.
 *
 * The stages know no socket.
 */

import { type Metadata, NO_METADATA } from "../../src/call/metadata.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import type { Routes } from "../catalog/routes.js";
import type { Route, Target } from "../catalog/target.js";
import type { Failure } from "../http/errors.js";
import type { RequestHeaders } from "../http/headers.js";
import type { GatewayRequest, Reply } from "../http/message.js";
import type { StreamOptions } from "./stream-call.js";

export interface Dialect {
  /** In the log. */
  readonly name: string;
  /** Whether details of errors are written as JSON, for which their types are needed; else as bytes. */
  readonly writesDetails: boolean;
  /**
   * The route of the endpoint that the request names, or the reply to a request that calls none; undefined where the path is
   * none of this dialect's. Without an endpoint at such a path: @throws {Error} (or rejects with one)
   */
  findRoute(request: GatewayRequest, routes: Routes): Route | Reply | Promise<Route | Reply> | undefined;
  /** The methods with which the endpoint can be called at the path of the request. */
  methods(request: GatewayRequest, endpoint: Endpoint, route: Route): Allow;
  /** Refuses, by its headers, a body in which the endpoint's request cannot be sent. @throws {HttpError} 400, 415 */
  checkBody(request: GatewayRequest, target: Target): void;
  /** How long the call may take, in milliseconds; undefined where no header says so. @throws {HttpError} 400 */
  readTimeout(headers: RequestHeaders): number | undefined;
  /** Whether the body is sent on to the service piece by piece instead of being read to its end first. */
  takesPieces(request: GatewayRequest, target: Target): boolean;
  /**
   * Receives the body and decompresses it. The guard decides after that.
   * @param maxBytes of the body, before and after decompression
   * @throws {HttpError} (or rejects with one) as `GatewayRequest.body`, or 400 where it cannot be decompressed
   */
  receiveBody(
    request: GatewayRequest,
    target: Target,
    maxBytes: number,
  ): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
  /**
   * The request message in wire bytes.
   * @param route as `findRoute` gave it
   * @throws {HttpError} 400 @throws {JsonError} 400
   */
  readMessage(request: GatewayRequest, target: Target, body: readonly Uint8Array[], route: Route): Uint8Array;
  /**
   * The reply of a unary call, or of an upload.
   * @throws {HttpError} (or rejects with one) 502 when the bytes are not a message of the endpoint's response type, or too large
   */
  writeMessage(
    request: GatewayRequest,
    target: Target,
    message: Uint8Array,
    answer: AnswerMetadata,
  ): Reply | Promise<Reply>;
  /**
   * Calls an endpoint that streams. Resolves when the response may begin, or with the one message of an upload.
   * @throws {Error} (or rejects with one) what the call failed with before the response began
   */
  openStream(
    request: GatewayRequest,
    body: readonly Uint8Array[],
    options: StreamOptions,
  ): Reply | Promise<Reply | Uint8Array>;
  /** The reply of a request that failed before its response began. */
  writeError(request: GatewayRequest, failure: Failure, about: FailedRequest): Reply;
}

/** The dialects of a port. */
export interface Dialects {
  /** The dialect that a request is written in by its method and headers; the first of `byPath` where only its path tells. */
  of(request: GatewayRequest): Dialect;
  /** The dialect of the error that a request gets whose route is not searched for. That of REST writes JSON's errors. */
  ofRefused(request: GatewayRequest): Dialect;
  /** Dialects of which only the path tells, in the order in which they are searched. */
  readonly byPath: readonly Dialect[];
}

/** The metadata that a service sent with its answer, as far as its configuration lets it pass. */
export interface AnswerMetadata {
  readonly headers: Metadata;
  readonly trailers: Metadata;
}

export const NO_ANSWER_METADATA: AnswerMetadata = { headers: NO_METADATA, trailers: NO_METADATA };

/** What is known of a request that failed. */
export interface FailedRequest {
  /** The service that the request is directed to; `gateway` where none was found. */
  readonly service: string;
  readonly target: Target | undefined;
  readonly answer: AnswerMetadata;
}

/** The methods that a path takes, and the header Allow that says so. */
export interface Allow {
  readonly methods: readonly string[];
  readonly header: readonly [string, string];
}

export function allowing(...methods: string[]): Allow {
  return { methods, header: ["Allow", methods.join(", ")] };
}
