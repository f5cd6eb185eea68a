/**
 * A connection that speaks HTTP/1.1 (RFC 9112). llhttp parses its requests. The handler gets each
 * one as soon as it arrives, and the responses are written in order. The handler also responds to
 * every error, even for bytes that never became a request. So all errors look the same, are logged
 * and are counted.
 */
import type { ClientMemory, ConnectionMemory } from "../../../src/memory/memory-budget.js";
import { Throttle } from "../../../src/overload/throttle.js";
import type { HttpError } from "../../http/errors.js";
import {
  agreedProtocol,
  type ClientSocket,
  type ConnectionLimits,
  type HttpConnectionOptions,
  LINGER_MS,
  type PortConnection,
} from "../connection.js";
import type { Peer } from "../peer.js";
import { TOO_SLOW } from "../request-errors.js";
import { unshareReads } from "../shared-reads.js";
import type { WebSockets } from "../websocket.js";
import { ClientTime } from "./client-time.js";
import { CHUNKED, Exchange, type ExchangeHead, type Http1Owner, noHead } from "./exchange.js";
import { asksForWebSocket, bodyLength, errorOf, handshakeHeaders, unclearEnd } from "./head-checks.js";
import type { Http1RequestBody } from "./request-body.js";
import type { Http1RequestHead } from "./request-head.js";
import { OTHER_VERSION, ParseOutcome, RequestParser } from "./request-parser.js";
import type { ResponseBatch } from "./response-batch.js";

/** Maximum requests of a connection that are served at once. Further requests are read later. */
const MAX_PIPELINED = 64;
/** Maximum bytes of responses that wait for earlier ones. While more wait, no request is read. */
const MAX_WAITING = 16 * 1024;
/** The preface of HTTP/2 (RFC 9113 §3.4). */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export interface Http1Options extends HttpConnectionOptions {
  /** The headers of a persistent connection, each with its line end. */
  readonly keepAlive: string;
  readonly webSockets: WebSockets;
  readonly responses: ResponseBatch;
  /** How often `checkTime` is called, in milliseconds. */
  readonly checkMs: number;
  /** The client speaks HTTP/2: takes over the paused socket, and all bytes read from it. */
  onHttp2(connection: Http1Connection, firstBytes: Buffer): void;
}

export class Http1Connection implements PortConnection, Http1Owner {
  readonly socket: ClientSocket;
  readonly remotePeer: Peer;
  isLeaving = false;
  readonly #options: Http1Options;
  readonly #parser: RequestParser;
  /** Requests whose responses have not been sent, in order of arrival. */
  readonly #exchanges: Exchange[] = [];
  /** The request whose body is arriving, and the bytes to come; undefined for a chunked body. */
  #receiving: Exchange | undefined;
  #bodyLeft: number | undefined;
  /** Bytes that have arrived and wait, because the connection cannot process more for now. */
  #unread: Buffer | undefined;
  /** Bytes read until the first head ended; then undefined. HTTP/2 must begin at the first byte. */
  #bytesBefore: number | undefined = 0;
  /** Set after a rejection in an overload: delays the next request of its method and endpoint. */
  #throttle: Throttle | undefined;
  /** Further bytes are dropped. */
  #ignoresInput = false;
  /** Runs after the last response, until the client has closed its side. */
  #linger: NodeJS.Timeout | undefined;
  #memory: ConnectionMemory | undefined;
  readonly #clientTime: ClientTime;

  constructor(socket: ClientSocket, peer: Peer, options: Http1Options) {
    this.socket = socket;
    this.remotePeer = peer;
    this.#options = options;
    this.#parser = new RequestParser(options.limits);
    this.#clientTime = new ClientTime(options.checkMs);
    this.#clientTime.limit(options.limits.headerTime);
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("close", this.#onClose);
    socket.on("drain", this.#onDrain);
    socket.on("timeout", this.#onTimeout);
  }

  get limits(): ConnectionLimits {
    return this.#options.limits;
  }

  get keepAlive(): string {
    return this.#options.keepAlive;
  }

  /** Created at the first reservation, since most connections make none. */
  get memory(): ConnectionMemory {
    if (this.#memory === undefined) {
      this.#memory = this.#options.budget.open(this.remotePeer.memoryAddress);
      // The event "close" of a destroyed socket may already have been emitted.
      if (this.socket.destroyed) this.#memory.close();
    }
    return this.#memory;
  }

  openClient(head: ExchangeHead): ClientMemory | undefined {
    return this.remotePeer.openClient(head, this.#options.budget, this.memory);
  }

  get isShort(): boolean {
    return this.#options.budget.isShort;
  }

  isFirst(exchange: Exchange): boolean {
    return this.#exchanges[0] === exchange;
  }

  leave(): void {
    this.isLeaving = true;
    this.#endThrottle();
  }

  throttle({ method, target }: Exchange): void {
    this.#throttle?.end();
    const { maxThrottleMs: maxMs } = this.limits;
    this.#throttle = new Throttle({ method, target, maxMs, onEnd: () => this.#endThrottle() });
  }

  #endThrottle(): void {
    if (this.#throttle === undefined) return;
    this.#throttle.end();
    this.#throttle = undefined;
    this.readOn();
  }

  closeIdle(): void {
    if (this.#exchanges.length === 0 && !this.#parser.isInRequest) this.destroy();
  }

  abortAll(reason: HttpError): void {
    for (const exchange of this.#exchanges) exchange.abort(reason);
  }

  destroy(): void {
    this.#ignoresInput = true;
    this.socket.destroy();
  }

  checkTime(): void {
    if (!this.#clientTime.isOver() || this.#ignoresInput) return;
    const isIdle = this.#receiving === undefined && !this.#parser.isInRequest;
    // A client that has sent nothing at all gets an error response.
    if (isIdle && this.#bytesBefore === undefined) this.destroy();
    else if (!this.#receiving?.requestBody?.readsChunks) this.#fail(TOO_SLOW);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#ignoresInput) return;
    if (this.#unread === undefined) this.#read(chunk);
    else {
      this.#unread = Buffer.concat([this.#unread, chunk]);
      this.readOn();
    }
  };

  /** Reads a chunk, as far as the connection can process it for now. */
  #read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.#ignoresInput) {
      const mayRead = this.#mayRead();
      if (!mayRead || this.#isThrottled(chunk, at)) {
        this.#unread = Buffer.from(chunk.subarray(at));
        // A throttle does not pause the socket: in a flood of rejected requests that would take 3 %
        // of the processor (decision 44).
        if (!mayRead) this.socket.pause();
        return;
      }
      at = this.#receiving === undefined ? this.#readRequest(chunk, at) : this.#readBody(this.#receiving, chunk, at);
    }
  }

  #mayRead(): boolean {
    if (this.#receiving !== undefined) return this.#receiving.requestBody?.takesMore ?? true;
    const exchanges = this.#exchanges;
    if (exchanges.length === 0) return true;
    if (exchanges.length >= MAX_PIPELINED || exchanges.at(-1)?.upgrade) return false;
    let waiting = 0;
    for (const exchange of exchanges) waiting += exchange.waitingLength;
    return waiting <= MAX_WAITING;
  }

  #isThrottled(chunk: Buffer, at: number): boolean {
    if (this.#throttle === undefined || this.#exchanges.length > 0 || this.#parser.isInRequest) return false;
    const isThrottled = this.#throttle.delays(chunk, at);
    if (isThrottled) this.#clientTime.end();
    return isThrottled;
  }

  readOn(): void {
    if (this.#ignoresInput || !this.#mayRead()) return;
    const unread = this.#unread;
    this.#unread = undefined;
    if (unread !== undefined) this.#read(unread);
    if (this.#unread === undefined && this.socket.isPaused()) this.socket.resume();
  }

  /** Reads a request and its arrived body. @returns the position where it stopped */
  #readRequest(chunk: Buffer, from: number): number {
    const parser = this.#parser;
    const isNew = !parser.isInRequest;
    const outcome = parser.parse(chunk, from);
    if (outcome === ParseOutcome.MORE) {
      if (this.#bytesBefore !== undefined) this.#bytesBefore += parser.end - from;
      else if (isNew && parser.isInRequest) this.#clientTime.limit(this.limits.headerTime);
      return parser.end;
    }
    if (outcome === ParseOutcome.HTTP2) return this.#readHttp2(chunk, from);
    if (outcome === ParseOutcome.FAULT) {
      this.#fail(parser.error as HttpError);
      return chunk.length;
    }
    if (isNew) this.#clientTime.restart();
    this.#bytesBefore = undefined;
    const head = parser.head as Http1RequestHead;
    parser.head = undefined;
    return this.#begin(head, chunk, parser.end);
  }

  /** Serves a request. @returns the position where it ends, or its arrived part ends */
  #begin(head: Http1RequestHead, chunk: Buffer, headEnd: number): number {
    const isLater = this.#exchanges.length > 0;
    const upgrade = head.upgrade && asksForWebSocket(head);
    const unclear = unclearEnd(head, this.limits);
    const length = upgrade ? 0 : bodyLength(head);
    const exchange = new Exchange(this, head, { error: errorOf(head), bodyLength: length, upgrade });
    if (unclear !== undefined) {
      exchange.fail(unclear);
      this.#ignoresInput = true;
      this.#parser.release();
    }
    if (isLater && !exchange.tryReservePipelined()) {
      this.destroy();
      return chunk.length;
    }
    this.#exchanges.push(exchange);
    this.#clientTime.end();
    if (upgrade) {
      this.#parser.release();
      if (!isLater) void this.#upgrade(exchange);
      return headEnd;
    }
    let end = headEnd;
    if (length !== 0 && unclear === undefined) {
      this.#receiving = exchange;
      this.#bodyLeft = length === CHUNKED ? undefined : length;
      if (end < chunk.length) end = this.#readBody(exchange, chunk, end);
      // Head and body each have their time. Both count from the beginning of the request.
      if (!exchange.isComplete) this.#clientTime.extend(this.limits.headerTime + this.limits.bodyTime);
    } else this.#ignoresInput ||= !exchange.keepsAlive;
    this.#serve(exchange);
    return end;
  }

  #readBody(exchange: Exchange, chunk: Buffer, from: number): number {
    const body = exchange.requestBody as Http1RequestBody;
    if (this.#bodyLeft !== undefined) {
      const end = Math.min(chunk.length, from + this.#bodyLeft);
      this.#bodyLeft -= end - from;
      body.receive(chunk, from, end);
      if (this.#bodyLeft === 0) this.#endBody(exchange, body);
      return end;
    }
    const parser = this.#parser;
    const outcome = parser.parse(chunk, from);
    const { end, chunks } = parser;
    if (chunks.length > 0) parser.chunks = [];
    for (const part of chunks) body.receive(part, 0, part.length);
    if (outcome === ParseOutcome.END) this.#endBody(exchange, body);
    if (outcome !== ParseOutcome.FAULT) return end;
    this.#fail(parser.error as HttpError);
    return chunk.length;
  }

  #endBody(exchange: Exchange, body: Http1RequestBody): void {
    this.#receiving = undefined;
    this.#bodyLeft = undefined;
    this.#clientTime.end();
    this.#ignoresInput ||= !exchange.keepsAlive;
    body.end();
    if (this.#linger !== undefined) this.socket.destroySoon();
    else if (this.#exchanges.length === 0) this.#clientTime.limit(this.limits.keepAlive);
  }

  #serve(exchange: Exchange): void {
    const { handler, responses } = this.#options;
    void Promise.resolve(handler(exchange)).then((response) => responses.respond(exchange, response));
  }

  /** Serves a request for a WebSocket. Unread bytes then already belong to the WebSocket. */
  async #upgrade(exchange: Exchange): Promise<void> {
    const response = await this.#options.handler(exchange);
    exchange.failed = true;
    if (response.session === undefined || this.socket.destroyed) return void exchange.respond(response);
    exchange.responded = true;
    const head = this.#unread ?? Buffer.alloc(0);
    this.#unread = undefined;
    this.#detach();
    unshareReads(this.socket);
    this.#memory?.close();
    const { session, headers } = response;
    const { method, rawHeaders } = exchange;
    const req = { method, headers: handshakeHeaders(rawHeaders) };
    const upgrade = { req, socket: this.socket, head, client: exchange.remoteAddress };
    this.#options.webSockets.accept(upgrade, headers, session, (reason) => exchange.abort(reason));
    this.socket.resume();
  }

  /** Hands the connection over to HTTP/2 if the preface has arrived before anything else. */
  #readHttp2(chunk: Buffer, from: number): number {
    const { end } = this.#parser;
    const isFirst = this.#bytesBefore !== undefined && this.#bytesBefore + end - from === PREFACE.length;
    if (!isFirst || agreedProtocol(this.socket) !== undefined) this.#fail(OTHER_VERSION);
    else {
      this.#detach();
      this.socket.off("close", this.#onClose).pause();
      this.#parser.release();
      this.#options.onHttp2(this, Buffer.concat([PREFACE, chunk.subarray(end)]));
    }
    return chunk.length;
  }

  /** From now on other code reads the socket. */
  #detach(): void {
    this.#ignoresInput = true;
    this.#clientTime.end();
    const { socket } = this;
    socket.off("data", this.#onData).off("end", this.#onEnd);
    socket.off("drain", this.#onDrain).off("timeout", this.#onTimeout);
  }

  /** The bytes that have arrived are not HTTP, or have arrived too late. */
  #fail(error: HttpError): void {
    this.#ignoresInput = true;
    this.#parser.release();
    if (!this.socket.writable) return void this.destroy();
    const last = this.#exchanges.at(-1);
    if (last !== undefined) {
      last.fail(error);
      return;
    }
    const exchange = new Exchange(this, noHead(), { error, bodyLength: 0, upgrade: false });
    this.#exchanges.push(exchange);
    this.#serve(exchange);
  }

  onSent(exchange: Exchange): void {
    exchange.release();
    if (exchange.isLast) return void this.linger();
    this.#exchanges.shift();
    const [next] = this.#exchanges;
    if (next?.upgrade) void this.#upgrade(next);
    else if (next !== undefined) next.onFirst();
    else if (this.#receiving === undefined && !this.#parser.isInRequest) this.#clientTime.limit(this.limits.keepAlive);
    this.readOn();
  }

  linger(): void {
    const { socket, limits } = this;
    // If a request is still arriving, its rest is read and dropped. Other bytes are ignored.
    this.#ignoresInput ||= this.#receiving === undefined;
    this.#unread = undefined;
    this.#linger = setTimeout(() => socket.destroySoon(), LINGER_MS);
    socket.setTimeout(limits.maxCallTime + limits.bodyTime);
    socket.end();
    if (socket.isPaused()) socket.resume();
  }

  /** The client sends no more. A client that closes its side during a request counts as gone. */
  readonly #onEnd = (): void => {
    if (this.#linger !== undefined || this.#receiving !== undefined || this.#parser.isInRequest)
      return void this.destroy();
    // Some requests of this turn already have a response, which waits in the batch.
    this.#options.responses.flush();
    this.socket.end();
  };

  readonly #onClose = (): void => {
    this.#ignoresInput = true;
    clearTimeout(this.#linger);
    this.#throttle?.end();
    this.#parser.release();
    for (const exchange of this.#exchanges) exchange.onClose();
    this.#memory?.close();
  };

  readonly #onDrain = (): void => this.#exchanges[0]?.onDrain();
  readonly #onTimeout = (): void => this.destroy();
}
