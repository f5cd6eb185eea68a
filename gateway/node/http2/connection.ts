/**
 * A connection of the HTTP port that speaks HTTP/2 (RFC 9113). Each of its streams is a request.
 * The handler sees no difference from HTTP/1.1. The protocol was recognized by the preface in the
 * first bytes (section 3.3), or negotiated by TLS.
 */
import { ErrorCode } from "../../../src/http2/errors.js";
import type { HeaderList } from "../../../src/http2/header-fields.js";
import { MAX_STALLS, ServerConnection } from "../../../src/http2/server-connection.js";
import type { Stream } from "../../../src/http2/stream.js";
import type { ClientMemory, MemoryBudget } from "../../../src/memory/memory-budget.js";
import { throttleDelay } from "../../../src/overload/throttle.js";
import { HttpError, NO_MEMORY } from "../../http/errors.js";
import { RequestHeaders } from "../../http/headers.js";
import type { GatewayRequest, RequestHandler } from "../../http/message.js";
import type { ClientSocket, HttpConnectionOptions, PortConnection } from "../connection.js";
import { dateOf } from "../date.js";
import type { Peer } from "../peer.js";
import { SLOW_READER_MS } from "../slow-reader.js";
import { Http2Exchange } from "./exchange.js";
import { HEADER_NAMES, type Http2RequestHead, readHead } from "./request-head.js";
import type { ExchangeLimits, Http2Owner } from "./request-stream.js";

/**
 * A connection with open streams that was silent for `after` milliseconds is tested with a PING.
 */
const KEEPALIVE = { after: 60_000, timeout: 20_000, idle: false } as const;

const TOO_LARGE = new HttpError(431, "The headers are too large");

/** A request whose header list was too large to be stored. */
const TOO_LARGE_HEAD: Http2RequestHead = {
  method: "",
  target: "",
  rawHeaders: [],
  headers: new RequestHeaders(),
  contentLength: undefined,
  error: TOO_LARGE,
};

/**
 * Serves a connection.
 * @param firstBytes the bytes that have already been read from it, beginning with the preface
 */
export function serveHttp2(
  socket: ClientSocket,
  peer: Peer,
  firstBytes: Buffer,
  options: HttpConnectionOptions,
): Http2Connection {
  const connection = new Http2Connection(socket, peer, options);
  if (firstBytes.length > 0) socket.unshift(firstBytes);
  socket.resume();
  return connection;
}

export class Http2Connection extends ServerConnection implements Http2Owner, PortConnection {
  readonly remotePeer: Peer;
  readonly exchangeLimits: ExchangeLimits;
  readonly #budget: MemoryBudget;
  readonly #socket: ClientSocket;
  readonly #handler: RequestHandler;
  readonly #maxThrottleMs: number | undefined;
  #leaving = false;
  /**
   * Runs while rejections are delayed. They are written together when it ends, so that the client
   * does not ask again earlier.
   */
  #throttle: NodeJS.Timeout | undefined;
  /** Bytes of DATA that had been sent at the last call of `#isSending`. */
  #sentBefore = 0;

  constructor(socket: ClientSocket, peer: Peer, { handler, limits, budget }: HttpConnectionOptions) {
    const { maxBody, bodyTime, stallMs = SLOW_READER_MS, maxThrottleMs } = limits;
    super(socket, {
      names: HEADER_NAMES,
      memory: budget.open(peer.memoryAddress),
      limits,
      keepAlive: { ...KEEPALIVE, isSending: () => this.#isSending() },
      stallCheck: stallMs / MAX_STALLS,
    });
    this.remotePeer = peer;
    this.exchangeLimits = { maxBody, bodyTime, stallMs };
    this.#budget = budget;
    this.#socket = socket;
    this.#handler = handler;
    this.#maxThrottleMs = maxThrottleMs;
  }

  openClient(request: { readonly rawHeaders: readonly string[] }): ClientMemory | undefined {
    return this.remotePeer.openClient(request, this.#budget, this.memory);
  }

  get date(): string {
    return dateOf(Date.now());
  }

  protected openStream(streamId: number, { fields, size, tooLarge }: HeaderList, endStream: boolean): void {
    const head = tooLarge ? TOO_LARGE_HEAD : readHead(fields, endStream);
    if (head === undefined) {
      this.resetNew(streamId, ErrorCode.PROTOCOL_ERROR);
      this.#record(new HttpError(400, "The request is not well-formed HTTP/2"));
      return;
    }
    const exchange = new Http2Exchange(this, streamId, head);
    if (!tooLarge) exchange.headBytes = size;
    this.streams.add(exchange);
    this.keepAlive?.start();
    exchange.open(endStream);
    if (!exchange.reserve() && !exchange.reserveInstead()) exchange.error = NO_MEMORY;
    void Promise.resolve(this.#handler(exchange)).then((response) => exchange.onResponse(response));
  }

  tryThrottle(): boolean {
    if (this.#leaving || this.closed) return false;
    this.#throttle ??= setTimeout(() => this.#endThrottle(), throttleDelay(this.#maxThrottleMs));
    return true;
  }

  #endThrottle(): void {
    clearTimeout(this.#throttle);
    this.#throttle = undefined;
    for (const stream of this.streams) (stream as Http2Exchange).onThrottleEnd();
  }

  /** Lets the handler record an error that never became a request. Its response is not sent. */
  #record(error: HttpError): void {
    this.#handler(noRequest(error, this.remotePeer.address));
  }

  override streamError(stream: Stream, errorCode: number): void {
    (stream as Http2Exchange).onMalformed();
    super.streamError(stream, errorCode);
  }

  override fail(errorCode: number, message: string): void {
    if (this.closed) return;
    const isLate = errorCode === ErrorCode.SETTINGS_TIMEOUT;
    this.#record(new HttpError(isLate ? 408 : 400, `The connection breaks HTTP/2: ${message}`));
    super.fail(errorCode, message);
  }

  #isSending(): boolean {
    const { sentBytes } = this.writer;
    const isSending = this.#socket.writableLength > 0 || sentBytes !== this.#sentBefore;
    this.#sentBefore = sentBytes;
    return isSending;
  }

  // Called by the port:

  /**
   * Tells the client to send further requests on another connection. It is told at once, or after
   * its first request if it has not sent one yet.
   */
  leave(): void {
    this.#leaving = true;
    this.#endThrottle();
    if (this.lastPeerStream > 0) this.drain();
  }

  protected override onClosed(): void {
    super.onClosed();
    clearTimeout(this.#throttle);
  }

  protected override onReleased(): void {
    if (this.#leaving) this.drain();
    super.onReleased();
  }

  /** Closes the connection where no request is open. */
  closeIdle(): void {
    if (this.streams.size === 0) this.drain();
  }

  abortAll(reason: HttpError): void {
    for (const stream of this.streams) (stream as Http2Exchange).abort(reason);
  }

  /**
   * Ends requests that have taken too long. Called again and again, since a timer for each request
   * would cost more.
   */
  checkTime(nowMs: number): void {
    for (const stream of this.streams) {
      const exchange = stream as Http2Exchange;
      if (exchange.deadlineMonotonicMs < nowMs) exchange.expire();
    }
  }
}

/** Stands for a request that is not well-formed, so that the handler can record its error. */
function noRequest(error: HttpError, remoteAddress: string): GatewayRequest {
  const fail = (): never => {
    throw error;
  };
  const none = { method: "", target: "", rawHeaders: [], headers: new RequestHeaders() };
  const memory = { tryReserveResponse: () => true, tryReserveBody: () => true };
  return { ...none, ...memory, error, remoteAddress, body: fail, arrivedBody: fail, chunks: fail, onAbort() {} };
}
