/**
 * The response on a stream of HTTP/2: its head, its body and its trailers. It is written as the
 * flow-control windows allow, and no faster than the client reads.
 */
import { ErrorCode } from "../../../src/http2/errors.js";
import { Flag, MAX_FRAME_SIZE } from "../../../src/http2/frames.js";
import type { ServerConnection } from "../../../src/http2/server-connection.js";
import { Stream } from "../../../src/http2/stream.js";
import type { BodySink, BodyStream } from "../../http/body.js";
import { type HttpError, NO_MEMORY } from "../../http/errors.js";
import { type GatewayResponse, isStream } from "../../http/message.js";
import { writeHead, writeTrailers } from "./response-head.js";

/** From this number of waiting bytes on, the source of a streamed body is asked to wait. */
const MAX_QUEUED = 64 * 1024;
/** Bytes that a stream writes before the other streams of the connection have their turn. */
const MAX_TURN = 4 * MAX_FRAME_SIZE;
/**
 * From this number of waiting bytes on, memory is reserved at once. For fewer bytes it is reserved
 * only when they could not be written in their turn.
 */
const MIN_RESERVED = 4_096;

const NONE: readonly string[] = [];

/** The part of its request's connection that a response uses. */
export interface ResponseConnection extends ServerConnection {
  /** The current value of the header Date. */
  readonly date: string;
}

export abstract class Http2ResponseStream extends Stream {
  protected readonly connection: ResponseConnection;
  /** The handler has returned the response. It may not have been written yet. */
  responded = false;
  /** The client has gone, or the stream was reset. */
  protected gone = false;
  /** Whether the response may have a body. The response to HEAD has none. */
  readonly #hasBody: boolean;
  /** "100 Continue" must be written before the response. */
  #continues = false;
  #response: GatewayResponse | undefined;
  #headWritten = false;
  /** The body where it is a stream. */
  #source: BodyStream | undefined;
  readonly #queue: Uint8Array[] = [];
  /** Bytes of `#queue`, and the number of bytes of its first chunk that have been written. */
  #queuedBytes = 0;
  #written = 0;
  /** Bytes that were reserved for the response before it was returned. */
  #promisedBytes = 0;
  /** The source was asked to wait. */
  #full = false;
  #ending = false;
  /** The stream is reset instead of ended normally. */
  #isCut = false;
  #trailers = NONE;

  constructor(connection: ResponseConnection, id: number, method: string) {
    super();
    this.id = id;
    this.connection = connection;
    this.sendWindow = connection.peer.initialWindow;
    this.#hasBody = method !== "HEAD";
  }

  /** Bytes of the request that the stream stores. */
  protected abstract get requestBytes(): number;
  /**
   * Reserves memory for the data of this stream. Older unfinished bodies of the client are given up
   * for it.
   */
  abstract reserveInstead(): boolean;
  /** The call is over: the request is no longer needed. */
  protected abstract endCall(): void;
  /** The response has been written to its end. */
  protected abstract onResponseEnd(): void;
  abstract abort(reason: HttpError): void;

  protected get heldBytes(): number {
    return this.requestBytes + Math.max(this.#queuedBytes, this.#promisedBytes);
  }

  protected get hasUnsent(): boolean {
    return this.#queue.length > 0;
  }

  tryReserveResponse(bytes: number): boolean {
    const before = this.#promisedBytes;
    this.#promisedBytes = Math.max(bytes, before);
    if (this.reserve() || this.reserveInstead()) return true;
    this.#promisedBytes = before;
    return false;
  }

  /** Responds to `Expect: 100-continue` (RFC 9110 §10.1.1). */
  protected sendContinue(): void {
    this.#continues = true;
    this.connection.schedule(this);
  }

  respond(response: GatewayResponse): void {
    this.responded = true;
    const { body, length, trailers = NONE } = response;
    if (!isStream(body)) this.endCall();
    if (this.gone) return;
    this.#response = response;
    this.#promisedBytes = 0;
    this.connection.schedule(this);
    if (isStream(body)) {
      this.#source = body;
      body.open(this.#sink());
    } else {
      if (length > 0)
        this.#enqueue(typeof body === "string" ? Buffer.from(body, length === body.length ? "latin1" : "utf8") : body);
      this.#end(trailers);
    }
  }

  #sink(): BodySink {
    return {
      write: (chunk) => {
        if (this.gone || this.#ending) return false;
        if (chunk.length > 0) this.#enqueue(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
        this.#full = this.#queuedBytes >= MAX_QUEUED;
        return !this.#full;
      },
      end: (trailers = NONE) => this.#end(trailers),
      abort: () => {
        this.#isCut = true;
        this.#end(NONE);
      },
    };
  }

  #enqueue(chunk: Uint8Array): void {
    if (!this.#hasBody) return;
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    this.connection.schedule(this);
    if (this.#queuedBytes > MIN_RESERVED && !this.reserve()) this.onNoMemory();
  }

  #end(trailers: readonly string[]): void {
    if (this.#ending) return;
    this.#ending = true;
    this.#trailers = trailers;
    this.connection.schedule(this);
  }

  /** No more of the response will be written. */
  protected dropResponse(): void {
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#promisedBytes = 0;
    this.#source = undefined;
    this.#response = undefined;
  }

  /** There is no memory for more of a response that the client does not read. */
  onNoMemory(): void {
    if (this.gone) return;
    // Called later, because the source of the body may be calling `write` now, and must not be
    // called back from there.
    queueMicrotask(() => {
      if (this.gone) return;
      this.abort(NO_MEMORY);
      this.connection.reset(this, ErrorCode.ENHANCE_YOUR_CALM);
      this.onReset(ErrorCode.ENHANCE_YOUR_CALM);
    });
  }

  write(): void {
    const response = this.#response;
    if (this.gone || this.localEnded) return;
    if (response === undefined) {
      this.#writeContinue();
      return;
    }
    if (!this.#headWritten && this.#writeHead(response)) return;
    if (this.#queue.length > 0) this.#writeBody();
    if ((this.#queue.length > 0 || this.isReserved) && !this.reserve()) this.onNoMemory();
    if (this.#queue.length > 0) return;
    if (this.#ending) this.#writeEnd();
    else if (this.#full) {
      this.#full = false;
      this.#source?.onDrain();
    }
  }

  #writeContinue(): void {
    if (!this.#continues) return;
    this.#continues = false;
    writeHead(this.connection.writer, this.id, 100, NONE, undefined, 0);
  }

  /** @returns true where the head is the whole response */
  #writeHead({ status, headers }: GatewayResponse): boolean {
    const { writer, date } = this.connection;
    const isAll = this.#ending && !this.#isCut && this.#queue.length === 0 && this.#trailers.length === 0;
    this.#headWritten = true;
    writeHead(writer, this.id, status, headers, date, isAll ? Flag.END_STREAM : 0);
    if (isAll) this.#close();
    return isAll;
  }

  #writeBody(): void {
    const { connection } = this;
    let turn = MAX_TURN;
    while (this.#queue.length > 0) {
      const chunk = this.#queue[0] as Uint8Array;
      const size = this.sendable(connection, chunk.length - this.#written);
      if (size <= 0) {
        if (this.sendWindow > 0) connection.block(this);
        return;
      }
      if (turn <= 0) {
        connection.schedule(this);
        return;
      }
      const end = this.#written + size;
      const isLast = end === chunk.length;
      const isAll = isLast && this.#queue.length === 1;
      const endsStream = isAll && this.#ending && !this.#isCut && this.#trailers.length === 0;
      this.beginData(connection, size, endsStream);
      connection.writer.output.append(chunk, this.#written, end);
      turn -= size;
      this.#written = isLast ? 0 : end;
      if (!isLast) continue;
      this.#queue.shift();
      this.#queuedBytes -= chunk.length;
      if (endsStream) this.#close();
    }
  }

  /** Writes an empty frame with END_STREAM, the trailers, or a reset. */
  #writeEnd(): void {
    if (this.localEnded) return;
    if (this.#isCut) {
      this.connection.reset(this, ErrorCode.INTERNAL_ERROR);
      this.onReset(ErrorCode.INTERNAL_ERROR);
      return;
    }
    if (this.#trailers.length > 0) writeTrailers(this.connection.writer, this.id, this.#trailers);
    else this.beginData(this.connection, 0, true);
    this.#close();
  }

  #close(): void {
    this.localEnded = true;
    this.dropResponse();
    this.onResponseEnd();
  }
}
