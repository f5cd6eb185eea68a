/** Bodies that are read and written chunk by chunk, no faster than the other side reads them. */
import type { HttpError } from "./errors.js";

/** Receives the body of a request chunk by chunk. */
export interface ChunkReader {
  /**
   * Whether the client may be silent for any time between two chunks. Otherwise silence fails with
   * 408.
   */
  readonly allowsSilence?: boolean | undefined;
  /** @returns false to receive no more until `resume` */
  onChunk(chunk: Uint8Array): boolean;
  onEnd(): void;
  /**
   * The body has failed: 408 too slow, 400 malformed, 499 the client has gone, 504 no `resume` for
   * too long.
   */
  onError(error: HttpError): void;
}

/** Controls the chunks that a `ChunkReader` receives. */
export interface ChunkFlow {
  /** Asks for more, after an `onChunk` that returned false. */
  resume(): void;
  /** Asks for no more: the reader is not called again. */
  stop(): void;
  /**
   * Reserves memory for the part of the body that the reader stores. Replaces its previous
   * reservation.
   * @param isUnfinished the bytes are a part of a message. Such a body may be given up in favour of
   * finished or younger ones
   * @returns false where there is no memory
   */
  tryReserve?(bytes: number, isUnfinished: boolean): boolean;
}

/** A response body that is written chunk by chunk. */
export interface BodyStream {
  /** Begins to write. */
  open(sink: BodySink): void;
  /** More may be written, after a `write` that returned false. */
  onDrain(): void;
  /**
   * For a stream that is not recorded as a call: calls the listener once when the stream has ended,
   * with the HTTP status to record. The name differs from the members of `ChunkReader`, because one
   * object may implement both.
   */
  onClosed?(listener: (status: number) => void): void;
}

/** Takes a response body, as fast as the client reads it. */
export interface BodySink {
  /** @returns false to ask for no more until `onDrain` */
  write(chunk: string | Uint8Array): boolean;
  /** @param trailers name, value, name, value … */
  end(trailers?: readonly string[]): void;
  /**
   * Closes the connection, or resets the stream over HTTP/2, so that the client sees that the body
   * is incomplete.
   */
  abort(): void;
}
