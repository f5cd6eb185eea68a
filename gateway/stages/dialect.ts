/**
 * A dialect is one way of writing calls in HTTP, such as Portico's own JSON or gRPC: how a request names its endpoint, how its
 * message and deadline are read, and how an answer, a stream and an error are written. The stages are the same for every
 * dialect, so none is a way round the rules.
 *
 * No dialect reads a body before the guard has decided who calls: until then its functions are given the head of the request
 * alone, and the stages receive the body. The functions are properties, because TypeScript lets a method take more than the
 * interface gives it.
 *
 * The stages know no socket.
 */
import type { Admission, Guarded } from "../../src/call/admission.js";
import { type Metadata, NO_METADATA } from "../../src/call/metadata.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import type { BuiltInRoot } from "../../src/contract/names.js";
import type { Routes } from "../catalog/routes.js";
import type { Route, Target } from "../catalog/target.js";
import type { Failure } from "../http/errors.js";
import type { RequestHeaders } from "../http/headers.js";
import type { BareResponse, GatewayRequest, GatewayRequestHead } from "../http/message.js";
import type { StreamCallOptions } from "./stream-call.js";

export interface Dialect {
  /** In the log. */
  readonly name: string;
  /** The roots of the paths that are this dialect's alone: no service may have them. */
  readonly roots: readonly BuiltInRoot[];
  /** Whether details of errors are written as JSON, for which their types are needed; else as bytes. */
  readonly writesDetails: boolean;
  /**
   * The route of the endpoint that the request names, or the reply to a request that calls none; undefined where the path is
   * none of this dialect's. It may be asked twice. @throws {Error} at a path of this dialect without an endpoint
   */
  readonly findRoute: (request: GatewayRequestHead, routes: Routes) => Route | BodyRoute | BareResponse | undefined;
  /** The methods with which the endpoint can be called at the path of the request. */
  readonly methods: (request: GatewayRequestHead, endpoint: Endpoint, route: Route) => Allow;
  /** Refuses, by its headers, a body in which the endpoint's request cannot be sent. @throws {HttpError} 400, 415 */
  readonly checkBody: (request: GatewayRequestHead, target: Target, route: Route) => void;
  /** How long the call may take, in milliseconds; undefined where no header says so. @throws {HttpError} 400 */
  readonly readTimeout: (headers: RequestHeaders) => number | undefined;
  /** Whether the body is sent on to the service piece by piece instead of being read to its end first. */
  readonly takesChunks: (request: GatewayRequestHead, target: Target, route: Route) => boolean;
  /** Most bytes of the body in which a message of `maxMessage` bytes is sent. */
  readonly maxBody: (maxMessage: number) => number;
  /** Whether the message has to be decompressed, or taken out of an envelope: then it is made of the body by `decodeBody`. */
  readonly isEncoded: (request: GatewayRequestHead) => boolean;
  /**
   * @param maxMessage bytes of the message, before and after decompression
   * @throws {HttpError} (rejects) 400 for what is not encoded so, 413 too large, 503 no memory
   */
  decodeBody(
    request: GatewayRequest,
    target: Target,
    body: readonly Uint8Array[],
    maxMessage: number,
  ): Promise<readonly Uint8Array[]>;
  /**
   * The request message in wire bytes.
   * @param route as `findRoute` gave it, of this dialect
   * @throws {HttpError} 400 @throws {JsonError} 400
   */
  readMessage(request: GatewayRequest, target: Target, body: readonly Uint8Array[], route: Route): Uint8Array;
  /**
   * The reply of a unary call, or of an upload.
   * @throws {HttpError} 502 when the bytes are not a message of the endpoint's response type, or too large
   */
  writeMessage(
    request: GatewayRequest,
    target: Target,
    message: Uint8Array,
    response: ResponseMetadata,
    route: Route,
  ): Written;
  /**
   * Calls an endpoint that streams. Resolves when the response may begin, or with the one message of an upload.
   * @throws {Error} (or rejects with one) what the call failed with before the response began
   */
  openStream(
    request: GatewayRequest,
    body: readonly Uint8Array[],
    options: StreamCallOptions,
  ): BareResponse | Promise<BareResponse | Uint8Array>;
  /** The reply of a request that failed before its response began. */
  readonly writeError: (request: GatewayRequestHead, failure: Failure, about: FailedRequest) => BareResponse;
}

/** A reply; where its message has to be compressed first, a function that gives the reply with the compressed message. */
export type Written = BareResponse | (() => Promise<BareResponse>);

/** What a path leads to where the body names the endpoint: it is received once the guard has admitted its sender. */
export interface BodyRoute {
  /** What the guard decides on, and what it says of the callers. */
  readonly sending: Guarded;
  /** Most bytes of the body, before and after decompression. */
  readonly maxBody: number;
  /** The route, or the reply to a body that calls no endpoint. @throws {Error} (rejects) */
  readonly findRoute: (body: readonly Uint8Array[], sender: Admission) => Promise<Route | BareResponse>;
}

/** The dialects of a port. */
export interface Dialects {
  /** The dialect that a request is written in by its method and headers; the first of `byPath` where only its path tells. */
  readonly of: (request: GatewayRequestHead) => Dialect;
  /** The dialect of the error that a request gets whose route is not searched for. That of REST writes JSON's errors. */
  readonly ofRefused: (request: GatewayRequestHead) => Dialect;
  /** Dialects of which only the path tells, in the order in which they are searched. */
  readonly byPath: readonly Dialect[];
}

/** The metadata that a service sent with its answer, as far as its configuration lets it pass. */
export interface ResponseMetadata {
  readonly headers: Metadata;
  readonly trailers: Metadata;
}

export const NO_RESPONSE_METADATA: ResponseMetadata = { headers: NO_METADATA, trailers: NO_METADATA };

/** What is known of a request that failed. */
export interface FailedRequest {
  /** The service that the request is directed to; `gateway` where none was found. */
  readonly service: string;
  readonly target: Target | undefined;
  /** As the dialect's `findRoute` gave it. */
  readonly route: Route | undefined;
  /** Whether the guard had admitted the call. */
  readonly admission: Admission | undefined;
  readonly response: ResponseMetadata;
}

/** The methods that a path takes, and the header Allow that says so. */
export interface Allow {
  readonly methods: readonly string[];
  readonly header: readonly [string, string];
}

export function allowing(...methods: string[]): Allow {
  return { methods, header: ["Allow", methods.join(", ")] };
}
