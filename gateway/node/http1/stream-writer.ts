/**
 * Writes a response body part by part, as chunks (RFC 9112 §7.1) or up to the end of the
 * connection.
 */

import type { BodySink, BodyStream } from "../../http/body.js";
import { type HttpError, NO_MEMORY } from "../../http/errors.js";
import { type ClientSocket, MAX_TEXT } from "../connection.js";
import { GONE } from "../request-errors.js";
import { SlowReaderTimeout } from "../slow-reader.js";
import { fieldLines } from "./response-head.js";

export interface StreamWriterOptions {
  readonly body: BodyStream;
  /**
   * How the end of the body is marked; "none" for a response that has no body, whatever is written.
   */
  readonly framing: "chunks" | "close" | "none";
  /** How long the client may read nothing, in milliseconds; default 30 min. */
  readonly stallMs: number | undefined;
  isShort(): boolean;
  /** Whether the client takes trailers. Asked where there are some. */
  takesTrailers(): boolean;
  /** Sets the reservation for waiting data to this size. */
  tryResize(bytes: number): boolean;
  abort(reason: HttpError): void;
  /** Everything has been sent. */
  onEnd(): void;
}

export class StreamWriter implements BodySink {
  readonly #socket: ClientSocket;
  readonly #options: StreamWriterOptions;
  readonly #slowReader: SlowReaderTimeout;
  /** Whether written data waits for the end of the turn, to be sent together. */
  #isCorked = false;

  constructor(socket: ClientSocket, head: string, options: StreamWriterOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#slowReader = new SlowReaderTimeout(socket, options.stallMs, options.isShort);
    this.#cork();
    socket.write(head, "latin1");
  }

  open(): void {
    this.#options.body.open(this);
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#socket.destroyed) {
      this.#options.abort(GONE);
      return false;
    }
    if (chunk.length > 0 && this.#options.framing !== "none") this.#writeChunk(chunk);
    const more = !this.#socket.writableNeedDrain;
    if (!more) this.#slowReader.start();
    if (!this.#options.tryResize(this.#socket.writableLength)) {
      this.#options.abort(NO_MEMORY);
      this.#socket.destroy();
    }
    return more;
  }

  end(trailers: readonly string[] = []): void {
    if (this.#socket.destroyed) return;
    this.#slowReader.start();
    if (this.#options.framing === "chunks") {
      const sent = trailers.length > 0 && this.#options.takesTrailers() ? fieldLines(trailers) : "";
      this.#socket.write(`0\r\n${sent}\r\n`, "latin1");
    }
    this.#uncork();
    this.#socket.write("", (error) => {
      this.#slowReader.stop();
      if (!error) this.#options.onEnd();
    });
  }

  abort(): void {
    if (this.#socket.destroyed) return;
    this.#slowReader.start();
    this.#uncork();
    this.#socket.destroySoon();
  }

  /** The system accepts more. */
  onDrain(): void {
    this.#slowReader.stop();
    this.#options.tryResize(0);
    this.#options.body.onDrain();
  }

  /** The connection has closed. */
  close(): void {
    this.#slowReader.stop();
  }

  #writeChunk(chunk: string | Uint8Array): void {
    const socket = this.#socket;
    this.#cork();
    const content = typeof chunk === "string" && chunk.length > MAX_TEXT ? Buffer.from(chunk) : chunk;
    if (this.#options.framing === "close") return void socket.write(content);
    const isText = typeof content === "string";
    const size = (isText ? Buffer.byteLength(content) : content.length).toString(16);
    if (isText) return void socket.write(`${size}\r\n${content}\r\n`);
    socket.write(`${size}\r\n`, "latin1");
    socket.write(content);
    socket.write("\r\n", "latin1");
  }

  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#socket.cork();
    process.nextTick(() => this.#uncork());
  }

  #uncork(): void {
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.#socket.uncork();
    this.#options.tryResize(this.#socket.writableLength);
  }
}
