/**
 * HTTP as the gateway's core sees it: a request with its target and headers, a response, their
 * bodies, and an open WebSocket. No type of node:http is used here. So a test can call the handler
 * as a function, and another kind of server can be put in front of it.
 *
 * This room knows no socket.
 */
import type { BuiltInRoot } from "../../src/contract/names.js";
import type { BodyStream, ChunkFlow, ChunkReader } from "./body.js";
import type { HttpError } from "./errors.js";
import type { RequestHeaders } from "./headers.js";

/**
 * A request without its body. A dialect gets only this part until the guard has admitted the
 * caller.
 */
export interface GatewayRequestHead {
  readonly method: string;
  /**
   * The request target as sent (RFC 9112 §3.2), one character for each octet:
   * `/helloworld/call?name=Ada`.
   */
  readonly target: string;
  /** Name, value, name, value … as sent: nothing joined, nothing dropped. */
  readonly rawHeaders: readonly string[];
  /** The headers that the gateway reads for every request, parsed. */
  readonly headers: RequestHeaders;
  /**
   * The HTTP error that the server found in the request. The rest of the request may then be
   * missing.
   */
  readonly error?: HttpError | undefined;
  /** The version of HTTP, such as `1.1` or `2`. */
  readonly protocolVersion?: string | undefined;
  /** The client's IP address. */
  readonly remoteAddress: string;
  /**
   * Whether a trusted proxy has sent the request. Only then does the gateway trust headers about
   * how a client reached the proxy.
   */
  readonly isProxied?: boolean | undefined;
  /** Whether the client asks for a WebSocket (RFC 6455) at this path. */
  readonly upgrade?: boolean | undefined;
  /**
   * Whether the response may end with trailers (RFC 9110 §6.5), as over HTTP/2. Otherwise trailers
   * are left out.
   */
  readonly sendsTrailers?: boolean | undefined;
  /**
   * Calls the listener when the response is no longer needed: 499 the client has gone, 503 the
   * server stops.
   */
  onAbort(listener: (reason: HttpError) => void): void;
}

export interface GatewayRequest extends GatewayRequestHead {
  /**
   * Reads the body to its end. May be called once.
   * @param maxBytes default: the port's limit. Another limit where the endpoint has its own, or an
   * encoded body is longer than its message
   * @returns the body in the chunks in which it arrived
   * @throws {HttpError} 413 too large, 408 too slow, 400 malformed, 499 the client has gone, 503 no
   * memory for it
   */
  body(maxBytes?: number): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
  /**
   * The body, as `body` returns it, where the whole body has arrived. Otherwise undefined, and
   * `body` may still be called.
   * @throws {HttpError} 413 too large, 503 no memory for it
   */
  arrivedBody(maxBytes: number): readonly Uint8Array[] | undefined;
  /**
   * Reserves memory for a response body, until the client has read it. If it is called several
   * times, the largest reservation counts. A large response without a reservation may be cut off.
   * @returns false where there is no memory: the request must then be rejected
   */
  tryReserveResponse(bytes: number): boolean;
  /**
   * Reserves memory for data made from the body, in addition to the body itself, until the response
   * is returned. Replaces the previous reservation of this kind.
   * @returns false where there is no memory; then the previous reservation remains
   */
  tryReserveBody(bytes: number): boolean;
  /** Reads the body as it arrives, whatever its length. Called instead of `body`. */
  chunks(reader: ChunkReader): ChunkFlow;
  /**
   * Throttles the client. Called when this request is rejected in an overload, because the client
   * may ask again at once.
   */
  throttle?(): void;
}

/**
 * A response without the headers that every response has. Stages, built-in routes and errors make
 * it.
 */
export interface BareResponse {
  readonly status: number;
  readonly body: string | Uint8Array | BodyStream;
  /** Default `application/json`. */
  readonly contentType?: string | undefined;
  /** Name, value, name, value …; without a Cache-Control the response has `no-store`. */
  readonly headers?: readonly string[];
  /** Trailers after a body that is not a stream: name, value, name, value … */
  readonly trailers?: readonly string[] | undefined;
  /** With status 101: the gateway's side of the WebSocket. */
  readonly session?: SocketSession | undefined;
}

export interface GatewayResponse extends Pick<BareResponse, "status" | "body" | "trailers" | "session"> {
  /** Name, value, name, value …: all headers except the headers of the connection. */
  readonly headers: readonly string[];
  /** Bytes of the body; 0 for a stream. */
  readonly length: number;
}

export function isStream(body: GatewayResponse["body"]): body is BodyStream {
  return typeof body === "object" && "open" in body;
}

/** Routes that Portico itself serves, such as `/readyz` or the web pages. */
export interface BuiltInRoutes {
  /**
   * Every built-in path equals one of these roots or lies below it. No binding of a service may use
   * them (src/contract/built-in-routes.ts).
   */
  readonly roots: readonly BuiltInRoot[];
  /** The reply for a path without the query; undefined for a path that is not built in. */
  reply(path: string, request: GatewayRequestHead): BareResponse | undefined | Promise<BareResponse>;
  /**
   * The reply to a POST; undefined for a path that takes none. It receives the body itself, so only
   * routes that anyone may call have it.
   */
  replyToPost?(path: string, request: GatewayRequest): Promise<BareResponse> | undefined;
  /**
   * The reply with status 404 to a person who follows a link to a path that is not there; undefined
   * for a program, which gets the error as every other.
   */
  notFoundPage?(request: GatewayRequestHead): BareResponse | undefined;
}

export type RequestHandler = (request: GatewayRequest) => GatewayResponse | Promise<GatewayResponse>;

/** The gateway's end of a WebSocket. */
export interface SocketSession {
  open(socket: MessageSocket): void;
  /** A message of the client: the bytes of a text frame, or undefined for a binary frame. */
  onMessage(text: Uint8Array | undefined): void;
  /** More may be sent, after a `send` that returned false. */
  onDrain(): void;
}

/** An open WebSocket, with one message in each frame. After the close its methods do nothing. */
export interface MessageSocket {
  /**
   * Sends a text frame.
   * @returns false to ask for no more until `onDrain`
   */
  send(text: string): boolean;
  /** Stops `onMessage`. Flow control then stops the client. */
  pause(): void;
  resume(): void;
  /** Closes after everything that was sent has been written (codes: RFC 6455 §7.4). */
  close(code: number, reason: string): void;
}
