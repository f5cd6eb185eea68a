/** A connection at the service's end. Each request on it is a call. */
import type { Duplex } from "node:stream";
import { Code } from "../../errors.js";
import { ErrorCode } from "../../http2/errors.js";
import { type HeaderList, isMalformed } from "../../http2/header-fields.js";
import { ServerConnection } from "../../http2/server-connection.js";
import { ContentLength } from "../../http2/stream.js";
import type { ConnectionMemory } from "../../memory/memory-budget.js";
import type { Dispatcher } from "../dispatch.js";
import { Deadlines } from "../open-calls.js";
import { status } from "../status.js";
import { SERVER_KEEPALIVE, type ServerLimits } from "../transport.js";
import { HEADER_NAMES, httpRejectionOf, MAX_BINARY_VALUES, memoryOf, readHead } from "./headers.js";
import { RejectedStream } from "./rejected-stream.js";
import { ServerStream } from "./server-stream.js";

/** Times in milliseconds. */
export interface Times {
  /** The age at which a connection is drained. */
  readonly maxAge: number;
  /** How long a client may read nothing of a complete response before its stream is reset. */
  readonly stallTime: number;
  /** How often a stream is checked while its messages wait for the client to read. */
  readonly stallCheck: number;
}

export class GrpcServerConnection extends ServerConnection {
  readonly dispatcher: Dispatcher;
  readonly deadlines = new Deadlines();
  readonly peerAddress: string;
  readonly stallTime: number;
  readonly #limits: ServerLimits;

  /**
   * @param peerAddress the address of the other end, without port
   * @param memory the memory account of this connection, which the connection closes
   */
  constructor(
    socket: Duplex,
    peerAddress: string,
    dispatcher: Dispatcher,
    limits: ServerLimits,
    { maxAge, stallTime, stallCheck }: Times,
    memory: ConnectionMemory,
  ) {
    const keepAlive = { ...SERVER_KEEPALIVE, idle: true };
    super(socket, { names: HEADER_NAMES, memory, limits, keepAlive, stallCheck, maxAge });
    this.dispatcher = dispatcher;
    this.#limits = limits;
    this.peerAddress = peerAddress;
    this.stallTime = stallTime;
  }

  protected openStream(streamId: number, list: HeaderList, endStream: boolean): void {
    const { fields } = list;
    const headBytes = memoryOf(list);
    if (headBytes === undefined) {
      this.#openTooLarge(streamId, endStream);
      return;
    }
    const head = readHead(fields);
    const length = head.contentLength === undefined ? undefined : new ContentLength(head.contentLength);
    if (isMalformed(fields, "request") || length?.receive(0, endStream) === false) {
      this.resetNew(streamId, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    const httpStatus = httpRejectionOf(head);
    if (httpStatus !== undefined) {
      const stream = new RejectedStream(this, streamId, httpStatus, length);
      this.streams.add(stream);
      if (stream.reserve()) stream.open(endStream);
      else stream.onNoMemory();
      return;
    }
    const stream = new ServerStream(this, streamId, this.#limits.maxBody, length);
    stream.headBytes = headBytes;
    this.streams.add(stream);
    if (stream.reserve()) stream.open(head, fields, endStream);
    else stream.onNoMemory();
  }

  /** Responds with a status to a request when its header list was too large and was dropped. */
  #openTooLarge(streamId: number, endStream: boolean): void {
    const stream = new ServerStream(this, streamId, this.#limits.maxBody, undefined);
    this.streams.add(stream);
    stream.remoteEnded = endStream;
    const message = `the metadata is larger than ${this.#limits.maxHeaders} bytes, or ${MAX_BINARY_VALUES} binary values`;
    stream.end(status(Code.RESOURCE_EXHAUSTED, message));
  }

  protected override onClosed(): void {
    super.onClosed();
    this.deadlines.close();
  }
}
