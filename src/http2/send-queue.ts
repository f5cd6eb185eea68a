/**
 * The streams of a connection that have something to write, in order. Once in each event-loop turn,
 * each of them writes what the flow-control windows allow into the connection's output. The output
 * is passed to the socket as one write. So the HEADERS, DATA and END_STREAM of all calls in the
 * turn are sent together. While the peer reads slowly, the streams wait. A peer that does not read
 * at all is disconnected.
 */
import type { Duplex } from "node:stream";
import type { ConnectionMemory } from "../memory/memory-budget.js";
import type { OutputBuffer } from "./output.js";
import type { Stream } from "./stream.js";

/** When more bytes than this wait for the socket, no stream writes. */
const MAX_BUFFERED = 256 * 1024;
/**
 * When more bytes than this wait for the socket, the peer is disconnected: it causes responses and
 * does not read them.
 */
const MAX_UNREAD = 1024 * 1024;

export interface SendQueueOptions {
  readonly socket: Duplex;
  readonly memory: ConnectionMemory;
  /** Everything that can be written now has been written. */
  readonly onFlushed: () => void;
  /** The peer reads too little: more data waits for it than is allowed. */
  readonly onOverflow: () => void;
}

export class SendQueue {
  readonly #options: SendQueueOptions;
  readonly #output: OutputBuffer;
  /** Streams that have something to write, in order. */
  #ready: Stream[] = [];
  /** Streams that wait for the connection's flow-control window, in order. */
  #blocked: Stream[] = [];
  #flushing = false;
  #closed = false;
  /** The reservation for bytes that the socket had not accepted at the last flush. */
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

  /** A stream waits for the connection's flow-control window. */
  block(stream: Stream): void {
    if (!this.#blocked.includes(stream)) this.#blocked.push(stream);
  }

  /** The connection's flow-control window has grown. */
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

  /** Makes the queue write everything at the end of this event-loop turn. */
  requestFlush(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    if (this.#closed) return;
    while (this.#ready.length > 0 && this.#unread < MAX_BUFFERED) this.#writeReady();
    // These streams hold the bytes that they could not write.
    for (const waiting of this.#ready) if (!waiting.reserve()) waiting.onNoMemory();
    this.#output.flush(this.#options.socket);
    if (this.#unread > MAX_UNREAD || !this.#reserveUnread()) this.#options.onOverflow();
    else this.#options.onFlushed();
  };

  /**
   * Reserves memory for bytes that the socket has not accepted.
   * @returns false when they do not fit
   */
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

  /** Lets each stream of the list write once, in order, until enough bytes wait for the socket. */
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
