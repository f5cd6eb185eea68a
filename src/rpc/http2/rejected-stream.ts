/**
 * The stream of a request that is not gRPC. It responds with an HTTP status and a text, but only
 * after the complete request has arrived. If the request breaks the HTTP/2 protocol before that,
 * the stream is reset with the protocol's error code.
 */
import { ErrorCode } from "../../http2/errors.js";
import { type ContentLength, Stream } from "../../http2/stream.js";
import type { Expiring } from "../open-calls.js";
import { HTTP_REJECTION } from "./headers.js";
import type { ServerStreamConnection } from "./server-stream.js";

/** The maximum time for the rest of the request, in milliseconds. */
const REQUEST_MS = 1_000;

/** Maximum bytes of the response's header block. */
const HEADERS_SIZE = 128;

export class RejectedStream extends Stream implements Expiring {
  index = -1;
  deadlineMonotonicMs = performance.now() + REQUEST_MS;
  protected readonly connection: ServerStreamConnection;
  readonly #httpStatus: string;
  readonly #body = Buffer.from(HTTP_REJECTION);
  #responding = false;
  #headersWritten = false;
  #written = 0;

  constructor(
    connection: ServerStreamConnection,
    id: number,
    httpStatus: string,
    contentLength: ContentLength | undefined,
  ) {
    super();
    this.id = id;
    this.connection = connection;
    this.contentLength = contentLength;
    this.sendWindow = connection.peer.initialWindow;
    this.#httpStatus = httpStatus;
  }

  /** @param endStream whether the complete request has arrived */
  open(endStream: boolean): void {
    this.remoteEnded = endStream;
    this.connection.deadlines.add(this);
    if (endStream) this.#respond();
  }

  /** The request's trailers have arrived. */
  protected override onTrailers(): void {
    this.#respond();
  }

  /** The rest of the request took too long, or the client does not read the response. */
  expire(): void {
    if (this.#responding) this.connection.reset(this, ErrorCode.CANCEL);
    else this.#respond();
  }

  #respond(): void {
    if (this.#responding) return;
    this.#responding = true;
    this.connection.deadlines.delete(this);
    this.deadlineMonotonicMs = performance.now() + this.connection.stallTime;
    this.connection.deadlines.add(this);
    this.connection.schedule(this);
  }

  protected get heldBytes(): number {
    return 0;
  }

  protected get hasUnsent(): boolean {
    return false;
  }

  protected onData(): void {
    if (this.remoteEnded) this.#respond();
  }

  onReset(): void {
    this.connection.deadlines.delete(this);
  }

  onLost(): void {
    this.connection.deadlines.delete(this);
  }

  onNoMemory(): void {
    this.connection.reset(this, ErrorCode.ENHANCE_YOUR_CALM);
    this.onReset();
  }

  /** Writes as much as the flow-control windows allow, and the rest when they have grown. */
  write(): void {
    if (!this.#responding) return;
    const { connection } = this;
    if (!this.#headersWritten) this.#writeHeaders();
    const left = this.#body.length - this.#written;
    const size = this.sendable(connection, left);
    if (size <= 0) {
      if (this.sendWindow > 0) connection.block(this);
      return;
    }
    this.beginData(connection, size, size === left);
    connection.writer.output.append(this.#body, this.#written, this.#written + size);
    this.#written += size;
    if (size === left) this.#close();
  }

  #writeHeaders(): void {
    this.#headersWritten = true;
    const { writer } = this.connection;
    const at = writer.beginHeaders(HEADERS_SIZE);
    writer.encoder.list(writer.output, `HTTP status ${this.#httpStatus}`, [
      { name: ":status", value: this.#httpStatus },
      { name: "content-type", value: "text/plain" },
    ]);
    writer.endHeaders(at, this.id, 0);
  }

  #close(): void {
    this.connection.deadlines.delete(this);
    if (this.remoteEnded) this.connection.release(this, "by the peer");
    else this.connection.reset(this, ErrorCode.NO_ERROR);
  }
}
