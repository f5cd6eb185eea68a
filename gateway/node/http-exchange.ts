/**
 * One plain request and its response, on node:http. The body is read within limits of size, time and memory, and no faster than
 * its reader takes it; the response is written no faster than the client reads it.
 */
import type { ServerResponse } from "node:http";
import type { MemoryBudget } from "../../src/memory-budget.js";
import { HttpError, NO_MEMORY, reason as reasonPhrase } from "../errors.js";
import {
  type BodySink,
  type BodyStream,
  type GatewayRequest,
  type GatewayResponse,
  isStream,
  type PieceFlow,
  type PieceReader,
} from "../http.js";
import {
  ACTIVE,
  type ActiveExchange,
  type Connection,
  GONE,
  LINGER_MS,
  MAX_TEXT,
  MIN_RESERVED,
  memoryOf,
} from "./connection.js";
import { type HttpMessage, HttpRequest } from "./http-message.js";
import { SLOW_READER_MS, SlowReaderTimeout } from "./slow-reader.js";

/** Largest unread body, in bytes, that is dropped to keep the connection; with a larger one the connection is closed. */
const MAX_DROPPED_BODY = 64 * 1024;

/** Memory that a piece of a body takes beside its bytes, at least: a body may arrive a byte at a time. */
const PIECE_OVERHEAD = 128;
/** Bytes that may be waiting of a body that is read in pieces while the service takes none. */
const PAUSED_UPLOAD = 128 * 1024;
/** Memory that a request and its response take beside their bytes, about. */
const EXCHANGE_OVERHEAD = 8 * 1024;

const TOO_SLOW = new HttpError(408, "The next piece of the body took too long to arrive");
const STALLED = new HttpError(504, "The service has taken nothing of the body for too long");

export interface ExchangeLimits {
  readonly maxBody: number;
  /** How long the next piece may take to arrive of a body that is read in pieces, in milliseconds. */
  readonly bodyTime: number;
  /** How long the client may read nothing, or the service take nothing of an upload, in milliseconds; default 30 min. */
  readonly stallMs: number | undefined;
  readonly budget: MemoryBudget;
}

export interface ExchangeOptions {
  /** Whether the client waits for "100 Continue" before it sends the body. */
  readonly awaitsContinue?: boolean;
  /** What the server found wrong. */
  readonly fault?: HttpError;
}

export class HttpExchange extends HttpRequest implements GatewayRequest, ActiveExchange {
  readonly #res: ServerResponse;
  readonly #limits: ExchangeLimits;
  readonly #awaitsContinue: boolean;
  readonly fault: HttpError | undefined;
  /** Bytes reserved for the part of the body that has arrived, until the response. */
  #bodyBytes = 0;
  /** Bytes reserved for the response, until the client has read it. */
  #responseBytes = 0;
  answered = false;
  failed = false;
  readsPieces = false;
  #closed = false;
  #onFault: ((fault: HttpError) => void) | undefined;

  constructor(
    req: HttpMessage,
    res: ServerResponse,
    limits: ExchangeLimits,
    { awaitsContinue = false, fault }: ExchangeOptions = {},
  ) {
    super(req);
    this.#res = res;
    this.#limits = limits;
    this.#awaitsContinue = awaitsContinue;
    this.fault = fault ?? req.fault;
    res.on("close", () => this.#close());
  }

  override abort(reason: HttpError): void {
    if (this.#res.writableEnded) return;
    this.#stopReading(reason);
    super.abort(reason);
  }

  /** Reserves memory for a pipelined request, which waits until those before it are answered. */
  tryReservePipelined(): boolean {
    return this.#tryResizeResponse(EXCHANGE_OVERHEAD);
  }

  override tryReserveResponse(bytes: number): boolean {
    return this.#tryResizeResponse(Math.max(bytes, this.#responseBytes));
  }

  #tryResizeResponse(bytes: number): boolean {
    if (bytes === this.#responseBytes) return true;
    if (!memoryOf(this.req.socket, this.#limits.budget).tryResize(this.#responseBytes, bytes)) return false;
    this.#responseBytes = bytes;
    return true;
  }

  #tryResizeBody(bytes: number): boolean {
    if (bytes === this.#bodyBytes) return true;
    if (!memoryOf(this.req.socket, this.#limits.budget).tryResize(this.#bodyBytes, bytes)) return false;
    this.#bodyBytes = bytes;
    return true;
  }

  #close(): void {
    this.#tryResizeBody(0);
    this.#tryResizeResponse(0);
    const connection: Connection = this.req.socket;
    // Else a connection that stays open would keep its last exchange in memory, body and response included.
    if (connection[ACTIVE] === this && !this.failed) connection[ACTIVE] = undefined;
    if (this.#res.writableEnded) return;
    this.#closed = true;
    this.abort(GONE);
  }

  body(maxBody = this.#limits.maxBody): Promise<readonly Uint8Array[]> {
    const { req } = this;
    const announced = Number(req.requestHeaders.contentLength);
    if (announced > maxBody) throw tooLarge(maxBody);
    if (this.#awaitsContinue) this.#res.writeContinue();
    return new Promise((resolve, reject) => {
      this.#onFault = reject;
      const pieces: Buffer[] = [];
      let size = 0;
      req.takeBody((piece) => {
        if (piece === null) {
          this.#onFault = undefined;
          resolve(pieces);
          return;
        }
        size += piece.length;
        // Most bodies are small and arrive in one piece, which waits for no other.
        const isWhole = piece.length === announced && announced <= MIN_RESERVED;
        if (size > maxBody) this.#stopReading(tooLarge(maxBody));
        else if (isWhole || this.#tryResizeBody(this.#bodyBytes + piece.length + PIECE_OVERHEAD)) pieces.push(piece);
        else this.#stopReading(NO_MEMORY);
      });
    });
  }

  pieces(reader: PieceReader): PieceFlow {
    const { req } = this;
    this.readsPieces = true;
    // The service may be the reason for silence: it may take no more for now.
    req.socket.setTimeout(0);
    if (this.#awaitsContinue) this.#res.writeContinue();
    const { bodyTime, stallMs = SLOW_READER_MS } = this.#limits;
    let timer: NodeJS.Timeout;
    let held = 0;
    const failAfter = (ms: number, fault: HttpError): void => {
      clearTimeout(timer);
      timer = setTimeout(() => this.fail(fault), ms);
    };
    const stop = (): void => {
      clearTimeout(timer);
      this.#onFault = undefined;
      req.removeAllListeners("data").off("end", onEnd).resume();
    };
    const onEnd = (): void => {
      stop();
      reader.onEnd();
    };
    failAfter(bodyTime, TOO_SLOW);
    this.#onFault = (fault) => {
      stop();
      reader.onFault(fault);
    };
    req.on("data", (piece: Buffer) => {
      timer.refresh();
      if (reader.onPiece(piece)) return;
      req.pause();
      if (this.#tryResizeBody(held + PAUSED_UPLOAD)) failAfter(stallMs, STALLED);
      else this.fail(NO_MEMORY);
    });
    req.on("end", onEnd);
    const resume = (): void => {
      this.#tryResizeBody(held);
      failAfter(bodyTime, TOO_SLOW);
      req.resume();
    };
    const tryHold = (bytes: number): boolean => {
      held = bytes;
      return this.#tryResizeBody(held);
    };
    return { resume, stop, tryHold };
  }

  fail(fault: HttpError): void {
    this.failed = true;
    // The headers of a response that was sent already do not say that it is the last one.
    if (this.answered) this.#res.once("close", () => this.req.socket.destroySoon());
    else if (!this.req.complete) this.#stopReading(fault);
  }

  #stopReading(fault: HttpError): void {
    const onFault = this.#onFault;
    if (onFault === undefined) return;
    this.#onFault = undefined;
    this.req.dropBody();
    onFault(fault);
  }

  /**
   * Sends the response; a body that is no stream in one write.
   * @param isLast whether the connection is to be closed after it; asked when the response begins, and when it ends
   */
  answer({ status, headers, body, length }: GatewayResponse, isLast: () => boolean): void {
    this.answered = true;
    // A service that answers with a stream may hold the request to the end.
    if (!isStream(body)) {
      this.endCall();
      this.#tryResizeBody(0);
    }
    const res = this.#res;
    if (this.#closed || this.req.socket.destroyed) return;
    const lingers = this.#mustLinger();
    const all = isLast() || this.failed || lingers ? [...headers, "Connection", "close"] : headers;
    res.writeHead(status, reasonPhrase(status), all as string[]);
    if (isStream(body)) return void this.#writeStream(body, isLast);
    // `write` and then `end` sends one piece; `end(body)` would send several, the last of them empty.
    const { socket } = this.req;
    socket.cork();
    const encoding = length === body.length ? "latin1" : "utf8";
    res.write(length > MAX_TEXT && typeof body === "string" ? Buffer.from(body, encoding) : body, encoding);
    socket.uncork();
    // The system takes most responses at once.
    if (res.writableLength > 0 && !this.tryReserveResponse(length)) return void socket.destroy();
    if (lingers) this.#endAfterRequest();
    else if (socket.writableLength === 0) res.end();
    else this.#endWhenFlushed(isLast);
  }

  /** Drops the rest of the request, which the client is still sending, before the connection closes. */
  #endAfterRequest(): void {
    this.failed = true;
    const res = this.#res;
    const timer = setTimeout(() => res.end(), LINGER_MS);
    this.req.once("end", () => res.end()).resume();
    res.once("close", () => clearTimeout(timer));
  }

  /**
   * Ends the response when the system has taken all of it. Node takes a connection for idle from the end of a response on,
   * and would cut it when the server closes, though the client has not read the whole response.
   */
  #endWhenFlushed(isLast: () => boolean): void {
    const { socket } = this.req;
    socket.write("", (error) => {
      // Node asserts that pipelined responses end in order, and on a broken connection they would not.
      if (error) return;
      this.#res.end();
      if (isLast()) socket.destroySoon();
    });
  }

  #writeStream(body: BodyStream, isLast: () => boolean): void {
    const res = this.#res;
    const { socket } = this.req;
    // A client that is silent has not gone: it may read slowly, or have nothing to read.
    socket.setTimeout(0);
    const slowReader = new SlowReaderTimeout(socket, this.#limits.stallMs, () => this.#limits.budget.isShort);
    res.on("drain", () => {
      slowReader.stop();
      this.#tryResizeResponse(0);
      body.onDrain();
    });
    res.once("close", () => slowReader.stop());
    const sink: BodySink = {
      write: (piece) => {
        if (socket.destroyed) {
          this.abort(GONE); // Node emits no "close" here while an earlier response is still being sent.
          return false;
        }
        const more = res.write(typeof piece === "string" && piece.length > MAX_TEXT ? Buffer.from(piece) : piece);
        if (!more) slowReader.start();
        if (!this.#tryResizeResponse(res.writableLength)) this.#cut();
        return more;
      },
      end() {
        if (socket.destroyed) return; // As in #endWhenFlushed.
        slowReader.start();
        res.end(() => isLast() && socket.destroySoon());
      },
      abort() {
        if (socket.destroyed) return;
        slowReader.start();
        socket.destroySoon();
      },
    };
    body.open(sink);
  }

  /** There is no memory for more of a stream that the client does not read. */
  #cut(): void {
    this.abort(NO_MEMORY);
    this.req.socket.destroy();
  }

  /** Whether the rest of the body is too long, or of unknown length, to be dropped and the connection kept. */
  #mustLinger(): boolean {
    const { req } = this;
    if (req.complete) return false;
    if (this.failed || this.#awaitsContinue || req.requestHeaders.transferEncoding !== undefined) return true;
    return Number(req.requestHeaders.contentLength ?? 0) > MAX_DROPPED_BODY;
  }
}

function tooLarge(maxBody: number): HttpError {
  return new HttpError(413, `The body must not be larger than ${maxBody} bytes`);
}
