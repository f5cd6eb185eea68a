/**
 * gRPC messages on an HTTP/2 stream, at either end of a call. Messages to send are queued, and
 * written as the flow-control windows allow. Received messages are delivered as fast as the reader
 * takes them.
 */
import { StatusError } from "../../errors.js";
import type { Connection } from "../../http2/connection.js";
import { MAX_FRAME_SIZE } from "../../http2/frames.js";
import { Stream } from "../../http2/stream.js";
import { MAX_QUEUED_BYTES, MAX_QUEUED_MESSAGES } from "../message-queue.js";
import {
  compress,
  GrpcMessageReader,
  type MemoryHolder,
  type MessageEncoding,
  type MessageTaker,
  PREFIX_SIZE,
  writeMessage,
} from "./messages.js";

/** Bytes that a stream writes before the other streams of the connection get a turn. */
const MAX_TURN = 4 * MAX_FRAME_SIZE;

export abstract class MessageStream extends Stream implements MemoryHolder, MessageTaker {
  protected headersWritten = false;
  /** No more messages will be sent. */
  protected ending = false;
  /** The end of the stream does not wait for messages that the peer does not read. */
  protected urgent = false;
  protected paused = false;
  protected readonly reader: GrpcMessageReader;
  /** The encoding of the messages that are sent. */
  protected encoding: MessageEncoding = "identity";
  /** Bytes of messages that were delivered and that the reader still holds. */
  protected kept = 0;

  readonly #unsent: Uint8Array[] = [];
  /** Bytes of `#unsent`. */
  #unsentBytes = 0;
  /** Bytes of the first message in `#unsent` that have been written, including its prefix. */
  #written = 0;
  /** `enqueue` has returned false, and `onDrain` must follow. */
  #full = false;
  #delivering = false;

  /** @param maxMessage maximum bytes of a message that is received */
  constructor(maxMessage: number) {
    super();
    this.reader = new GrpcMessageReader(maxMessage, this);
  }

  protected abstract override get connection(): Connection | undefined;
  /** Nothing more will be delivered. */
  protected abstract get over(): boolean;
  /** Writes the headers if they can be written now. */
  protected abstract writeHeaders(connection: Connection): void;
  /** Writes END_STREAM and the frame that carries it. */
  protected abstract writeEnd(connection: Connection): void;
  /** Whether the last message may carry END_STREAM. */
  protected abstract readonly endsWithMessage: boolean;
  protected abstract onMessage(message: Uint8Array): void;
  protected abstract onDrain(): void;
  /** All messages have been delivered, and no more will arrive. */
  protected abstract onDelivered(): void;
  /** The received bytes are not valid messages. */
  protected abstract onMalformed(error: StatusError): void;

  protected get heldBytes(): number {
    return this.unsentReserved + this.reader.held + this.kept;
  }

  /** Bytes of unsent messages that need a reservation. */
  protected get unsentReserved(): number {
    return this.#unsentBytes;
  }

  /** Bytes that wait to be written. */
  protected get unsentSize(): number {
    return this.#unsentBytes - this.#written;
  }

  protected get hasUnsent(): boolean {
    return this.#unsent.length > 0;
  }

  // Sending.

  /** @returns false when the caller should wait for `onDrain` */
  protected enqueue(message: Uint8Array): boolean {
    const sent = compress(message, this.encoding);
    this.#unsent.push(sent);
    this.#unsentBytes += sent.length;
    this.connection?.schedule(this);
    this.#full = this.#unsent.length >= MAX_QUEUED_MESSAGES || this.#unsentBytes >= MAX_QUEUED_BYTES;
    return !this.#full;
  }

  write(): void {
    const { connection } = this;
    if (connection === undefined || this.localEnded) return;
    if (!this.headersWritten) this.writeHeaders(connection);
    if (this.#unsent.length > 0) this.#writeMessages(connection);
    if ((this.#unsent.length > 0 || this.isReserved) && !this.reserve()) this.onNoMemory();
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
    let turn = MAX_TURN;
    while (this.#unsent.length > 0) {
      const message = this.#unsent[0] as Uint8Array;
      const total = PREFIX_SIZE + message.length;
      const size = this.sendable(connection, total - this.#written);
      if (size <= 0) {
        this.#waitForWindow(connection);
        return;
      }
      if (turn <= 0) {
        connection.schedule(this);
        return;
      }
      const last = this.#written + size === total;
      this.localEnded = last && this.ending && this.endsWithMessage && this.#unsent.length === 1;
      this.beginData(connection, size, this.localEnded);
      writeMessage(connection.writer.output, message, this.encoding, this.#written, size);
      turn -= size;
      this.#written = last ? 0 : this.#written + size;
      if (!last) continue;
      this.#unsent.shift();
      this.#unsentBytes -= message.length;
    }
  }

  #waitForWindow(connection: Connection): void {
    if (this.ending && this.urgent) this.dropUnsent();
    else if (this.sendWindow > 0) connection.block(this);
  }

  protected dropUnsent(): void {
    this.#unsent.length = 0;
    this.#unsentBytes = 0;
    this.#written = 0;
  }

  // Receiving.

  protected onData(buffer: Buffer, start: number, end: number): void {
    const fits = start === end || this.over || this.reader.push(buffer, start, end, this);
    if (fits) this.deliver();
    if (!this.over && !(fits && this.reserve())) this.onNoMemory();
  }

  tryReserve(bytes: number): boolean {
    return this.reserve(bytes);
  }

  onMessageReady(): void {
    this.deliver();
    if (!this.over && !this.reserve()) this.onNoMemory();
  }

  /** Delivers the messages that have arrived, until the reader pauses. */
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
    if (this.paused || this.over || this.reader.isBusy) return;
    this.acknowledge();
    if (this.remoteEnded) this.onDelivered();
  }

  #next(): Uint8Array | undefined {
    try {
      return this.reader.next();
    } catch (error) {
      this.onMalformed(StatusError.from(error));
      return undefined;
    }
  }
}
