/**
 * What both ends of a stream do alike: messages out, as far as the windows allow, and messages in, as far as the reader
 * wants them.
 */
import { StatusError } from "../errors.js";
import { compress, type Encoding, MessageReader, PREFIX } from "../rpc/http2/messages.js";
import { MAX_QUEUED_BYTES, MAX_QUEUED_MESSAGES } from "../rpc/message-queue.js";
import type { Connection } from "./connection.js";
import { ErrorCode } from "./errors.js";
import { ReceiveWindow, STREAM_WINDOW } from "./flow-control.js";
import { Flag, MAX_FRAME_SIZE } from "./frames.js";

/** Bytes that a stream writes before the others have their turn. */
const TURN = 4 * MAX_FRAME_SIZE;

/** What an open stream is counted as in the memory budget, in bytes, beside its messages: about what its objects take. */
const STREAM_COST = 2_048;

export abstract class Stream {
  id = 0;
  /** What may be sent; below 0 after settings have taken some back. */
  sendWindow = 0;
  /** It stands in the connection's list of those that write. */
  queued = false;
  /** END_STREAM has come. */
  remoteEnded = false;

  /** END_STREAM has been written. */
  protected localEnded = false;
  protected headersWritten = false;
  /** No more messages will be sent. */
  protected ending = false;
  /** The end need not wait for messages that the peer does not take. */
  protected urgent = false;
  protected paused = false;
  protected readonly reader: MessageReader;
  /** Of the messages sent. */
  protected encoding: Encoding = "identity";

  readonly #unsent: Uint8Array[] = [];
  /** Bytes of `#unsent`; and how much of its first message, prefix included, has been written. */
  #unsentBytes = 0;
  #written = 0;
  /** A `send` has returned false. */
  #full = false;
  readonly #window = new ReceiveWindow(STREAM_WINDOW);
  /** Bytes that came while the reader was paused. */
  #held = 0;
  #delivering = false;
  /** Bytes of the memory budget that are reserved for this stream; undefined once it has been released. */
  #reserved: number | undefined = 0;
  /** Bytes written, now and when it was last asked whether the stream is stalled; and how often in a row it was. */
  #sentBytes = 0;
  #sentBefore = 0;
  #stalls = 0;
  /** Bytes of messages that were delivered and that the reader still keeps. */
  protected kept = 0;

  constructor(maxMessage: number) {
    this.reader = new MessageReader(maxMessage);
  }

  protected abstract get connection(): Connection | undefined;
  /** Nothing more is to be delivered. */
  protected abstract get over(): boolean;
  /** Writes the headers, if it is time. */
  protected abstract writeHeaders(connection: Connection): void;
  /** Writes END_STREAM, with what belongs to it. */
  protected abstract writeEnd(connection: Connection): void;
  /** Whether END_STREAM may stand on the last message. */
  protected abstract readonly endsWithMessage: boolean;
  protected abstract onMessage(message: Uint8Array): void;
  protected abstract onDrain(): void;
  /** All messages have been delivered, and no more come. */
  protected abstract onDelivered(): void;
  /** What came is not messages. */
  protected abstract onBroken(error: StatusError): void;
  /** The stream was reset, by the peer or for what the peer did. It has been released. */
  abstract onReset(errorCode: number): void;
  /** The connection is gone. */
  abstract onLost(): void;

  /** More waits on this stream than there is memory for. */
  abstract onNoMemory(): void;

  // Memory.

  /**
   * Reserves what the stream holds now.
   * @returns false where that does not fit; then the stream is to be ended
   */
  reserve(): boolean {
    const { connection } = this;
    if (connection === undefined || this.#reserved === undefined) return true;
    const held = STREAM_COST + this.unsentReserved + this.reader.held + this.kept;
    if (held === this.#reserved) return true;
    if (!connection.memory.tryResize(this.#reserved, held)) return false;
    this.#reserved = held;
    return true;
  }

  /** The connection has forgotten the stream: what it reserved is free. */
  releaseMemory(): void {
    if (this.#reserved === undefined) return;
    this.connection?.memory.release(this.#reserved);
    this.#reserved = undefined;
  }

  /** Bytes of messages to be sent that are to be reserved. */
  protected get unsentReserved(): number {
    return this.#unsentBytes;
  }

  /** How many times in a row this was asked while messages waited of which the peer had taken nothing in between. */
  countStall(): number {
    const stalled = this.#unsent.length > 0 && this.#sentBytes === this.#sentBefore;
    this.#sentBefore = this.#sentBytes;
    this.#stalls = stalled ? this.#stalls + 1 : 0;
    return this.#stalls;
  }

  /** Bytes that wait to be written. */
  protected get unsentSize(): number {
    return this.#unsentBytes - this.#written;
  }

  /** Whether messages wait to be written. */
  protected get hasUnsent(): boolean {
    return this.#unsent.length > 0;
  }

  // Sending.

  /** @returns false where the caller should wait for `onDrain` */
  protected enqueue(message: Uint8Array): boolean {
    const sent = compress(message, this.encoding);
    this.#unsent.push(sent);
    this.#unsentBytes += sent.length;
    this.connection?.schedule(this);
    this.#full = this.#unsent.length >= MAX_QUEUED_MESSAGES || this.#unsentBytes >= MAX_QUEUED_BYTES;
    return !this.#full;
  }

  /** Writes what can be written now. */
  write(): void {
    const { connection } = this;
    if (connection === undefined || this.localEnded) return;
    if (!this.headersWritten) this.writeHeaders(connection);
    if (this.#unsent.length > 0) this.#writeMessages(connection);
    if ((this.#unsent.length > 0 || this.#reserved) && !this.reserve()) this.onNoMemory();
    if (this.#unsent.length > 0) return;
    if (this.ending && !this.localEnded) {
      this.localEnded = true;
      this.writeEnd(connection);
    }
    if (!this.#full) return;
    this.#full = false;
    this.onDrain();
  }

  #writeMessages(connection: Connection): void {
    let turn = TURN;
    while (this.#unsent.length > 0) {
      const message = this.#unsent[0] as Uint8Array;
      const total = PREFIX + message.length;
      const size = Math.min(total - this.#written, MAX_FRAME_SIZE, this.sendWindow, connection.sendWindow);
      if (size <= 0) {
        this.#wait(connection);
        return;
      }
      if (turn <= 0) {
        connection.schedule(this);
        return;
      }
      const last = this.#written + size === total;
      this.localEnded = last && this.ending && this.endsWithMessage && this.#unsent.length === 1;
      const end = this.localEnded ? Flag.END_STREAM : 0;
      connection.writeMessage(this.id, end, message, this.encoding, this.#written, size);
      turn -= size;
      this.sendWindow -= size;
      this.#sentBytes += size;
      this.#written = last ? 0 : this.#written + size;
      if (!last) continue;
      this.#unsent.shift();
      this.#unsentBytes -= message.length;
    }
  }

  #wait(connection: Connection): void {
    if (this.ending && this.urgent) this.dropUnsent();
    else if (this.sendWindow > 0) connection.starve(this);
  }

  protected dropUnsent(): void {
    this.#unsent.length = 0;
    this.#unsentBytes = 0;
    this.#written = 0;
  }

  // Receiving.

  /** @param size what a DATA frame takes of the window, padding included */
  receive(size: number, buffer: Buffer, start: number, end: number, endStream: boolean): void {
    if (!this.#window.receive(size)) {
      this.connection?.streamError(this, ErrorCode.FLOW_CONTROL_ERROR);
      return;
    }
    if (start < end && !this.over) this.reader.push(buffer, start, end);
    this.#held += size;
    this.remoteEnded = endStream;
    this.deliver();
    if (!this.over && !this.reserve()) this.onNoMemory();
  }

  /** Hands over what is there, as long as the reader wants it. */
  protected deliver(): void {
    if (this.#delivering || this.over) return;
    this.#delivering = true;
    try {
      while (!this.paused && !this.over) {
        const message = this.#next();
        if (message === undefined) break;
        this.onMessage(message);
      }
    } finally {
      this.#delivering = false;
    }
    if (this.paused || this.over) return;
    this.#giveBack();
    if (this.remoteEnded) this.onDelivered();
  }

  #next(): Uint8Array | undefined {
    try {
      return this.reader.next();
    } catch (error) {
      this.onBroken(StatusError.from(error));
      return undefined;
    }
  }

  #giveBack(): void {
    const increment = this.#window.take(this.#held);
    this.#held = 0;
    if (increment > 0 && !this.remoteEnded) this.connection?.writeWindowUpdate(this.id, increment);
  }
}
