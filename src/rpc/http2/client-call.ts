/** A call at the caller's end: the stream that carries it, from waiting for a connection to the end. */
import { Code, type StatusError } from "../../errors.js";
import { ErrorCode } from "../../http2/errors.js";
import { Flag } from "../../http2/frames.js";
import type { HeaderList } from "../../http2/hpack-decoder.js";
import type { ReceivedField } from "../../http2/received-field.js";
import { Stream } from "../../http2/stream.js";
import type { Call, CallListener, CallStart, Status } from "../channel.js";
import type { Deadlines, Expiring } from "../deadlines.js";
import { isGrpc, notGrpc, statusOfHttp, statusOfReset } from "../http-to-status.js";
import type { Metadata } from "../metadata.js";
import {
  cancelled,
  connectionLost,
  deadlineExceeded,
  protocolError,
  status,
  toStatus,
  unreachable,
} from "../status.js";
import { formatTimeout } from "../timeout.js";
import type { ClientConnection } from "./client-connection.js";
import { flawOf, headerOf, metadataOf, roomOf, statusOf, writeMetadata } from "./headers.js";
import { isEncoding } from "./messages.js";

const TIMEOUT_ROOM = 64;

const NOTHING = new Uint8Array(0);

/** What the calls of a channel have in common. */
export interface ChannelCalls {
  /** Those that have no stream yet, in order. */
  readonly waiting: ClientCall[];
  readonly deadlines: Deadlines;
  /** Most bytes of a message received. */
  readonly maxMessage: number;
}

export class ClientCall extends Stream implements Call, Expiring {
  readonly deadline: number;
  index = -1;
  readonly #start: CallStart;
  readonly #listener: CallListener;
  readonly #channel: ChannelCalls;
  #connection: ClientConnection | undefined;
  /** Of the response; 0 until its headers have come. */
  #httpStatus = 0;
  /** From the trailers. */
  #status: Status | undefined;
  #over = false;
  protected readonly endsWithMessage = true;

  constructor(start: CallStart, listener: CallListener, channel: ChannelCalls) {
    super(channel.maxMessage);
    this.#start = start;
    this.#listener = listener;
    this.#channel = channel;
    this.deadline = start.deadline ?? Number.POSITIVE_INFINITY;
    if (start.deadline !== undefined) channel.deadlines.add(this);
  }

  protected get connection(): ClientConnection | undefined {
    return this.#connection;
  }

  get metadata(): Metadata {
    return this.#start.metadata;
  }

  get over(): boolean {
    return this.#over;
  }

  /** Takes the place of a new stream on a connection. */
  attach(connection: ClientConnection, id: number): void {
    this.id = id;
    this.#connection = connection;
    this.sendWindow = connection.peer.initialWindow;
    connection.schedule(this);
  }

  // What the caller does.

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

  /** Ends the call from this side; the listener is told a little later. */
  fail(how: Status): void {
    if (this.#leave()) queueMicrotask(() => this.#listener.onEnd(how));
  }

  expire(): void {
    this.#finish(deadlineExceeded());
  }

  #finish(how: Status): void {
    if (this.#leave()) this.#listener.onEnd(how);
  }

  /** False where the call has ended already. */
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

  // What is written.

  protected writeHeaders(connection: ClientConnection): void {
    this.headersWritten = true;
    const { path, metadata } = this.#start;
    const request = connection.request(path);
    const at = connection.beginHeaders(request.room + roomOf(metadata) + TIMEOUT_ROOM);
    const { encoder, output } = connection;
    encoder.list(output, path, request.fields);
    if (this.deadline !== Number.POSITIVE_INFINITY) {
      encoder.field(output, "grpc-timeout", formatTimeout(this.deadline - Date.now()));
    }
    writeMetadata(encoder, output, metadata);
    this.localEnded = this.ending && !this.hasUnsent;
    connection.endHeaders(at, this.id, this.localEnded ? Flag.END_STREAM : 0);
  }

  protected writeEnd(connection: ClientConnection): void {
    connection.writeData(this.id, Flag.END_STREAM, NOTHING);
  }

  protected onDrain(): void {
    if (!this.#over) this.#listener.onDrain?.();
  }

  // What comes.

  onHeaders({ fields, tooLarge }: HeaderList, endStream: boolean): void {
    if (this.#over) return;
    if (tooLarge) {
      this.#finish(protocolError(Code.RESOURCE_EXHAUSTED, "the headers of the response are too large"));
      return;
    }
    const trailers = this.#httpStatus !== 0;
    if ((trailers && !endStream) || flawOf(fields, trailers ? "trailers" : "response") !== undefined) {
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
      // An interim response (RFC 9113, section 8.1); the real one is to come.
      if (endStream) this.#connection?.streamError(this, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    this.#httpStatus = httpStatus;
    if (endStream) {
      this.#onTrailers(fields);
      return;
    }
    const refused = refusal(httpStatus, fields);
    if (refused !== undefined) {
      this.#finish(refused);
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
    const how = this.#status ?? statusOf([], this.#httpStatus);
    const cut = how.code === Code.OK && this.reader.hasMore;
    this.#finish(cut ? protocolError(Code.INTERNAL, "the response ends within a message") : how);
  }

  protected onBroken(error: StatusError): void {
    this.#finish({ ...toStatus(error), protocolError: true });
  }

  /** What is sent has been reserved by whoever received it. */
  protected override get unsentReserved(): number {
    return 0;
  }

  onNoMemory(): void {
    this.#finish(status(Code.UNAVAILABLE, "there is no memory for the answer now; try again"));
  }

  onReset(errorCode: number): void {
    // All has come; the peer only has no use for what else would be sent.
    if (this.remoteEnded && errorCode === ErrorCode.NO_ERROR) return;
    this.#finish(statusOfReset(errorCode, this.deadline));
  }

  /** The peer goes away, and has not seen this call. */
  onUnseen(): void {
    this.#finish(unreachable());
  }

  onLost(): void {
    if (this.#status !== undefined) return;
    if (this.headersWritten) this.#finish(connectionLost());
    else this.onUnseen();
  }
}

/** How a call ends whose response is none of gRPC's. */
function refusal(httpStatus: number, fields: readonly ReceivedField[]): Status | undefined {
  if (httpStatus !== 200) return statusOfHttp(httpStatus);
  const type = headerOf(fields, "content-type");
  return isGrpc(type) ? undefined : protocolError(Code.UNKNOWN, notGrpc(type));
}
