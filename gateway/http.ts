/**
 * One request and its answer, as the gateway's core sees them: no type of node:http in sight, so that the handler can
 * be tested by calling a function, and be put behind another kind of server.
 */
import type { HttpError } from "./errors.js";
import type { RequestHeaders } from "./request-headers.js";

export interface GatewayRequest {
  readonly method: string;
  /** The request target as sent, one character an octet: `/helloworld/call?name=Ada`. */
  readonly target: string;
  /** Name, value, name, value … as sent: nothing joined, nothing dropped. */
  readonly headers: readonly string[];
  /** Those of them that the gateway reads for every request. */
  readonly known: RequestHeaders;
  /** What the server found wrong with the request as HTTP, before or instead of a whole request. */
  readonly fault?: HttpError | undefined;
  /** The client's IP address. */
  readonly remoteAddress: string;
  /**
   * Reads the whole body, and gives it in the pieces that it came in; to be called once at most.
   * @throws {HttpError} 413 too large, 408 too slow, 400 malformed, 499 the client has gone.
   */
  body(): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
  /**
   * Reserves memory for a whole answer of so many bytes, once; released when the client has read it. Without it a large
   * answer that is not read at once may break off the connection.
   * @returns false where there is none: the answer is to be a refusal
   */
  tryReserveAnswer(bytes: number): boolean;
  /** Reads the body as it comes, in place of `body`, however long it is. */
  pieces(reader: PieceReader): PieceFlow;
  /** Whether the client asks for a WebSocket (RFC 6455) at this path. */
  readonly upgrade?: boolean | undefined;
  /**
   * Calls back, at once or later, when there is no more time for the answer: 499 the client has gone without waiting
   * for its end, 503 the server stops.
   */
  onGone(listener: (why: HttpError) => void): void;
}

export interface GatewayResponse {
  readonly status: number;
  /** Name, value, name, value … complete, but for what belongs to the connection. */
  readonly headers: readonly string[];
  readonly body: string | Uint8Array | BodyStream;
  /** Bytes of a whole body. */
  readonly length: number;
  /** With status 101: what speaks for the gateway on the WebSocket. */
  readonly session?: SocketSession | undefined;
}

/** Takes the body of a request piece by piece. */
export interface PieceReader {
  /** False means: no more until `resume`. */
  onPiece(piece: Uint8Array): boolean;
  onEnd(): void;
  /** No more comes: 408 too slow, 400 malformed, 499 the client has gone, 504 no `resume` for too long. */
  onFault(fault: HttpError): void;
}

/** Where the pieces come from. */
export interface PieceFlow {
  /** More is wanted, after an `onPiece` that returned false. */
  resume(): void;
  /** No more is wanted: `reader` is not told of anything any more. */
  stop(): void;
}

/** A body that comes in pieces. */
export interface BodyStream {
  /** Begins to write. */
  open(sink: BodySink): void;
  /** More may be written, after a `write` that returned false. */
  onDrain(): void;
}

export function isStream(body: GatewayResponse["body"]): body is BodyStream {
  return typeof body === "object" && "open" in body;
}

/** Takes a body, as fast as the client does. */
export interface BodySink {
  /** False means: wait for `onDrain` before the next piece. */
  write(piece: string | Uint8Array): boolean;
  end(): void;
  /** Breaks off, so that the client sees that the body is not whole. */
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

/** An open WebSocket, one message a frame. All of it is harmless after the close. */
export interface MessageSocket {
  /** Sends a text frame. False means: wait for `onDrain` before the next one. */
  send(text: string): boolean;
  /** Stops and restarts `onMessage`, and so, through flow control, the client. */
  pause(): void;
  resume(): void;
  /** Closes after what has been sent (codes: RFC 6455 §7.4). */
  close(code: number, reason: string): void;
}

export type Handler = (request: GatewayRequest) => GatewayResponse | Promise<GatewayResponse>;
