/**
 * A dialect is one way of writing calls in HTTP, such as Portico's own JSON or gRPC. It defines how
 * a request names its endpoint, and how the message and deadline are read. It also defines how a
 * response, a stream and an error are written. The stages are the same for every dialect, so no
 * dialect bypasses the rules.
 *
 * No dialect reads a body before the guard has admitted the caller. Until then the functions of a
 * dialect get only the head of the request. The stages receive the body. These functions are
 * properties and not methods, because TypeScript checks the parameters of properties more strictly:
 * a method could declare that it takes the whole request.
 *
 * The stages know no socket.
 */
import type { Admission, Guarded } from "../../src/call/admission.js";
import { type Metadata, NO_METADATA } from "../../src/call/metadata.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import type { BuiltInRoot } from "../../src/contract/names.js";
import type { Routes } from "../catalog/routes.js";
import type { EndpointTarget, Route } from "../catalog/target.js";
import type { Failure } from "../http/errors.js";
import type { RequestHeaders } from "../http/headers.js";
import type { BareResponse, GatewayRequest, GatewayRequestHead } from "../http/message.js";
import type { StreamCallOptions } from "./stream-call.js";

export interface Dialect {
  /** Written to the log. */
  readonly name: string;
  /** The path roots that belong to this dialect alone. No service may have them. */
  readonly roots: readonly BuiltInRoot[];
  /**
   * Whether error details are written as JSON, for which their types are needed. Otherwise they are
   * written as bytes.
   */
  readonly writesDetails: boolean;
  /**
   * Whether responses have the HTTP statuses that the options of a service set. The protocols of
   * gRPC, Connect and MCP define their statuses themselves.
   */
  readonly usesServiceStatus: boolean;
  /**
   * The route of the endpoint that the request names, or the reply to a request that calls no
   * endpoint. Undefined where the path does not belong to this dialect. It may be called twice for
   * a request.
   * @throws {Error} for a path of this dialect that has no endpoint
   */
  readonly findRoute: (request: GatewayRequestHead, routes: Routes) => Route | BodyRoute | BareResponse | undefined;
  /** The methods with which the endpoint can be called at the path of the request. */
  readonly methods: (request: GatewayRequestHead, endpoint: Endpoint, route: Route) => Allow;
  /**
   * Rejects, by its headers, a body that cannot contain the endpoint's request.
   * @throws {HttpError} 400, 415
   */
  readonly checkBody: (request: GatewayRequestHead, target: EndpointTarget, route: Route) => void;
  /**
   * How long the call may take, in milliseconds; undefined where no header sets a limit.
   * @throws {HttpError} 400
   */
  readonly readTimeout: (headers: RequestHeaders) => number | undefined;
  /**
   * Whether the body is passed on to the service chunk by chunk instead of being read to its end
   * first.
   */
  readonly takesChunks: (request: GatewayRequestHead, target: EndpointTarget, route: Route) => boolean;
  /** Whether it carries protobuf messages in binary form; default: it converts them to JSON. */
  readonly isBinary?: boolean;
  /** Maximum size of a body, in bytes, that carries a message of `maxMessage` bytes. */
  readonly maxBody: (maxMessage: number) => number;
  /**
   * Whether the message has to be decompressed or taken out of an envelope. Then `decodeBody` reads
   * it from the body.
   */
  readonly isEncoded: (request: GatewayRequestHead) => boolean;
  /**
   * @param maxMessage maximum size of the message in bytes, before and after decompression
   * @throws {HttpError} (rejects) 400 for a body that is not in its declared encoding, 413 too
   * large, 503 no memory
   */
  decodeBody(
    request: GatewayRequest,
    target: EndpointTarget,
    body: readonly Uint8Array[],
    maxMessage: number,
  ): Promise<readonly Uint8Array[]>;
  /**
   * The request message in wire bytes.
   * @param route returned by `findRoute` of this dialect
   * @throws {HttpError} 400
   * @throws {JsonError} 400
   */
  readMessage(request: GatewayRequest, target: EndpointTarget, body: readonly Uint8Array[], route: Route): Uint8Array;
  /**
   * The reply of a unary call, or of an upload.
   * @throws {HttpError} 502 when the bytes are not a message of the endpoint's response type, or
   * too large
   */
  writeMessage(
    request: GatewayRequest,
    target: EndpointTarget,
    message: Uint8Array,
    response: ResponseMetadata,
    route: Route,
  ): Written;
  /**
   * Calls a streaming endpoint. Resolves when the response may begin, or with the one message of an
   * upload.
   * @throws {Error} (or rejects with it) the error with which the call failed before the response
   * began
   */
  openStream(
    request: GatewayRequest,
    body: readonly Uint8Array[],
    options: StreamCallOptions,
  ): BareResponse | Promise<BareResponse | Uint8Array>;
  /** The reply to a request that failed before its response began. */
  readonly writeError: (request: GatewayRequestHead, failure: Failure, about: FailedRequest) => BareResponse;
}

/**
 * A reply, or a function that returns the reply. It is a function where the message has to be
 * compressed first.
 */
export type Written = BareResponse | (() => Promise<BareResponse>);

/**
 * The route of a path where the body names the endpoint. The body is received after the guard has
 * admitted its sender.
 */
export interface BodyRoute {
  /** What the guard decides on before the body is received: whether the caller may send it. */
  readonly sending: Guarded;
  /** Maximum size of the body in bytes, before and after decompression. */
  readonly maxBody: number;
  /**
   * The route, or the reply to a body that calls no endpoint.
   * @throws {Error} (rejects)
   */
  readonly findRoute: (body: readonly Uint8Array[], sender: Admission) => Promise<Route | BareResponse>;
}

/** The dialects of a port. */
export interface Dialects {
  /**
   * The dialect that the method and headers of a request show. Where only the path can show it: the
   * first dialect of `byPath`.
   */
  readonly of: (request: GatewayRequestHead) => Dialect;
  /**
   * The dialect that writes the error of a request that is rejected before its route is searched.
   * REST has the same errors as JSON, so the path is not needed.
   */
  readonly ofRefused: (request: GatewayRequestHead) => Dialect;
  /** Dialects that only the path shows, in the order in which they are searched. */
  readonly byPath: readonly Dialect[];
}

/** The metadata that a service sent with its response. */
export interface ResponseMetadata {
  /** Limited to what the configuration of the service passes on. */
  readonly headers: Metadata;
  readonly trailers: Metadata;
  /** The HTTP status of a success, where the options of the service set it. */
  readonly status?: number | undefined;
}

export const NO_RESPONSE_METADATA: ResponseMetadata = { headers: NO_METADATA, trailers: NO_METADATA };

/** What is known about a request that failed. */
export interface FailedRequest {
  /**
   * The service that the request is directed to; `gateway` where none was found, or a limit refused
   * the call before.
   */
  readonly service: string;
  readonly target: EndpointTarget | undefined;
  /** Returned by the dialect's `findRoute`. */
  readonly route: Route | undefined;
  /** Defined where the guard had admitted the call. */
  readonly admission: Admission | undefined;
  readonly response: ResponseMetadata;
}

/** The methods that a path takes, and the header Allow with these methods. */
export interface Allow {
  readonly methods: readonly string[];
  readonly header: readonly [string, string];
}

export function allowing(...methods: string[]): Allow {
  return { methods, header: ["Allow", methods.join(", ")] };
}
