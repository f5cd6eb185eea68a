/**
 * The body of a request on a stream of HTTP/2: how it arrives, and how the handler reads it. It has
 * limits of size, time and memory.
 */
import { ErrorCode } from "../../../src/http2/errors.js";
import { type ClientMemory, FINISHED, type UnfinishedBody } from "../../../src/memory/memory-budget.js";
import type { ChunkFlow, ChunkReader } from "../../http/body.js";
import { GIVEN_UP, type HttpError, NO_MEMORY } from "../../http/errors.js";
import type { RequestHeaders } from "../../http/headers.js";
import type { Peer } from "../peer.js";
import { bodyTooLarge, CHUNK_TOO_SLOW, STALLED, TOO_SLOW } from "../request-errors.js";
import { Http2RequestBody } from "./request-body.js";
import type { Http2RequestHead } from "./request-head.js";
import { Http2ResponseStream, type ResponseConnection } from "./response-stream.js";

/**
 * How long the rest of a request may take after its response, in milliseconds. Then the stream is
 * reset. Some clients send the whole body before they read, and wait for ever if they are reset at
 * once.
 */
const LINGER_MS = 1_000;

/** No deadline. */
export const NEVER = Number.POSITIVE_INFINITY;

export interface ExchangeLimits {
  readonly maxBody: number;
  /**
   * Time for a body that is read to its end, or for the next chunk of a body that is read in
   * chunks, in milliseconds.
   */
  readonly bodyTime: number;
  /** How long the service may read nothing of an upload, in milliseconds. */
  readonly stallMs: number;
}

/** The part of its connection that an exchange over HTTP/2 uses. */
export interface Http2Owner extends ResponseConnection {
  readonly remotePeer: Peer;
  /** The memory of the client that a proxy names; undefined where it names none. */
  openClient(request: { readonly rawHeaders: readonly string[] }): ClientMemory | undefined;
  readonly exchangeLimits: ExchangeLimits;
  /**
   * Delays rejections until `onThrottleEnd` of each stream.
   * @returns false where they are written at once
   */
  tryThrottle(): boolean;
}

/** Receives a body that is read to its end. */
interface BodyTaker {
  resolve(chunks: readonly Uint8Array[]): void;
  reject(error: HttpError): void;
}

export abstract class RequestStream extends Http2ResponseStream {
  readonly headers: RequestHeaders;
  /**
   * When the exchange must have made progress, in milliseconds of `performance.now()`. The
   * connection calls `expire` after that.
   */
  deadlineMonotonicMs = NEVER;
  declare protected readonly connection: Http2Owner;
  readonly #body = new Http2RequestBody();
  /** The value of the header Content-Length. */
  readonly #announced: number | undefined;
  /** The whole request has arrived. */
  #complete = false;
  #taker: BodyTaker | undefined;
  #reader: ChunkReader | undefined;
  #paused = false;
  /** Bytes of chunks that the reader stores, or that the handler has made from the body. */
  #readerBytes = 0;
  /** Maximum bytes of a body that is read to its end. */
  #maxBody: number;
  /** A reservation for finished data is being made. It may take the memory of unfinished bodies. */
  #reservesFinished = false;
  /** Bytes of the body have arrived. */
  #isReceiving = false;
  /** The chunks that the reader stores are a part of a message. */
  #readerIsUnfinished = false;
  /** The memory budget has this body in its list of unfinished bodies. */
  #isUnfinished = false;
  /** Further bytes of the body are dropped. */
  #dropping = false;
  /** The error of a body that did not arrive completely. */
  #bodyError: HttpError | undefined;
  readonly #tryReserve = (bytes: number): boolean => this.reserve(bytes);

  constructor(connection: Http2Owner, id: number, head: Http2RequestHead) {
    super(connection, id, head.method);
    this.headers = head.headers;
    this.contentLength = head.contentLength;
    this.#maxBody = connection.exchangeLimits.maxBody;
    this.#announced = head.contentLength === undefined ? undefined : Number(head.headers.contentLength);
  }

  protected get requestBytes(): number {
    return this.#body.held + this.#readerBytes;
  }

  /** @param endStream the request has no body */
  open(endStream: boolean): void {
    this.remoteEnded = endStream;
    this.#complete = endStream;
  }

  // The body, as it arrives.

  protected onData(buffer: Buffer, start: number, end: number): void {
    if (this.#dropping) this.acknowledge();
    else if (start < end) this.#receive(buffer, start, end);
    if (!this.remoteEnded) return;
    // A client on node:http2 that cancels a request first half-closes the stream. That must not
    // count as the end of the body.
    if (start === end && this.#announced === undefined) setImmediate(() => this.#onRequestEnd());
    else this.#onRequestEnd();
  }

  protected override onTrailers(): void {
    this.#onRequestEnd();
  }

  // This stream, while memory is reserved for an unfinished body. A body of one frame is never
  // unfinished.
  protected override get unfinished(): UnfinishedBody | undefined {
    if (this.#reservesFinished) return FINISHED;
    const isReceiving = this.#reader === undefined ? this.#isReceiving : this.#readerIsUnfinished;
    const isUnfinished = !this.remoteEnded && !this.#dropping && isReceiving;
    if (isUnfinished) this.#isUnfinished = true;
    return isUnfinished ? this : undefined;
  }

  override reserveInstead(): boolean {
    if (!this.remoteEnded) this.#isReceiving = true;
    this.#reservesFinished = this.remoteEnded;
    const isReserved = this.reserve();
    this.#reservesFinished = false;
    return isReserved;
  }

  get freeable(): number {
    return this.requestBytes;
  }

  giveUp(): void {
    this.fail(GIVEN_UP);
    this.#readerBytes = 0;
    this.reserve();
  }

  protected endUnfinished(): void {
    if (!this.#isUnfinished) return;
    this.#isUnfinished = false;
    this.connection.memory.finished(this);
  }

  #receive(buffer: Buffer, start: number, end: number): void {
    this.#isReceiving = true;
    const expected = this.#announced === undefined ? 0 : this.#announced - this.#body.size;
    if (!this.#body.push(buffer, start, end, expected, this.#tryReserve)) this.fail(NO_MEMORY);
    else if (this.#reader !== undefined) this.#deliver();
    else if (this.#taker !== undefined) this.#takeMore();
  }

  #takeMore(): void {
    if (this.#body.size > this.#maxBody) this.fail(bodyTooLarge(this.#maxBody));
    else this.acknowledge();
  }

  #onRequestEnd(): void {
    this.endUnfinished();
    if (this.gone || this.#complete) return;
    this.#complete = true;
    if (this.localEnded) {
      this.connection.release(this, "by the peer");
      return;
    }
    if (this.#reader !== undefined) this.#deliver();
    const taker = this.#taker;
    if (taker === undefined) return;
    this.#taker = undefined;
    this.deadlineMonotonicMs = NEVER;
    taker.resolve(this.#body.take());
  }

  // The body, as the handler reads it.

  body(maxBytes = this.#maxBody): readonly Uint8Array[] | Promise<readonly Uint8Array[]> {
    const arrived = this.arrivedBody(maxBytes);
    if (arrived !== undefined) return arrived;
    this.#continue();
    this.deadlineMonotonicMs = this.connection.arrived + this.connection.exchangeLimits.bodyTime;
    this.acknowledge();
    return new Promise((resolve, reject) => {
      this.#taker = { resolve, reject };
    });
  }

  arrivedBody(maxBytes: number): readonly Uint8Array[] | undefined {
    this.#maxBody = maxBytes;
    if ((this.#announced ?? this.#body.size) > maxBytes) throw bodyTooLarge(maxBytes);
    if (this.#bodyError !== undefined) throw this.#bodyError;
    return this.#complete ? this.#body.take() : undefined;
  }

  tryReserveBody(bytes: number): boolean {
    const before = this.#readerBytes;
    this.#readerBytes = bytes;
    if (bytes <= before || this.reserve()) return true;
    this.#readerBytes = before;
    return false;
  }

  chunks(reader: ChunkReader): ChunkFlow {
    this.#continue();
    this.endUnfinished();
    this.#reader = reader;
    this.#awaitChunk(reader);
    // The reader must have the flow before its first call.
    queueMicrotask(() => this.#deliver());
    const stop = (): void => {
      this.#reader = undefined;
      this.deadlineMonotonicMs = NEVER;
      this.stopReading();
    };
    const resume = (): void => {
      if (!this.#paused) return;
      this.#paused = false;
      this.#awaitChunk(reader);
      queueMicrotask(() => this.#deliver());
    };
    const tryReserve = (bytes: number, isUnfinished: boolean): boolean => {
      this.#readerBytes = bytes;
      this.#readerIsUnfinished = isUnfinished;
      if (!isUnfinished) this.endUnfinished();
      return this.reserve();
    };
    return { resume, stop, tryReserve };
  }

  #awaitChunk({ allowsSilence = false }: ChunkReader): void {
    this.deadlineMonotonicMs = allowsSilence ? NEVER : performance.now() + this.connection.exchangeLimits.bodyTime;
  }

  #deliver(): void {
    const reader = this.#reader;
    if (reader === undefined || this.#paused) return;
    if (this.#bodyError !== undefined) {
      this.#failReader(reader, this.#bodyError);
      return;
    }
    if (!this.#body.isEmpty) {
      this.#awaitChunk(reader);
      if (!this.#deliverChunks(reader)) return;
    }
    this.acknowledge();
    if (!this.#complete) return;
    this.#reader = undefined;
    this.deadlineMonotonicMs = NEVER;
    reader.onEnd();
  }

  /** @returns false where the reader takes no more for now, or is stopped */
  #deliverChunks(reader: ChunkReader): boolean {
    const chunks = this.#body.take();
    this.#body.release();
    for (const chunk of chunks) if (!reader.onChunk(chunk)) this.#paused = true;
    if (this.#paused) this.deadlineMonotonicMs = performance.now() + this.connection.exchangeLimits.stallMs;
    return !this.#paused && this.#reader === reader;
  }

  #continue(): void {
    if (this.headers.expect !== undefined && this.#body.size === 0 && !this.#complete) this.sendContinue();
  }

  // How it ends.

  /**
   * Gives up the body, which will not arrive completely. If the handler still reads it, the reader
   * gets the error.
   */
  protected fail(error: HttpError): void {
    if (this.#bodyError !== undefined) return;
    this.#bodyError = error;
    const taker = this.#taker;
    const reader = this.#reader;
    this.#taker = undefined;
    this.stopReading();
    taker?.reject(error);
    if (reader !== undefined) this.#failReader(reader, error);
  }

  #failReader(reader: ChunkReader, error: HttpError): void {
    this.#reader = undefined;
    this.deadlineMonotonicMs = NEVER;
    reader.onError(error);
  }

  /** Drops the part of the body that is stored, and the part that still comes. */
  protected stopReading(): void {
    this.#dropping = true;
    this.endUnfinished();
    this.#body.release();
    if (!this.gone) this.acknowledge();
  }

  override onNoMemory(): void {
    if (this.responded) super.onNoMemory();
    else this.fail(NO_MEMORY);
  }

  /** The handler reads no more of the body. */
  protected endCall(): void {
    this.#readerBytes = 0;
    this.stopReading();
  }

  protected onResponseEnd(): void {
    this.stopReading();
    this.#reader = undefined;
    if (this.remoteEnded) {
      this.connection.release(this, "by the peer");
      return;
    }
    this.deadlineMonotonicMs = performance.now() + LINGER_MS;
  }

  /** The deadline has passed. */
  expire(): void {
    this.deadlineMonotonicMs = NEVER;
    // NO_ERROR asks a client with more to send to stop, without an error (RFC 9113 §8.1).
    if (this.localEnded) this.connection.reset(this, ErrorCode.NO_ERROR);
    else if (this.#taker !== undefined) this.fail(TOO_SLOW);
    else this.fail(this.#paused ? STALLED : CHUNK_TOO_SLOW);
  }
}
