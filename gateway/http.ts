/**
 * HTTP as the gateway's core sees it: the request, the response, their bodies, and an open WebSocket. No type of node:http
 * stands here, so a test can call the handler as a function, and another kind of server can stand before it.
 */
import type { HttpError } from "./errors.js";
import type { RequestHeaders } from "./request-headers.js";

export interface GatewayRequest {
  readonly method: string;
  /** The request target as sent (RFC 9112 §3.2), one character an octet: `/helloworld/call?name=Ada`. */
  readonly target: string;
  /** Name, value, name, value … as sent: nothing joined, nothing dropped. */
  readonly rawHeaders: readonly string[];
  /** The headers that the gateway reads for every request, parsed. */
  readonly headers: RequestHeaders;
  /** What the server found wrong with the request as HTTP; the rest of the request may then be missing. */
  readonly fault?: HttpError | undefined;
  /** The client's IP address. */
  readonly remoteAddress: string;
  /**
   * Reads the body to its end; may be called once.
   * @returns the body in the pieces in which it arrived
   * @throws {HttpError} 413 too large, 408 too slow, 400 malformed, 499 the client has gone, 503 no memory for it
   */
  body(): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
  /**
   * Reserves memory for a response body of so many bytes, until the client has read it. May be called once. A large body
   * that was not reserved may be cut off when the client does not read it at once.
   * @returns false where there is no memory: the request must then be rejected
   */
  tryReserveResponse(bytes: number): boolean;
  /** Reads the body as it arrives, instead of `body`, whatever its length. */
  pieces(reader: PieceReader): PieceFlow;
  /** Whether the client asks for a WebSocket (RFC 6455) at this path. */
  readonly upgrade?: boolean | undefined;
  /**
   * Calls the listener, at once or later, when the response is not to be waited for any more: 499 the client has gone,
   * 503 the server stops.
   */
  onAbort(listener: (reason: HttpError) => void): void;
}

/**
 * What a request is answered with, before the headers are added that every response has. Stages, Portico's own paths and
 * errors make replies; the stage `respond` makes the response.
 */
export interface Reply {
  readonly status: number;
  readonly body: string | Uint8Array | BodyStream;
  /** Default `application/json`. */
  readonly contentType?: string | undefined;
  /** Name, value, name, value …; without a Cache-Control the response says `no-store`. */
  readonly headers?: readonly string[];
  /** With status 101: what speaks for the gateway on the WebSocket. */
  readonly session?: SocketSession | undefined;
}

export interface GatewayResponse {
  readonly status: number;
  /** Name, value, name, value …: all headers but those of the connection. */
  readonly headers: readonly string[];
  readonly body: string | Uint8Array | BodyStream;
  /** Bytes of the body; 0 for a stream. */
  readonly length: number;
  /** With status 101: what speaks for the gateway on the WebSocket. */
  readonly session?: SocketSession | undefined;
}

export type Handler = (request: GatewayRequest) => GatewayResponse | Promise<GatewayResponse>;

/** Receives the body of a request piece by piece. */
export interface PieceReader {
  /** @returns false to receive no more until `resume` */
  onPiece(piece: Uint8Array): boolean;
  onEnd(): void;
  /** The body has failed: 408 too slow, 400 malformed, 499 the client has gone, 504 no `resume` for too long. */
  onFault(fault: HttpError): void;
}

/** Controls the pieces that a `PieceReader` receives. */
export interface PieceFlow {
  /** Asks for more, after an `onPiece` that returned false. */
  resume(): void;
  /** Asks for no more: the reader is not called again. */
  stop(): void;
}

/** A response body that is written piece by piece. */
export interface BodyStream {
  /** Begins to write. */
  open(sink: BodySink): void;
  /** More may be written, after a `write` that returned false. */
  onDrain(): void;
}

export function isStream(body: GatewayResponse["body"]): body is BodyStream {
  return typeof body === "object" && "open" in body;
}

/** Takes a response body, as fast as the client reads it. */
export interface BodySink {
  /** @returns false to ask for no more until `onDrain` */
  write(piece: string | Uint8Array): boolean;
  end(): void;
  /** Cuts the connection, so that the client sees that the body is incomplete. */
  abort(): void;
}

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
  /**
   * Sends a text frame.
   * @returns false to ask for no more until `onDrain`
   */
  send(text: string): boolean;
  /** Stops `onMessage`, and so, through flow control, the client. */
  pause(): void;
  resume(): void;
  /** Closes after what has been sent (codes: RFC 6455 §7.4). */
  close(code: number, reason: string): void;
}
