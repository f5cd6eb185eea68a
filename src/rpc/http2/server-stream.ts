/** A call at the service's end. It opens the request at the dispatcher, and writes the response. */

import { type Metadata, NO_METADATA } from "../../call/metadata.js";
import { Code, type StatusError } from "../../errors.js";
import type { Connection } from "../../http2/connection.js";
import { ErrorCode } from "../../http2/errors.js";
import { Flag } from "../../http2/frames.js";
import { headerOf, type ReceivedField } from "../../http2/header-fields.js";
import type { HeaderField } from "../../http2/static-table.js";
import type { ContentLength } from "../../http2/stream.js";
import { FINISHED, type UnfinishedBody } from "../../memory/memory-budget.js";
import type { CallResponder, IncomingListener, Status } from "../channel.js";
import type { Dispatcher } from "../dispatch.js";
import type { Deadlines, Expiring } from "../open-calls.js";
import { CONTENT_TYPE, GIVEN_UP, NO_MEMORY, status, toStatus } from "../status.js";
import {
  checkMetadata,
  type GrpcRequestHead,
  metadataOf,
  rejectionOf,
  sizeOfMetadata,
  statusMetadata,
  writeMetadata,
} from "./headers.js";
import { MessageStream } from "./message-stream.js";
import type { MessageEncoding } from "./messages.js";

/** The headers of every response, and the maximum bytes of their header block. */
const RESPONSE: readonly HeaderField[] = [
  { name: ":status", value: "200" },
  { name: "content-type", value: CONTENT_TYPE },
];
const RESPONSE_SIZE = 128;
const OK_TRAILERS: readonly HeaderField[] = [{ name: "grpc-status", value: "0" }];
const STATUS_SIZE = 64;

/** The parts of its connection that a stream uses. */
export type ServerStreamConnection = Connection & {
  readonly dispatcher: Dispatcher;
  /** Deadlines of streams that have ended and that the client does not read. */
  readonly deadlines: Deadlines;
  /** The address at the other end, without port. */
  readonly peerAddress: string;
  /** When the frames that are being read arrived, in milliseconds of `performance.now()`. */
  readonly arrived: number;
  /** How long a client may read nothing of a complete response, in milliseconds. */
  readonly stallTime: number;
};

/**
 * Unsent messages with more bytes than this are reserved at once. Fewer bytes are reserved only
 * when they could not be written in their turn.
 */
const MIN_RESERVED = 4_096;

export class ServerStream extends MessageStream implements CallResponder, UnfinishedBody {
  protected readonly connection: ServerStreamConnection;
  #endpoint: IncomingListener | undefined;
  #headers: Metadata | undefined;
  #status: Status | undefined;
  /** When to reset the stream if the client does not read the rest of the response. */
  #stall: Expiring | undefined;
  /** The peer has cancelled the call, or its connection is lost. */
  #gone = false;
  /**
   * The memory budget counts this stream's message as unfinished: memory is reserved for a part of
   * it.
   */
  #isUnfinished = false;
  /** END_STREAM came in a frame without data. */
  #endedEmpty = false;
  protected readonly endsWithMessage = false;

  constructor(
    connection: ServerStreamConnection,
    id: number,
    maxMessage: number,
    contentLength: ContentLength | undefined,
  ) {
    super(maxMessage);
    this.id = id;
    this.connection = connection;
    this.contentLength = contentLength;
    this.sendWindow = connection.peer.initialWindow;
  }

  protected get over(): boolean {
    return this.#status !== undefined || this.#gone;
  }

  // The request.

  /** Opens the call, or ends it when the request cannot be served. */
  open(head: GrpcRequestHead, fields: readonly ReceivedField[], endStream: boolean): void {
    this.remoteEnded = endStream;
    const rejection = rejectionOf(head, fields);
    if (rejection === undefined) this.#begin(head, fields);
    else this.#finish(rejection);
    // The dispatcher decides whether a request without a message is allowed.
    if (endStream) this.deliver();
  }

  #begin({ path, encoding, timeout }: GrpcRequestHead, fields: readonly ReceivedField[]): void {
    this.reader.encoding = encoding as MessageEncoding;
    if (encoding !== "identity" && accepts(fields, encoding)) this.encoding = encoding as MessageEncoding;
    const { arrived, dispatcher, peerAddress } = this.connection;
    const metadata = metadataOf(fields);
    this.reader.maxMessage = dispatcher.maxRequestOf(path, metadata, this.reader.maxMessage);
    const deadlineMonotonicMs = timeout === undefined ? undefined : arrived + Math.ceil(timeout);
    this.#endpoint = dispatcher.open({ path, metadata, deadlineMonotonicMs }, peerAddress, this, arrived);
    if (this.#gone) this.#endpoint.onCancel();
  }

  /** The request's trailers have arrived. gRPC requests have none, but HTTP requests may. */
  protected override onTrailers(): void {
    this.deliver();
  }

  protected override onData(buffer: Buffer, start: number, end: number): void {
    this.#endedEmpty = this.remoteEnded && start === end;
    super.onData(buffer, start, end);
    if (!this.reader.hasMore || this.reader.isBusy) this.#endUnfinished();
  }

  /**
   * The endpoint holds messages until it calls `resume`, which means that it has taken all of them,
   * or until the call ends.
   */
  protected onMessage(message: Uint8Array): void {
    this.#endUnfinished();
    this.kept += message.length;
    this.#endpoint?.onMessage(message);
  }

  // Memory. A message that arrives in one frame is never unfinished. Nor is one that waits for its
  // endpoint.

  override tryReserve(bytes: number): boolean {
    if (!this.paused) this.#isUnfinished = true;
    return super.tryReserve(bytes);
  }

  protected override get unfinished(): UnfinishedBody {
    return this.#isUnfinished ? this : FINISHED;
  }

  #endUnfinished(): void {
    if (!this.#isUnfinished) return;
    this.#isUnfinished = false;
    this.connection.memory.finished(this);
  }

  get freeable(): number {
    return this.reader.held;
  }

  giveUp(): void {
    this.#endUnfinished();
    this.reader.drop();
    this.#refuse(GIVEN_UP);
    this.reserve();
  }

  override releaseMemory(): void {
    this.#endUnfinished();
    super.releaseMemory();
  }

  onNoMemory(): void {
    this.#refuse(NO_MEMORY);
  }

  /** Notifies the endpoint in a microtask: it may be inside `send`, which must not call it back. */
  #refuse(ending: Status): void {
    this.dropUnsent();
    if (this.#gone || this.localEnded) return;
    this.#finish(ending);
    queueMicrotask(() => this.#endpoint?.onCancel());
  }

  protected onDelivered(): void {
    if (this.reader.hasMore) {
      this.#abort(status(Code.INTERNAL, "the request ends within a message"));
      return;
    }
    // A client that uses node:http2 half-closes before it cancels. The endpoint must not take that
    // for a complete stream.
    if (this.#endedEmpty) setImmediate(() => this.#endEndpoint());
    else this.#endEndpoint();
  }

  #endEndpoint(): void {
    if (!this.over) this.#endpoint?.onEnd();
  }

  protected onMalformed(error: StatusError): void {
    this.#abort(toStatus(error));
  }

  #abort(ending: Status): void {
    this.end(ending);
    this.#endpoint?.onCancel();
  }

  onReset(): void {
    this.#leave();
  }

  onLost(): void {
    this.#leave();
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    if (this.#stall !== undefined) this.connection.deadlines.delete(this.#stall);
    this.dropUnsent();
    this.#endpoint?.onCancel();
  }

  // The dispatcher's response.

  sendHeaders(metadata: Metadata): void {
    if (this.over || this.headersWritten || this.#headers !== undefined) return;
    checkMetadata(metadata);
    this.#headers = metadata;
    this.connection.schedule(this);
  }

  send(message: Uint8Array): boolean {
    if (this.over) return true;
    const more = this.enqueue(message);
    if (this.unsentReserved > MIN_RESERVED && !this.reserve()) this.onNoMemory();
    return more;
  }

  end(ending: Status): void {
    if (!this.over) this.#finish(sendable(ending));
  }

  #finish(ending: Status): void {
    this.#status = ending;
    this.ending = true;
    this.urgent = ending.code !== Code.OK;
    this.connection.schedule(this);
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.kept = 0;
    if (!this.paused) return;
    this.paused = false;
    queueMicrotask(() => this.deliver());
  }

  protected onDrain(): void {
    if (!this.over) this.#endpoint?.onDrain();
  }

  // Writing.

  override write(): void {
    super.write();
    if (this.over && !this.#gone && this.#stall === undefined && this.connection.streams.has(this.id))
      this.#watchReader();
  }

  /**
   * After the call has ended, lets its last messages wait for the client, as long as the client
   * reads.
   */
  #watchReader(): void {
    const { stallTime } = this.connection;
    const left = this.unsentSize;
    this.#stall = {
      deadlineMonotonicMs: performance.now() + stallTime,
      index: -1,
      expire: () => {
        if (this.unsentSize < left) this.#watchReader();
        else this.connection.reset(this, ErrorCode.CANCEL);
      },
    };
    this.connection.deadlines.add(this.#stall);
  }

  protected writeHeaders(connection: Connection): void {
    if (this.#headers === undefined && !this.hasUnsent) return;
    this.headersWritten = true;
    const metadata = this.#headers ?? NO_METADATA;
    const { writer } = connection;
    const at = writer.beginHeaders(RESPONSE_SIZE + sizeOfMetadata(metadata));
    writer.encoder.list(writer.output, "response", RESPONSE);
    if (this.encoding !== "identity") writer.encoder.field(writer.output, "grpc-encoding", this.encoding);
    writeMetadata(writer, metadata);
    writer.endHeaders(at, this.id, 0);
  }

  /**
   * Writes the trailers. When nothing was sent before, headers and trailers are one list
   * ("Trailers-Only").
   */
  protected writeEnd(connection: Connection): void {
    const { writer } = connection;
    const { encoder, output } = writer;
    const ending = this.#status as Status;
    const metadata = ending.code === Code.OK ? ending.trailers : statusMetadata(ending);
    const at = writer.beginHeaders(RESPONSE_SIZE + STATUS_SIZE + sizeOfMetadata(metadata));
    if (!this.headersWritten) encoder.list(output, "response", RESPONSE);
    if (ending.code === Code.OK) encoder.list(output, "ok", OK_TRAILERS);
    else encoder.list(output, `status ${ending.code}`, [{ name: "grpc-status", value: `${ending.code}` }]);
    writeMetadata(writer, metadata);
    writer.endHeaders(at, this.id, Flag.END_STREAM);
    this.#close();
  }

  /**
   * Closes the stream. When the peer has more to send, it may stop at NO_ERROR (RFC 9113, section
   * 8.1).
   */
  #close(): void {
    if (this.#stall !== undefined) this.connection.deadlines.delete(this.#stall);
    if (this.remoteEnded) this.connection.release(this, "by the peer");
    else this.connection.reset(this, ErrorCode.NO_ERROR);
  }
}

/** The status, without its trailers when these cannot be sent. */
function sendable(ending: Status): Status {
  if (ending.trailers.length === 0) return ending;
  try {
    checkMetadata(ending.trailers);
    return ending;
  } catch {
    return { ...ending, trailers: NO_METADATA };
  }
}

/** Whether the client accepts messages in an encoding (gRPC's compression.md). */
function accepts(fields: readonly ReceivedField[], encoding: string): boolean {
  const accepted = headerOf(fields, "grpc-accept-encoding") ?? "";
  return accepted.split(",").some((name) => name.trim() === encoding);
}
