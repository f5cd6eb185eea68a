/** A call at the service's end: takes the request to the dispatcher, and writes what it answers. */
import { Code, type StatusError } from "../../errors.js";
import type { Connection } from "../../http2/connection.js";
import { ErrorCode } from "../../http2/errors.js";
import { Flag } from "../../http2/frames.js";
import type { HeaderList } from "../../http2/hpack-decoder.js";
import { Kind, type ReceivedField } from "../../http2/received-field.js";
import type { Field } from "../../http2/static-table.js";
import { Stream } from "../../http2/stream.js";
import type { Status } from "../channel.js";
import type { Expiring } from "../deadlines.js";
import { CONTENT_TYPE, isGrpc } from "../http-to-status.js";
import { type Metadata, NO_METADATA } from "../metadata.js";
import type { IncomingListener, Reply } from "../server-call.js";
import { deadlineExceeded, NO_MEMORY, status, toStatus } from "../status.js";
import { parseTimeout } from "../timeout.js";
import {
  checkMetadata,
  flawOf,
  headerOf,
  malformedBinary,
  metadataOf,
  roomOf,
  statusMetadata,
  writeMetadata,
} from "./headers.js";
import { ACCEPTED_ENCODINGS, type Encoding, isEncoding } from "./messages.js";
import type { ServerConnection } from "./server-connection.js";

/** The headers of every response, and what they take of a block. */
const RESPONSE: readonly Field[] = [
  { name: ":status", value: "200" },
  { name: "content-type", value: CONTENT_TYPE },
];
const RESPONSE_ROOM = 128;
const OK_TRAILERS: readonly Field[] = [{ name: "grpc-status", value: "0" }];
const STATUS_ROOM = 64;

/** Bytes of messages are reserved as they are sent; fewer only when they could not be written in their turn. */
const MIN_RESERVED = 4_096;

/** How long the rest of a request that will be refused may take, in milliseconds: first it is checked as HTTP. */
const REFUSAL_MS = 1_000;

/** What is answered to requests that are none of gRPC's. */
interface Refusal {
  readonly httpStatus: string;
  readonly text: string;
}

export class ServerStream extends Stream implements Reply {
  readonly #connection: ServerConnection;
  #endpoint: IncomingListener | undefined;
  #headers: Metadata | undefined;
  #status: Status | undefined;
  #refusal: Refusal | undefined;
  /** The refusal waits for the rest of the request, until then at most. */
  #rest: Expiring | undefined;
  #textWritten = 0;
  /** When to give up a peer that does not read the end. */
  #stall: Expiring | undefined;
  /** The peer has cancelled or is gone. */
  #gone = false;
  /** By content-length, which gRPC does not need and HTTP has checked. */
  #expected: number | undefined;
  #received = 0;
  /** END_STREAM came by itself. */
  #endedEmpty = false;
  protected readonly endsWithMessage = false;

  constructor(connection: ServerConnection, id: number, maxMessage: number) {
    super(maxMessage);
    this.id = id;
    this.#connection = connection;
    this.sendWindow = connection.peer.initialWindow;
  }

  protected get connection(): Connection {
    return this.#connection;
  }

  /** Nothing more is for the endpoint. */
  protected get over(): boolean {
    return this.#status !== undefined || this.#gone || this.#refusal !== undefined;
  }

  // What comes.

  open({ fields, tooLarge }: HeaderList, endStream: boolean): void {
    this.remoteEnded = endStream;
    const { maxHeaders } = this.#connection.limits;
    if (tooLarge) {
      this.end(status(Code.RESOURCE_EXHAUSTED, `the metadata is larger than ${maxHeaders} bytes`));
      return;
    }
    if (flawOf(fields, "request") !== undefined) {
      this.#connection.streamError(this, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    const head = headOf(fields);
    if (!this.#fitsLength(head.contentLength, endStream)) return;
    const refusal = refusalOf(head);
    if (refusal !== undefined) {
      this.#refuse(refusal);
      return;
    }
    this.#begin(head, fields);
    // A request without a message is for the dispatcher to judge.
    if (endStream) this.deliver();
  }

  #begin(head: Head, fields: readonly ReceivedField[]): void {
    const { path, timeout: asked, encoding = "identity" } = head;
    if (!isEncoding(encoding)) {
      const trailers: Metadata = [["grpc-accept-encoding", ACCEPTED_ENCODINGS]];
      const message = `messages compressed by ${encoding} are not read; ${ACCEPTED_ENCODINGS} are`;
      this.#finish({ ...status(Code.UNIMPLEMENTED, message), trailers });
      return;
    }
    this.reader.encoding = encoding;
    this.#answerBy(encoding, fields);
    const time = asked === undefined ? undefined : parseTimeout(asked);
    if (asked !== undefined && time === undefined) {
      this.end(status(Code.INTERNAL, "grpc-timeout is malformed"));
      return;
    }
    // grpc-go ends both like this too, before the endpoint is called.
    if (time === 0) {
      this.end(deadlineExceeded());
      return;
    }
    const malformed = malformedBinary(fields);
    if (malformed !== undefined) {
      this.end(status(Code.INTERNAL, `the metadata "${malformed}" is not base64`));
      return;
    }
    const { arrived, dispatcher, peerAddress } = this.#connection;
    const deadline = time === undefined ? undefined : arrived + Math.ceil(time);
    this.#endpoint = dispatcher.open({ path, metadata: metadataOf(fields), deadline }, peerAddress, this, arrived);
    if (this.#gone) this.#endpoint.onCancel();
  }

  /** Messages go out as they come in, where the client takes them so (gRPC's compression.md). */
  #answerBy(encoding: Encoding, fields: readonly ReceivedField[]): void {
    if (encoding === "identity") return;
    const accepted = headerOf(fields, "grpc-accept-encoding") ?? "";
    if (accepted.split(/\s*,\s*/).includes(encoding)) this.encoding = encoding;
  }

  /** Once the whole request has come, so that one that breaks the protocol hears of that, whatever else is wrong. */
  #refuse(refusal: Refusal): void {
    this.#refusal = refusal;
    this.#rest = { deadline: Date.now() + REFUSAL_MS, index: -1, expire: () => this.#answerRefused() };
    if (this.remoteEnded) this.#answerRefused();
    else this.#connection.deadlines.add(this.#rest);
  }

  #answerRefused(): void {
    if (this.#rest === undefined) return;
    this.#connection.deadlines.delete(this.#rest);
    this.#rest = undefined;
    this.#connection.schedule(this);
  }

  /** Trailers of a request: gRPC has none, HTTP may. */
  onTrailers({ fields, tooLarge }: HeaderList, endStream: boolean): void {
    if (!endStream || tooLarge || flawOf(fields, "trailers") !== undefined) {
      this.#connection.streamError(this, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    this.remoteEnded = true;
    this.deliver();
    this.#answerRefused();
  }

  override receive(size: number, buffer: Buffer, start: number, end: number, endStream: boolean): void {
    this.#received += end - start;
    this.#endedEmpty = endStream && start === end;
    const wrong = this.#received > (this.#expected ?? this.#received) || (endStream && !this.#isWhole);
    if (wrong) {
      this.#connection.streamError(this, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    super.receive(size, buffer, start, end, endStream);
    if (endStream) this.#answerRefused();
  }

  get #isWhole(): boolean {
    return this.#expected === undefined || this.#received === this.#expected;
  }

  /** Section 8.1.1: a content-length that does not fit makes the request malformed. */
  #fitsLength(length: string | undefined, endStream: boolean): boolean {
    if (length !== undefined) this.#expected = /^\d{1,15}$/.test(length) ? Number(length) : -1;
    if (length === undefined || (this.#expected !== -1 && !(endStream && !this.#isWhole))) return true;
    this.#connection.streamError(this, ErrorCode.PROTOCOL_ERROR);
    return false;
  }

  /** The endpoint keeps a message until it resumes, which says that it has taken all, or until the call ends. */
  protected onMessage(message: Uint8Array): void {
    this.kept += message.length;
    this.#endpoint?.onMessage(message);
  }

  /** The endpoint is told a little later: it may be about to send, and may not expect to be called back. */
  onNoMemory(): void {
    this.dropUnsent();
    if (this.#gone || this.localEnded) return;
    this.#finish(NO_MEMORY);
    queueMicrotask(() => this.#endpoint?.onCancel());
  }

  protected onDelivered(): void {
    if (this.reader.hasMore) {
      this.#abort(status(Code.INTERNAL, "the request ends within a message"));
      return;
    }
    // A client on node:http2 that cancels half-closes first. An endpoint must not take that for the whole stream.
    if (this.#endedEmpty) setImmediate(() => this.#endEndpoint());
    else this.#endEndpoint();
  }

  #endEndpoint(): void {
    if (!this.over) this.#endpoint?.onEnd();
  }

  protected onBroken(error: StatusError): void {
    this.#abort(toStatus(error));
  }

  #abort(how: Status): void {
    this.end(how);
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
    if (this.#stall !== undefined) this.#connection.deadlines.delete(this.#stall);
    if (this.#rest !== undefined) this.#connection.deadlines.delete(this.#rest);
    this.dropUnsent();
    this.#endpoint?.onCancel();
  }

  // What the dispatcher answers.

  sendHeaders(metadata: Metadata): void {
    if (this.over || this.headersWritten || this.#headers !== undefined) return;
    checkMetadata(metadata);
    this.#headers = metadata;
    this.#connection.schedule(this);
  }

  send(message: Uint8Array): boolean {
    if (this.over) return true;
    const more = this.enqueue(message);
    if (this.unsentReserved > MIN_RESERVED && !this.reserve()) this.onNoMemory();
    return more;
  }

  end(how: Status): void {
    if (!this.over) this.#finish(sendable(how));
  }

  #finish(how: Status): void {
    this.#status = how;
    this.ending = true;
    this.urgent = how.code !== Code.OK;
    this.#connection.schedule(this);
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

  // What is written.

  override write(): void {
    if (this.#rest !== undefined) return;
    if (this.#refusal !== undefined) this.#writeRefusal(this.#refusal);
    else super.write();
    if (this.over && !this.#gone && this.#stall === undefined && this.#connection.streams.has(this.id)) this.#watch();
  }

  /** The call is over, and what is left waits for the peer to read: as long as the peer goes on reading. */
  #watch(): void {
    const { stallTime } = this.#connection.times;
    const left = this.unsentSize;
    this.#stall = {
      deadline: Date.now() + stallTime,
      index: -1,
      expire: () => {
        if (this.unsentSize < left) this.#watch();
        else this.#connection.reset(this, ErrorCode.CANCEL);
      },
    };
    this.#connection.deadlines.add(this.#stall);
  }

  protected writeHeaders(connection: Connection): void {
    if (this.#headers === undefined && !this.hasUnsent) return;
    this.headersWritten = true;
    const metadata = this.#headers ?? NO_METADATA;
    const at = connection.beginHeaders(RESPONSE_ROOM + roomOf(metadata));
    connection.encoder.list(connection.output, "response", RESPONSE);
    if (this.encoding !== "identity") connection.encoder.field(connection.output, "grpc-encoding", this.encoding);
    writeMetadata(connection.encoder, connection.output, metadata);
    connection.endHeaders(at, this.id, 0);
  }

  /** Trailers; or all in one where nothing went before ("Trailers-Only"). */
  protected writeEnd(connection: Connection): void {
    const how = this.#status as Status;
    const metadata = how.code === Code.OK ? how.trailers : statusMetadata(how);
    const at = connection.beginHeaders(RESPONSE_ROOM + STATUS_ROOM + roomOf(metadata));
    const { encoder, output } = connection;
    if (!this.headersWritten) encoder.list(output, "response", RESPONSE);
    if (how.code === Code.OK) encoder.list(output, "ok", OK_TRAILERS);
    else encoder.list(output, `status ${how.code}`, [{ name: "grpc-status", value: `${how.code}` }]);
    writeMetadata(encoder, output, metadata);
    connection.endHeaders(at, this.id, Flag.END_STREAM);
    this.#close();
  }

  #writeRefusal({ httpStatus, text }: Refusal): void {
    const body = Buffer.from(text);
    if (!this.headersWritten) {
      this.headersWritten = true;
      const at = this.#connection.beginHeaders(STATUS_ROOM + RESPONSE_ROOM);
      const { encoder, output } = this.#connection;
      encoder.list(output, `HTTP status ${httpStatus}`, [
        { name: ":status", value: httpStatus },
        { name: "content-type", value: "text/plain" },
      ]);
      this.#connection.endHeaders(at, this.id, 0);
    }
    this.#writeText(body);
  }

  /** As far as the windows allow; the rest when they do. */
  #writeText(body: Buffer): void {
    const rest = body.subarray(this.#textWritten);
    const size = Math.min(rest.length, this.sendWindow, this.#connection.sendWindow);
    if (size <= 0) {
      if (this.sendWindow > 0) this.#connection.starve(this);
      return;
    }
    this.#connection.writeData(this.id, size === rest.length ? Flag.END_STREAM : 0, rest.subarray(0, size));
    this.sendWindow -= size;
    this.#textWritten += size;
    if (size === rest.length) this.#close();
  }

  /** A peer that has more to send need not (RFC 9113, section 8.1). */
  #close(): void {
    if (this.#stall !== undefined) this.#connection.deadlines.delete(this.#stall);
    if (this.remoteEnded) this.#connection.release(this, "by the peer");
    else this.#connection.reset(this, ErrorCode.NO_ERROR);
  }
}

/** The headers of a request that are the protocol's. */
interface Head {
  method: string;
  path: string;
  contentType: string | undefined;
  contentLength: string | undefined;
  encoding: string | undefined;
  timeout: string | undefined;
}

function headOf(fields: readonly ReceivedField[]): Head {
  const head: Head = {
    method: "",
    path: "",
    contentType: undefined,
    contentLength: undefined,
    encoding: undefined,
    timeout: undefined,
  };
  for (const { kind, value } of fields) {
    if (kind === Kind.METHOD) head.method = value;
    else if (kind === Kind.PATH) head.path = value;
    else if (kind === Kind.CONTENT_TYPE) head.contentType = value;
    else if (kind === Kind.CONTENT_LENGTH) head.contentLength = value;
    else if (kind === Kind.ENCODING) head.encoding = value;
    else if (kind === Kind.TIMEOUT) head.timeout = value;
  }
  return head;
}

function refusalOf({ method, contentType }: Head): Refusal | undefined {
  const text = `gRPC is spoken here: POST with content-type ${CONTENT_TYPE}\n`;
  if (method !== "POST") return { httpStatus: "405", text };
  if (!isGrpc(contentType)) return { httpStatus: "415", text };
  return undefined;
}

/** A status whose trailers cannot be sent goes without them. */
function sendable(how: Status): Status {
  if (how.trailers.length === 0) return how;
  try {
    checkMetadata(how.trailers);
    return how;
  } catch {
    return { ...how, trailers: NO_METADATA };
  }
}
