/** A call at the caller's end: a stream that may first wait for a connection. */

import { formatTimeout, type Metadata } from "../../call/metadata.js";
import { Code, type StatusError } from "../../errors.js";
import type { Connection } from "../../http2/connection.js";
import { ErrorCode } from "../../http2/errors.js";
import { Flag } from "../../http2/frames.js";
import { type HeaderList, headerOf, isMalformed, type ReceivedField } from "../../http2/header-fields.js";
import { type CallListener, type CallStart, type OutgoingCall, type Status, sentMetadata } from "../channel.js";
import type { Deadlines, Expiring } from "../open-calls.js";
import {
  cancelled,
  connectionLost,
  deadlineExceeded,
  isGrpc,
  notGrpc,
  protocolError,
  responseTooLarge,
  status,
  statusOfHttp,
  statusOfReset,
  toStatus,
  unreachable,
} from "../status.js";
import { MessageTooLargeError } from "./decompression.js";
import {
  MAX_BINARY_VALUES,
  memoryOf,
  metadataOf,
  type PathHeaders,
  sizeOfMetadata,
  statusOf,
  writeMetadata,
} from "./headers.js";
import { MessageStream } from "./message-stream.js";
import { isEncoding } from "./messages.js";

/** Maximum bytes of the grpc-timeout field in a header block. */
const TIMEOUT_SIZE = 64;

/** What the calls of a channel share. */
export interface ChannelCalls {
  /** The calls that have no stream yet, in order. */
  readonly waiting: ClientCall[];
  readonly deadlines: Deadlines;
  readonly headersOf: (path: string) => PathHeaders;
  /** Maximum bytes of a message that is received. */
  readonly maxMessage: number;
  /** Maximum bytes of a response's headers, and of its trailers. */
  readonly maxHeaders: number;
}

export class ClientCall extends MessageStream implements OutgoingCall, Expiring {
  readonly deadlineMonotonicMs: number;
  index = -1;
  readonly metadata: Metadata;
  readonly #start: CallStart;
  readonly #listener: CallListener;
  readonly #channel: ChannelCalls;
  #connection: Connection | undefined;
  /** The HTTP status of the response; 0 until its headers have arrived. */
  #httpStatus = 0;
  /** The status in the trailers. */
  #status: Status | undefined;
  #over = false;
  protected readonly endsWithMessage = true;

  constructor(start: CallStart, listener: CallListener, channel: ChannelCalls) {
    super(channel.maxMessage);
    this.metadata = sentMetadata(start);
    this.#start = start;
    this.#listener = listener;
    this.#channel = channel;
    this.deadlineMonotonicMs = start.deadlineMonotonicMs ?? Number.POSITIVE_INFINITY;
    if (start.deadlineMonotonicMs !== undefined) channel.deadlines.add(this);
  }

  protected get connection(): Connection | undefined {
    return this.#connection;
  }

  get over(): boolean {
    return this.#over;
  }

  attach(connection: Connection, id: number): void {
    this.id = id;
    this.#connection = connection;
    this.sendWindow = connection.peer.initialWindow;
    connection.schedule(this);
  }

  // The caller.

  send(message: Uint8Array): boolean {
    return this.#over || this.ending ? true : this.enqueue(message);
  }

  end(): void {
    if (this.#over || this.ending) return;
    this.ending = true;
    this.#connection?.schedule(this);
  }

  cancel(): void {
    this.fail(cancelled());
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    if (!this.paused) return;
    this.paused = false;
    queueMicrotask(() => this.deliver());
  }

  /** Ends the call from this end. The listener is notified in a microtask. */
  fail(ending: Status): void {
    if (this.#leave()) queueMicrotask(() => this.#listener.onEnd(ending));
  }

  expire(): void {
    this.#finish(deadlineExceeded());
  }

  #finish(ending: Status): void {
    if (this.#leave()) this.#listener.onEnd(ending);
  }

  /** @returns false when the call has already ended */
  #leave(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.dropUnsent();
    this.#channel.deadlines.delete(this);
    if (this.#connection === undefined) this.#stopWaiting();
    else if (!this.headersWritten) this.#connection.release(this, "by us");
    else if (this.remoteEnded && this.localEnded) this.#connection.release(this, "by the peer");
    else this.#connection.reset(this, this.remoteEnded ? ErrorCode.NO_ERROR : ErrorCode.CANCEL);
    return true;
  }

  #stopWaiting(): void {
    const { waiting } = this.#channel;
    const at = waiting.indexOf(this);
    if (at !== -1) waiting.splice(at, 1);
  }

  // Writing.

  protected writeHeaders({ writer }: Connection): void {
    this.headersWritten = true;
    const { path } = this.#start;
    const headers = this.#channel.headersOf(path);
    const at = writer.beginHeaders(headers.size + sizeOfMetadata(this.metadata) + TIMEOUT_SIZE);
    const { encoder, output } = writer;
    encoder.list(output, path, headers.fields);
    if (this.deadlineMonotonicMs !== Number.POSITIVE_INFINITY) {
      encoder.field(output, "grpc-timeout", formatTimeout(this.deadlineMonotonicMs - performance.now()));
    }
    writeMetadata(writer, this.metadata);
    this.localEnded = this.ending && !this.hasUnsent;
    writer.endHeaders(at, this.id, this.localEnded ? Flag.END_STREAM : 0);
  }

  protected writeEnd({ writer }: Connection): void {
    writer.beginData(this.id, Flag.END_STREAM, 0);
  }

  protected onDrain(): void {
    if (!this.#over) this.#listener.onDrain?.();
  }

  // The response.

  onHeaders(list: HeaderList, endStream: boolean): void {
    if (this.#over) return;
    const { fields } = list;
    if (memoryOf(list) === undefined) {
      const { maxHeaders } = this.#channel;
      const limits = `${maxHeaders} bytes, or ${MAX_BINARY_VALUES} binary values`;
      this.#finish(responseTooLarge(`its metadata is larger than ${limits}`));
      return;
    }
    const trailers = this.#httpStatus !== 0;
    if ((trailers && !endStream) || isMalformed(fields, trailers ? "trailers" : "response")) {
      this.#connection?.streamError(this, ErrorCode.PROTOCOL_ERROR);
    } else if (trailers) {
      this.#onTrailers(fields);
    } else {
      this.#onResponse(fields, endStream);
    }
  }

  #onResponse(fields: readonly ReceivedField[], endStream: boolean): void {
    const httpStatus = Number(headerOf(fields, ":status"));
    if (httpStatus >= 100 && httpStatus < 200) {
      // An interim response (RFC 9113, section 8.1). The final response follows.
      if (endStream) this.#connection?.streamError(this, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    this.#httpStatus = httpStatus;
    if (endStream) {
      this.#onTrailers(fields);
      return;
    }
    const rejection = rejectionOf(httpStatus, fields);
    if (rejection !== undefined) {
      this.#finish(rejection);
      return;
    }
    const encoding = headerOf(fields, "grpc-encoding");
    if (encoding !== undefined) {
      if (isEncoding(encoding)) this.reader.encoding = encoding;
      else
        this.#finish(protocolError(Code.INTERNAL, `the service compresses by ${encoding}, which it was not offered`));
    }
    if (!this.#over) this.#listener.onHeaders?.(metadataOf(fields));
  }

  #onTrailers(fields: readonly ReceivedField[]): void {
    this.remoteEnded = true;
    this.#status = statusOf(fields, this.#httpStatus);
    this.deliver();
  }

  protected onMessage(message: Uint8Array): void {
    this.#listener.onMessage(message);
  }

  protected onDelivered(): void {
    const ending = this.#status ?? statusOf([], this.#httpStatus);
    const truncated = ending.code === Code.OK && this.reader.hasMore;
    this.#finish(truncated ? protocolError(Code.INTERNAL, "the response ends within a message") : ending);
  }

  protected onMalformed(error: StatusError): void {
    if (error instanceof MessageTooLargeError) this.#finish(responseTooLarge(error.message));
    // Too many messages wait for decompression.
    else if (error.code === Code.RESOURCE_EXHAUSTED) this.onNoMemory();
    else this.#finish({ ...toStatus(error), protocolError: true });
  }

  /** Always 0: the stream on which a message arrived has reserved its bytes already. */
  protected override get unsentReserved(): number {
    return 0;
  }

  onNoMemory(): void {
    this.#finish(status(Code.UNAVAILABLE, "there is no memory for the answer now; try again"));
  }

  onReset(errorCode: number): void {
    // The response is complete. The peer only does not need the rest of the request.
    if (this.remoteEnded && errorCode === ErrorCode.NO_ERROR) return;
    this.#finish(statusOfReset(errorCode, this.deadlineMonotonicMs));
  }

  /** The peer has not processed this call and will not (GOAWAY). */
  onUnseen(): void {
    this.#finish(unreachable());
  }

  onLost(): void {
    if (this.#status !== undefined) return;
    if (this.headersWritten) this.#finish(connectionLost());
    else this.onUnseen();
  }
}

/** The status of a call when its response is not gRPC; undefined for a gRPC response. */
function rejectionOf(httpStatus: number, fields: readonly ReceivedField[]): Status | undefined {
  if (httpStatus !== 200) return statusOfHttp(httpStatus);
  const type = headerOf(fields, "content-type");
  return isGrpc(type) ? undefined : protocolError(Code.UNKNOWN, notGrpc(type));
}
