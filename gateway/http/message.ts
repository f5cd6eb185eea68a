/**
 * HTTP as the gateway's core sees it: a request with its target and headers, a response, their bodies, and an open WebSocket.
 * No type of node:http stands here, so a test can call the handler as a function, and another kind of server can stand before it.
 *
 * This room knows no socket.
 */
import type { BuiltInRoot } from "../../src/contract/names.js";
import type { BodyStream, ChunkFlow, ChunkReader } from "./body.js";
import type { HttpError } from "./errors.js";
import type { RequestHeaders } from "./headers.js";

/** A request without its body: all that a dialect is given of it until the guard has decided who calls. */
export interface GatewayRequestHead {
  readonly method: string;
  /** The request target as sent (RFC 9112 §3.2), one character an octet: `/helloworld/call?name=Ada`. */
  readonly target: string;
  /** Name, value, name, value … as sent: nothing joined, nothing dropped. */
  readonly rawHeaders: readonly string[];
  /** The headers that the gateway reads for every request, parsed. */
  readonly headers: RequestHeaders;
  /** What the server found wrong with the request as HTTP; the rest of the request may then be missing. */
  readonly error?: HttpError | undefined;
  /** The client's IP address. */
  readonly remoteAddress: string;
  /** Whether a trusted proxy has sent it: only then headers count that say how a client reached the proxy. */
  readonly isProxied?: boolean | undefined;
  /** Whether the client asks for a WebSocket (RFC 6455) at this path. */
  readonly upgrade?: boolean | undefined;
  /** Whether the response may end with trailers (RFC 9110 §6.5), as over HTTP/2; else those that it has are left out. */
  readonly sendsTrailers?: boolean | undefined;
  /** Calls the listener when the response is not to be waited for any more: 499 the client has gone, 503 the server stops. */
  onAbort(listener: (reason: HttpError) => void): void;
}

export interface GatewayRequest extends GatewayRequestHead {
  /**
   * Reads the body to its end; may be called once.
   * @param maxBytes where it is not the port's limit, because the message in the body is smaller than the body
   * @returns the body in the pieces in which it arrived
   * @throws {HttpError} 413 too large, 408 too slow, 400 malformed, 499 the client has gone, 503 no memory for it
   */
  body(maxBytes?: number): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
  /**
   * The body as `body` gives it, where all of it has arrived. Else undefined, and `body` may still be called.
   * @throws {HttpError} 413 too large, 503 no memory for it
   */
  arrivedBody(maxBytes: number): readonly Uint8Array[] | undefined;
  /**
   * Reserves memory for a response body, until the client has read it; of several calls the largest counts. Else a large body
   * may be cut off.
   * @returns false where there is no memory: the request must then be rejected
   */
  tryReserveResponse(bytes: number): boolean;
  /**
   * Reserves memory for what was made of the body, beside the body itself and in place of what was reserved so before, until the
   * response is given. @returns false where there is none; then it is as it was
   */
  tryReserveBody(bytes: number): boolean;
  /** Reads the body as it arrives, instead of `body`, whatever its length. */
  chunks(reader: ChunkReader): ChunkFlow;
  /** Throttles the client, which may ask again at once: this request is refused in an overload. */
  throttle?(): void;
}

/** A response before the headers are added that every response has: what stages, Portico's own paths and errors make. */
export interface BareResponse {
  readonly status: number;
  readonly body: string | Uint8Array | BodyStream;
  /** Default `application/json`. */
  readonly contentType?: string | undefined;
  /** Name, value, name, value …; without a Cache-Control the response says `no-store`. */
  readonly headers?: readonly string[];
  /** Trailers behind a body that is no stream: name, value, name, value … */
  readonly trailers?: readonly string[] | undefined;
  /** With status 101: what speaks for the gateway on the WebSocket. */
  readonly session?: SocketSession | undefined;
}

export interface GatewayResponse extends Pick<BareResponse, "status" | "body" | "trailers" | "session"> {
  /** Name, value, name, value …: all headers but those of the connection. */
  readonly headers: readonly string[];
  /** Bytes of the body; 0 for a stream. */
  readonly length: number;
}

export function isStream(body: GatewayResponse["body"]): body is BodyStream {
  return typeof body === "object" && "open" in body;
}

/** Paths that Portico answers itself, such as `/readyz` or the web pages. */
export interface BuiltInRoutes {
  /** Each path is one of these, or lies below it. No binding of a service is called there (src/contract/built-in-routes.ts). */
  readonly roots: readonly BuiltInRoot[];
  /** The reply at a path, without the query; undefined at a path that is none of these. */
  reply(path: string, request: GatewayRequestHead): BareResponse | undefined | Promise<BareResponse>;
}

export type RequestHandler = (request: GatewayRequest) => GatewayResponse | Promise<GatewayResponse>;

/** The gateway's end of a WebSocket. */
export interface SocketSession {
  open(socket: MessageSocket): void;
  /** A message of the client: the bytes of a text frame, or undefined for a binary one. */
  onMessage(text: Uint8Array | undefined): void;
  /** More may be sent, after a `send` that returned false. */
  onDrain(): void;
}

/** An open WebSocket, one message a frame. After the close its methods do nothing. */
export interface MessageSocket {
  /** Sends a text frame. @returns false to ask for no more until `onDrain` */
  send(text: string): boolean;
  /** Stops `onMessage`, and so, through flow control, the client. */
  pause(): void;
  resume(): void;
  /** Closes after what has been sent (codes: RFC 6455 §7.4). */
  close(code: number, reason: string): void;
}
