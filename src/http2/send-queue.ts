/**
 * The streams of a connection that have something to write, in order. Once an event-loop turn each of them writes what the
 * flow-control windows allow into the connection's output, which is given to the socket as one write: so the HEADERS, DATA
 * and END_STREAM of a call, and those of all calls of the turn, travel together. While the peer reads slowly the streams
 * wait; a peer that does not read at all is cut off.
 */
import type { Duplex } from "node:stream";
import type { ConnectionMemory } from "../memory/memory-budget.js";
import type { OutputBuffer } from "./output.js";
import type { Stream } from "./stream.js";

/** Bytes that wait for the socket, above which no stream writes. */
const MAX_BUFFERED = 256 * 1024;
/** Bytes that wait for the socket, above which the peer is cut off: it has us answer, and does not read the answers. */
const MAX_UNREAD = 1024 * 1024;

export interface SendQueueOptions {
  readonly socket: Duplex;
  readonly memory: ConnectionMemory;
  /** What can be written now has been. */
  readonly onFlushed: () => void;
  /** The peer reads too little: more waits for it than is allowed. */
  readonly onOverflow: () => void;
}

export class SendQueue {
  readonly #options: SendQueueOptions;
  readonly #output: OutputBuffer;
  /** Streams that have something to write, in order. */
  #ready: Stream[] = [];
  /** Streams that wait for the connection's window, in order. */
  #blocked: Stream[] = [];
  #flushing = false;
  #closed = false;
  /** Bytes that the socket had not taken at the last flush, which are reserved. */
  #reserved = 0;

  constructor(output: OutputBuffer, options: SendQueueOptions) {
    this.#output = output;
    this.#options = options;
    options.socket.on("drain", this.#flush);
  }

  /** A stream has something to write. */
  add(stream: Stream): void {
    if (stream.queued) return;
    stream.queued = true;
    this.#ready.push(stream);
    this.requestFlush();
  }

  /** A stream waits for the connection's window. */
  block(stream: Stream): void {
    if (!this.#blocked.includes(stream)) this.#blocked.push(stream);
  }

  /** The connection's window has grown. */
  unblock(): void {
    const blocked = this.#blocked;
    this.#blocked = [];
    for (const stream of blocked) this.add(stream);
  }

  delete(stream: Stream): void {
    if (this.#blocked.includes(stream)) this.#blocked = this.#blocked.filter((other) => other !== stream);
    if (!stream.queued) return;
    this.#ready = this.#ready.filter((other) => other !== stream);
    stream.queued = false;
  }

  close(): void {
    this.#closed = true;
    this.#ready.length = 0;
  }

  /** Has everything written at the end of this event-loop turn. */
  requestFlush(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    if (this.#closed) return;
    while (this.#ready.length > 0 && this.#unread < MAX_BUFFERED) this.#writeReady();
    // They hold what they could not write.
    for (const waiting of this.#ready) if (!waiting.reserve()) waiting.onNoMemory();
    this.#output.flush(this.#options.socket);
    if (this.#unread > MAX_UNREAD || !this.#reserveUnread()) this.#options.onOverflow();
    else this.#options.onFlushed();
  };

  /** Reserves memory for what the socket has not taken; false where it does not fit. */
  #reserveUnread(): boolean {
    const { socket, memory } = this.#options;
    const unread = socket.writableLength;
    if (unread === this.#reserved) return true;
    if (!memory.tryResize(this.#reserved, unread)) return false;
    this.#reserved = unread;
    return true;
  }

  get #unread(): number {
    return this.#output.size + this.#options.socket.writableLength;
  }

  /** Lets each stream of the list write once, in order, until enough waits for the socket. */
  #writeReady(): void {
    const streams = this.#ready;
    this.#ready = [];
    for (let index = 0; index < streams.length; index++) {
      const stream = streams[index] as Stream;
      if (this.#unread >= MAX_BUFFERED) {
        this.#ready = [...streams.slice(index), ...this.#ready];
        break;
      }
      stream.queued = false;
      stream.write();
    }
    this.#output.flush(this.#options.socket);
  }
}
