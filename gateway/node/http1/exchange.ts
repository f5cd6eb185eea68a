/**
 * One request over HTTP/1.1 and its response. The response is written no faster than the client
 * reads it.
 */
import {
  type ClientMemory,
  type ConnectionMemory,
  FINISHED,
  type RequestMemory,
  type UnfinishedBody,
} from "../../../src/memory/memory-budget.js";
import type { BodyStream, ChunkFlow, ChunkReader } from "../../http/body.js";
import { HttpError } from "../../http/errors.js";
import { RequestHeaders, takesTrailers } from "../../http/headers.js";
import { type GatewayRequest, type GatewayResponse, isStream } from "../../http/message.js";
import { Abort } from "../abort.js";
import { type ClientSocket, type ConnectionLimits, MAX_TEXT } from "../connection.js";
import type { Peer } from "../peer.js";
import { GONE, UNKNOWN_EXPECTATION } from "../request-errors.js";
import { Http1RequestBody } from "./request-body.js";
import type { Http1RequestHead } from "./request-head.js";
import { responseHead } from "./response-head.js";
import { StreamWriter } from "./stream-writer.js";

/**
 * Maximum unread body, in bytes, that is dropped to keep the connection. With a larger one the
 * connection is closed.
 */
const MAX_DROPPED_BODY = 64 * 1024;
/** Approximate memory of a request and its response besides their bytes. */
const EXCHANGE_OVERHEAD = 8 * 1024;

const CLOSE = "Connection: close\r\n";
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const NO_BODY_WANTED = new HttpError(400, "The request for a WebSocket must have no body");
const NO_BODY: readonly Uint8Array[] = [];

/** The part of a request's head that an exchange needs; `noHead()` for a malformed request. */
export type ExchangeHead = Pick<
  Http1RequestHead,
  "method" | "target" | "minor" | "keepAlive" | "headers" | "rawHeaders"
>;

/**
 * Stands for the head of a request whose bytes are not HTTP. Each has headers of its own: the
 * handler sets the request's ID in them.
 */
export function noHead(): ExchangeHead {
  return { method: "", target: "", minor: 1, keepAlive: false, headers: new RequestHeaders(), rawHeaders: [] };
}

/** The connection of an exchange. */
export interface Http1Owner {
  readonly socket: ClientSocket;
  readonly limits: ConnectionLimits;
  readonly memory: ConnectionMemory;
  readonly remotePeer: Peer;
  /** The memory of the client that a proxy names; undefined where it names none. */
  openClient(head: ExchangeHead): ClientMemory | undefined;
  /** The headers of a persistent connection, each with its line end. */
  readonly keepAlive: string;
  readonly isLeaving: boolean;
  /**
   * Whether the response of this exchange is the next one to be sent. Responses are sent in the
   * order of their requests.
   */
  isFirst(exchange: Exchange): boolean;
  readOn(): void;
  /** Delays the client's next request to the same endpoint with the same method. */
  throttle(exchange: Exchange): void;
  /** The response has been sent. */
  onSent(exchange: Exchange): void;
  /** The connection ends with this response, while the client is still sending the request. */
  linger(): void;
  /** Whether memory is short in this process. */
  readonly isShort: boolean;
  destroy(): void;
}

/** Stands for the length of a chunked body, which is not known in advance. */
export const CHUNKED = -1;

export interface ExchangeOptions {
  /** The error that the connection found. */
  readonly error: HttpError | undefined;
  /** Bytes of the body, or `CHUNKED`. */
  readonly bodyLength: number;
  /** Whether the client asks for a WebSocket. */
  readonly upgrade: boolean;
}

export class Exchange implements GatewayRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: ExchangeHead["headers"];
  readonly error: HttpError | undefined;
  readonly upgrade: boolean;
  /** Whether the handler has responded. */
  responded = false;
  /** Whether the response is the last one of the connection because of an error. */
  failed = false;
  readonly requestBody: Http1RequestBody | undefined;
  readonly #connection: Http1Owner;
  readonly #head: ExchangeHead;
  /**
   * Whether the client waits for "100 Continue" before it sends the body, and whether the handler
   * has asked for the body.
   */
  readonly #expectsContinue: boolean;
  #asked = false;
  /** The response, until the responses before it have been sent. */
  #waiting: GatewayResponse | undefined;
  /** Writes a body that is a stream. */
  #writer: StreamWriter | undefined;
  /** Bytes reserved for the response, until the client has read it. */
  #reserved = 0;
  /** The memory of the client, where a proxy names one. Kept until the exchange is over. */
  #client: ClientMemory | undefined;
  #isOver = false;
  readonly #abort = new Abort();

  constructor(connection: Http1Owner, head: ExchangeHead, { error, bodyLength, upgrade }: ExchangeOptions) {
    const { method, target, headers, minor } = head;
    this.#connection = connection;
    this.#head = head;
    this.method = method;
    this.target = target;
    this.headers = headers;
    this.upgrade = upgrade;
    this.#expectsContinue = headers.expect !== undefined && minor === 1;
    const isUnknown = this.#expectsContinue && !/(?:^|\W)100-continue(?:$|\W)/i.test(headers.expect as string);
    this.error = error ?? (isUnknown ? UNKNOWN_EXPECTATION : undefined);
    if (bodyLength !== 0)
      this.requestBody = new Http1RequestBody(this, bodyLength === CHUNKED ? undefined : bodyLength);
  }

  get rawHeaders(): readonly string[] {
    return this.#head.rawHeaders;
  }

  get protocolVersion(): string {
    return `1.${this.#head.minor}`;
  }

  get remoteAddress(): string {
    return this.#connection.remotePeer.clientOf(this.#head);
  }

  get isProxied(): boolean {
    return this.#connection.remotePeer.isProxy;
  }

  get limits(): ConnectionLimits {
    return this.#connection.limits;
  }

  get memory(): RequestMemory {
    const connection = this.#connection;
    if (!connection.remotePeer.isProxy) return connection.memory;
    if (this.#client === undefined && !this.#isOver) this.#client = connection.openClient(this.#head);
    return this.#client ?? connection.memory;
  }

  /** Whether the whole request has arrived. */
  get isComplete(): boolean {
    return this.requestBody === undefined || this.requestBody.isComplete;
  }

  /** Whether another request may follow on the connection. */
  get keepsAlive(): boolean {
    return this.#head.keepAlive && this.method !== "CONNECT";
  }

  /** Whether the connection ends with the response. */
  get isLast(): boolean {
    return this.failed || this.#connection.isLeaving || !this.keepsAlive;
  }

  /** Bytes of the response while it waits for responses before it. */
  get waitingLength(): number {
    return this.#waiting?.length ?? 0;
  }

  body(maxBytes = this.limits.maxBody): readonly Uint8Array[] | Promise<readonly Uint8Array[]> {
    if (this.upgrade) throw NO_BODY_WANTED;
    return this.requestBody === undefined ? NO_BODY : this.requestBody.read(maxBytes);
  }

  arrivedBody(maxBytes: number): readonly Uint8Array[] | undefined {
    if (this.upgrade) throw NO_BODY_WANTED;
    return this.requestBody === undefined ? NO_BODY : this.requestBody.readArrived(maxBytes);
  }

  tryReserveBody(bytes: number): boolean {
    return this.requestBody === undefined || this.requestBody.tryReserveMade(bytes);
  }

  chunks(reader: ChunkReader): ChunkFlow {
    if (this.upgrade) throw NO_BODY_WANTED;
    if (this.requestBody !== undefined) return this.requestBody.readChunks(reader);
    queueMicrotask(() => reader.onEnd());
    return { resume() {}, stop() {}, tryReserve: () => true };
  }

  readOn(): void {
    this.#connection.readOn();
  }

  /**
   * The handler asks for the body. A client that waits for that gets "100 Continue", but not before
   * the responses to earlier requests.
   */
  onAsked(): void {
    this.#asked = true;
    if (this.#expectsContinue && this.#connection.isFirst(this)) this.#connection.socket.write(CONTINUE, "latin1");
  }

  /** Reserves memory for a pipelined request, which waits for the responses before it. */
  tryReservePipelined(): boolean {
    if (this.#tryResize(EXCHANGE_OVERHEAD)) return true;
    this.#closeMemory();
    return false;
  }

  tryReserveResponse(bytes: number): boolean {
    return this.#tryResize(Math.max(bytes, this.#reserved), FINISHED);
  }

  onAbort(listener: (reason: HttpError) => void): void {
    this.#abort.listen(listener);
  }

  throttle(): void {
    this.#connection.throttle(this);
  }

  /** Ends the exchange as soon as possible. */
  abort(reason: HttpError): void {
    if (this.#abort.reason !== undefined) return;
    this.requestBody?.fail(reason);
    this.#abort.notify(reason);
  }

  /**
   * Makes the response the last one of the connection. Where the body has not arrived completely,
   * the response is the error.
   */
  fail(error: HttpError): void {
    this.failed = true;
    if (!this.isComplete) this.requestBody?.fail(error);
  }

  /** The connection has closed. */
  onClose(): void {
    this.#writer?.close();
    this.requestBody?.release();
    this.#tryResize(0);
    this.abort(GONE);
    this.requestBody?.drop();
    this.#closeMemory();
  }

  /** The handler has responded. */
  respond(response: GatewayResponse): void {
    this.responded = true;
    // If the response is a stream, the request stays in use: the service may still read its body.
    if (!isStream(response.body)) {
      this.#abort.forget();
      this.requestBody?.release();
      this.requestBody?.drop();
    }
    const { socket } = this.#connection;
    if (socket.destroyed || socket.writableEnded) return;
    if (this.#connection.isFirst(this)) return void this.#send(response);
    this.#waiting = response;
    if (response.length > 0 && !this.tryReserveResponse(response.length)) this.#connection.destroy();
  }

  /** All responses before this one have been sent. */
  onFirst(): void {
    if (this.#waiting !== undefined) {
      const response = this.#waiting;
      this.#waiting = undefined;
      this.#send(response);
    } else if (this.#asked && this.#expectsContinue && !this.isComplete) {
      this.#connection.socket.write(CONTINUE, "latin1");
    }
  }

  /** The system accepts more of the response. */
  onDrain(): void {
    this.#writer?.onDrain();
  }

  #send(response: GatewayResponse): void {
    const { body, status, length } = response;
    const hasBody = this.method !== "HEAD" && status !== 204 && status !== 304;
    if (this.#mustLinger()) this.failed = true;
    if (isStream(body)) return void this.#sendStream(response, body, hasBody);
    const { socket, keepAlive } = this.#connection;
    const isEmpty = status === 204 || status === 304;
    const head = responseHead(response, this.isLast ? CLOSE : keepAlive, isEmpty ? undefined : length);
    if (!hasBody || length === 0) socket.write(head, "latin1");
    else writeWhole(socket, head, body, length);
    // The system accepts most responses at once, so memory is reserved only where it does not.
    if (socket.writableLength > 0 && !this.tryReserveResponse(length)) return void this.#connection.destroy();
    this.#end();
  }

  /** Ends the exchange when the system has accepted the whole response. */
  #end(): void {
    const { socket, limits } = this.#connection;
    if (this.failed && !this.isComplete) return void this.#connection.linger();
    if (socket.writableLength === 0) return void this.#connection.onSent(this);
    socket.setTimeout(limits.maxCallTime + limits.bodyTime);
    socket.write("", (error) => {
      if (error) return;
      socket.setTimeout(0);
      this.#connection.onSent(this);
    });
  }

  /** The response has been sent, so its reservation is released. */
  release(): void {
    this.requestBody?.release();
    this.#tryResize(0);
    this.#closeMemory();
  }

  #closeMemory(): void {
    this.#isOver = true;
    this.#client?.close();
    this.#client = undefined;
  }

  #sendStream(response: GatewayResponse, body: BodyStream, hasBody: boolean): void {
    const { socket, keepAlive, limits } = this.#connection;
    const isChunked = this.#head.minor === 1 && hasBody;
    if (!isChunked && hasBody) this.failed = true;
    const connection = this.isLast ? CLOSE : keepAlive;
    const head = responseHead(
      response,
      isChunked ? `${connection}Transfer-Encoding: chunked\r\n` : connection,
      undefined,
    );
    const writer = new StreamWriter(socket, head, {
      body,
      framing: hasBody ? (isChunked ? "chunks" : "close") : "none",
      stallMs: limits.stallMs,
      isShort: () => this.#connection.isShort,
      takesTrailers: () => takesTrailers(this.rawHeaders),
      tryResize: (bytes) => this.#tryResize(bytes),
      abort: (reason) => this.abort(reason),
      onEnd: () => this.#endStream(),
    });
    this.#writer = writer;
    writer.open();
  }

  #endStream(): void {
    this.#abort.forget();
    if (this.failed && !this.isComplete) this.#connection.linger();
    else this.#connection.onSent(this);
  }

  /**
   * Whether the connection must end because the rest of the body is too long to be dropped, or of
   * unknown length.
   */
  #mustLinger(): boolean {
    if (this.isComplete) return false;
    const { transferEncoding, contentLength } = this.headers;
    if (this.failed || this.#expectsContinue || transferEncoding !== undefined) return true;
    return Number(contentLength) > MAX_DROPPED_BODY;
  }

  #tryResize(bytes: number, body?: UnfinishedBody): boolean {
    if (bytes === this.#reserved) return true;
    if (!this.memory.tryResize(this.#reserved, bytes, body)) return false;
    this.#reserved = bytes;
    return true;
  }
}

/** Writes head and body, in one write where that is cheap. */
function writeWhole(socket: ClientSocket, head: string, body: string | Uint8Array, length: number): void {
  const isLatin1 = length === body.length;
  if (typeof body === "string" && isLatin1 && length <= MAX_TEXT) return void socket.write(head + body, "latin1");
  socket.cork();
  socket.write(head, "latin1");
  if (typeof body === "string" && length <= MAX_TEXT) socket.write(body, "utf8");
  else socket.write(typeof body === "string" ? Buffer.from(body, isLatin1 ? "latin1" : "utf8") : body);
  socket.uncork();
}
