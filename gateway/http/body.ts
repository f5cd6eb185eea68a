/** Bodies that are read and written piece by piece, no faster than the other side takes them. */
import type { HttpError } from "./errors.js";

/** Receives the body of a request piece by piece. */
export interface ChunkReader {
  /** Whether the client may be silent for any time between two pieces; else it fails with 408. */
  readonly allowsSilence?: boolean | undefined;
  /** @returns false to receive no more until `resume` */
  onChunk(chunk: Uint8Array): boolean;
  onEnd(): void;
  /** The body has failed: 408 too slow, 400 malformed, 499 the client has gone, 504 no `resume` for too long. */
  onError(error: HttpError): void;
}

/** Controls the pieces that a `PieceReader` receives. */
export interface ChunkFlow {
  /** Asks for more, after an `onPiece` that returned false. */
  resume(): void;
  /** Asks for no more: the reader is not called again. */
  stop(): void;
  /**
   * Reserves memory for what the reader holds of the body, in place of what it held.
   * @param isUnfinished it is a part of a message: it makes room for what is finished, or younger
   * @returns false where there is none
   */
  tryReserve?(bytes: number, isUnfinished: boolean): boolean;
}

/** A response body that is written piece by piece. */
export interface BodyStream {
  /** Begins to write. */
  open(sink: BodySink): void;
  /** More may be written, after a `write` that returned false. */
  onDrain(): void;
  /**
   * For a stream that is not recorded as a call: has the listener called once when it has ended, with the HTTP status to record.
   * Not named as a member of `PieceReader`: an object may be both.
   */
  onClosed?(listener: (status: number) => void): void;
}

/** Takes a response body, as fast as the client reads it. */
export interface BodySink {
  /** @returns false to ask for no more until `onDrain` */
  write(chunk: string | Uint8Array): boolean;
  /** @param trailers name, value, name, value … */
  end(trailers?: readonly string[]): void;
  /** Cuts the connection, over HTTP/2 the stream, so that the client sees that the body is incomplete. */
  abort(): void;
}
