/**
 * An HTTP/2 stream (RFC 9113, section 5) at either end: its flow-control windows, its share of the
 * memory budget, and its place in the connection's queue. The subclass knows the meaning of the
 * bytes, and stores them.
 */
import type { ConnectionMemory, RequestMemory, UnfinishedBody } from "../memory/memory-budget.js";
import { ErrorCode } from "./errors.js";
import { ReceiveWindow, STREAM_WINDOW } from "./flow-control.js";
import type { FrameWriter } from "./frame-writer.js";
import { Flag, MAX_FRAME_SIZE } from "./frames.js";

/** The overhead of an open stream in the memory budget, in bytes: about the size of its objects. */
const STREAM_COST = 2_048;

/** The parts of its connection that a stream uses. */
export interface StreamConnection {
  readonly writer: FrameWriter;
  readonly memory: ConnectionMemory;
  /** Asks the connection to call `write` in the stream's turn. */
  schedule(stream: Stream): void;
  /** Asks the connection to call `write` when the connection's flow-control window has grown. */
  block(stream: Stream): void;
  /** Resets a stream because of an error of the peer. */
  streamError(stream: Stream, errorCode: number): void;
}

export abstract class Stream {
  id = 0;
  /**
   * Bytes of DATA that the peer accepts. Below 0 after the peer's settings have made the window
   * smaller.
   */
  sendWindow = 0;
  /** Whether the stream is in the connection's queue. */
  queued = false;
  /** END_STREAM has arrived. */
  remoteEnded = false;
  /** Bytes of memory for the request's headers, while the stream is open. */
  headBytes = 0;

  /** END_STREAM was written. */
  protected localEnded = false;
  /** The content-length of the received message; undefined when it has none. */
  protected contentLength: ContentLength | undefined;
  readonly #window = new ReceiveWindow(STREAM_WINDOW);
  /** Bytes that arrived, and for which no WINDOW_UPDATE was sent yet. */
  #unacknowledged = 0;
  /** Bytes of the memory budget that this stream has reserved; undefined after their release. */
  #reserved: number | undefined = 0;
  /** Bytes of DATA that were written. */
  #sentBytes = 0;
  /** Bytes of DATA that were written at the last call of `countStall`. */
  #sentBefore = 0;
  /** The result of the last call of `countStall`. */
  #stalls = 0;

  /** Undefined until the stream has a connection. */
  protected abstract get connection(): StreamConnection | undefined;
  /** Bytes that the stream holds, received or to be sent. */
  protected abstract get heldBytes(): number;
  /** Whether bytes wait to be sent. */
  protected abstract get hasUnsent(): boolean;
  /** Writes what can be written now. */
  abstract write(): void;
  /** The payload of a DATA frame has arrived. The buffer's bytes are valid until this returns. */
  protected abstract onData(buffer: Buffer, start: number, end: number): void;
  /** The stream was reset by the peer, or because of the peer. It is already released. */
  abstract onReset(errorCode: number): void;
  /** The connection has ended. */
  abstract onLost(): void;
  /** The stream holds more bytes than memory allows. */
  abstract onNoMemory(): void;

  // Memory.

  /**
   * Reserves the bytes that the stream holds now.
   * @param more bytes that the stream is about to hold
   * @returns false when they do not fit into the budget; then the stream must end
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

  /** The memory account in which the stream reserves. */
  protected memoryOf(connection: StreamConnection): RequestMemory {
    return connection.memory;
  }

  /**
   * The incomplete body of this stream. The budget may give it up for the client's later bodies.
   * Undefined for a stream that has none.
   */
  protected get unfinished(): UnfinishedBody | undefined {
    return undefined;
  }

  /** Whether the stream has reserved any memory. */
  protected get isReserved(): boolean {
    return Boolean(this.#reserved);
  }

  /** The connection has released the stream: releases its reservation. */
  releaseMemory(): void {
    if (this.#reserved === undefined) return;
    const { connection } = this;
    if (connection !== undefined) this.memoryOf(connection).release(this.#reserved);
    this.#reserved = undefined;
  }

  // Sending.

  /** The number of bytes, up to `wanted`, that one DATA frame may carry now. */
  protected sendable(connection: StreamConnection, wanted: number): number {
    return Math.min(wanted, MAX_FRAME_SIZE, this.sendWindow, connection.writer.window);
  }

  /** Begins a DATA frame. The caller then writes its `size` bytes into the connection's output. */
  protected beginData(connection: StreamConnection, size: number, endStream: boolean): void {
    connection.writer.beginData(this.id, endStream ? Flag.END_STREAM : 0, size);
    this.sendWindow -= size;
    this.#sentBytes += size;
  }

  /**
   * Called at each check for stalls. Returns how many checks in a row found bytes that wait, when
   * the peer had accepted none since the check before.
   */
  countStall(): number {
    const stalled = this.hasUnsent && this.#sentBytes === this.#sentBefore;
    this.#sentBefore = this.#sentBytes;
    this.#stalls = stalled ? this.#stalls + 1 : 0;
    return this.#stalls;
  }

  // Receiving.

  /** @param size bytes of the flow-control window that the DATA frame uses, including padding */
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

  /** Trailers have arrived. They end the message. */
  receiveTrailers(): void {
    if (this.contentLength?.receive(0, true) === false) {
      this.connection?.streamError(this, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    this.remoteEnded = true;
    this.onTrailers();
  }

  /** The received message has ended with trailers. */
  protected onTrailers(): void {}

  /** All received bytes have been read: lets the peer send as many again. */
  protected acknowledge(): void {
    const increment = this.#window.take(this.#unacknowledged);
    this.#unacknowledged = 0;
    if (increment > 0 && !this.remoteEnded) this.connection?.writer.windowUpdate(this.id, increment);
  }
}

/**
 * The content-length of a request. It must be the number of bytes in its DATA frames (RFC 9113,
 * section 8.1.1).
 */
export class ContentLength {
  #left: number;

  /** @param header the value of the header */
  constructor(header: string) {
    this.#left = /^\d{1,15}$/.test(header) ? Number(header) : -1;
  }

  /** Counts bytes that have arrived. @returns false when the request is malformed */
  receive(bytes: number, endStream: boolean): boolean {
    this.#left -= bytes;
    return endStream ? this.#left === 0 : this.#left >= 0;
  }
}
