/**
 * A stream of HTTP/2 (RFC 9113, section 5), at either end: its flow-control windows, its share of the memory budget, and
 * its place in the connection. What its bytes mean is for the subclass, which holds them and is told of them.
 */
import type { ConnectionMemory, RequestMemory, UnfinishedBody } from "../memory/memory-budget.js";
import { ErrorCode } from "./errors.js";
import { ReceiveWindow, STREAM_WINDOW } from "./flow-control.js";
import type { FrameWriter } from "./frame-writer.js";
import { Flag, MAX_FRAME_SIZE } from "./frames.js";

/** What an open stream counts for in the memory budget, in bytes, beside the bytes it holds: about the size of its objects. */
const STREAM_COST = 2_048;

/** What a stream uses of its connection. */
export interface StreamConnection {
  readonly writer: FrameWriter;
  readonly memory: ConnectionMemory;
  /** Has `write` called in the stream's turn. */
  schedule(stream: Stream): void;
  /** Has `write` called when the connection's window has grown. */
  block(stream: Stream): void;
  /** Resets a stream for what the peer did on it. */
  streamError(stream: Stream, errorCode: number): void;
}

export abstract class Stream {
  id = 0;
  /** Bytes of DATA that the peer takes; below 0 after its settings have made the window smaller. */
  sendWindow = 0;
  /** It is in the connection's queue. */
  queued = false;
  /** END_STREAM has come. */
  remoteEnded = false;
  /** Bytes of memory that the request's headers take while the stream is open. */
  headBytes = 0;

  /** END_STREAM has been written. */
  protected localEnded = false;
  /** Of the message that is received; undefined where it has none. */
  protected contentLength: ContentLength | undefined;
  readonly #window = new ReceiveWindow(STREAM_WINDOW);
  /** Bytes that came and have not been acknowledged. */
  #unacknowledged = 0;
  /** Bytes of the memory budget that are reserved for this stream; undefined once it has been released. */
  #reserved: number | undefined = 0;
  /** Bytes of DATA written, now and when `countStall` was called last; and its count. */
  #sentBytes = 0;
  #sentBefore = 0;
  #stalls = 0;

  /** Undefined before the stream has one. */
  protected abstract get connection(): StreamConnection | undefined;
  /** Bytes that the stream holds, received or to be sent. */
  protected abstract get heldBytes(): number;
  /** Whether bytes wait to be sent. */
  protected abstract get hasUnsent(): boolean;
  /** Writes what can be written now. */
  abstract write(): void;
  /** The payload of a DATA frame has come; the buffer's bytes are valid until this returns. */
  protected abstract onData(buffer: Buffer, start: number, end: number): void;
  /** The stream was reset, by the peer or for what the peer did. It has been released. */
  abstract onReset(errorCode: number): void;
  /** The connection has ended. */
  abstract onLost(): void;
  /** The stream holds more than there is memory for. */
  abstract onNoMemory(): void;

  // Memory.

  /**
   * Reserves what the stream holds now.
   * @param more bytes that it is about to hold
   * @returns false where that does not fit; then the stream is to be ended
   */
  reserve(more = 0): boolean {
    const { connection } = this;
    if (connection === undefined || this.#reserved === undefined) return true;
    const held = STREAM_COST + this.headBytes + this.heldBytes + more;
    if (held === this.#reserved) return true;
    if (!this.memoryOf(connection).tryResize(this.#reserved, held, this.unfinished)) return false;
    this.#reserved = held;
    return true;
  }

  /** What the stream reserves in. */
  protected memoryOf(connection: StreamConnection): RequestMemory {
    return connection.memory;
  }

  /** What makes room for later bodies of the client; undefined for what does not. */
  protected get unfinished(): UnfinishedBody | undefined {
    return undefined;
  }

  /** Whether anything is reserved. */
  protected get isReserved(): boolean {
    return Boolean(this.#reserved);
  }

  /** The connection has released the stream: what it reserved is free. */
  releaseMemory(): void {
    if (this.#reserved === undefined) return;
    const { connection } = this;
    if (connection !== undefined) this.memoryOf(connection).release(this.#reserved);
    this.#reserved = undefined;
  }

  // Sending.

  /** How many of `wanted` bytes one DATA frame may carry now. */
  protected sendable(connection: StreamConnection, wanted: number): number {
    return Math.min(wanted, MAX_FRAME_SIZE, this.sendWindow, connection.writer.window);
  }

  /** Begins a DATA frame, whose `size` bytes the caller then writes into the connection's output. */
  protected beginData(connection: StreamConnection, size: number, endStream: boolean): void {
    connection.writer.beginData(this.id, endStream ? Flag.END_STREAM : 0, size);
    this.sendWindow -= size;
    this.#sentBytes += size;
  }

  /** How many times in a row this was called while bytes waited and the peer had taken none since the call before. */
  countStall(): number {
    const stalled = this.hasUnsent && this.#sentBytes === this.#sentBefore;
    this.#sentBefore = this.#sentBytes;
    this.#stalls = stalled ? this.#stalls + 1 : 0;
    return this.#stalls;
  }

  // Receiving.

  /** @param size bytes that a DATA frame takes of the window, padding included */
  receive(size: number, buffer: Buffer, start: number, end: number, endStream: boolean): void {
    if (this.contentLength?.receive(end - start, endStream) === false) {
      this.connection?.streamError(this, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    if (!this.#window.receive(size)) {
      this.connection?.streamError(this, ErrorCode.FLOW_CONTROL_ERROR);
      return;
    }
    this.#unacknowledged += size;
    this.remoteEnded = endStream;
    this.onData(buffer, start, end);
  }

  /** Trailers have come, which end the message. */
  receiveTrailers(): void {
    if (this.contentLength?.receive(0, true) === false) {
      this.connection?.streamError(this, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    this.remoteEnded = true;
    this.onTrailers();
  }

  /** The message that is received has ended with trailers. */
  protected onTrailers(): void {}

  /** Everything that came has been taken: lets the peer send as much again. */
  protected acknowledge(): void {
    const increment = this.#window.take(this.#unacknowledged);
    this.#unacknowledged = 0;
    if (increment > 0 && !this.remoteEnded) this.connection?.writer.windowUpdate(this.id, increment);
  }
}

/** The content-length of a request, which must be the number of bytes of its DATA frames (RFC 9113, section 8.1.1). */
export class ContentLength {
  #left: number;

  /** @param header the value of the header */
  constructor(header: string) {
    this.#left = /^\d{1,15}$/.test(header) ? Number(header) : -1;
  }

  /** @returns false where the request is malformed, once these bytes have come */
  receive(bytes: number, endStream: boolean): boolean {
    this.#left -= bytes;
    return endStream ? this.#left === 0 : this.#left >= 0;
  }
}
