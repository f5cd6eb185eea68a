/** One plain request and its answer, on node's own: what it asks is read no faster than it is wanted, and within bounds. */
import type { ServerResponse } from "node:http";
import type { MemoryBudget } from "../../src/memory-budget.js";
import { HttpError, reason } from "../errors.js";
import {
  type BodySink,
  type BodyStream,
  type GatewayRequest,
  type GatewayResponse,
  isStream,
  type PieceFlow,
  type PieceReader,
} from "../http.js";
import { type Connection, GONE, LINGER_MS, WORK, type Work } from "./connection.js";
import { MIN_RESERVED, memoryOf, NO_MEMORY } from "./connection-memory.js";
import type { HttpMessage } from "./http-message.js";
import { HttpRequest } from "./requests.js";
import { STALL_MS, Stall } from "./slow-reader.js";

/** An unread body up to this size is dropped and the connection kept; before a larger one it is closed. */
const DROPPED_BODY = 64 * 1024;

/** What a piece of a body takes beside its bytes, at least: a body may come a byte at a time. */
const PIECE = 128;
/** Bytes that a body may have waiting that is read in pieces, while the service takes none. */
const PAUSED_UPLOAD = 128 * 1024;
/** What a request and its answer take beside their bytes, about. */
const PIPELINED = 8 * 1024;
/** A text of more bytes is made a Buffer first: it would else be held as such too until the client has read it. */
const LARGE_TEXT = 256 * 1024;

const TOO_SLOW = new HttpError(408, "The next piece of the body took too long to arrive");
const STALLED = new HttpError(504, "The service has taken nothing of the body for too long");

export interface Bounds {
  readonly maxBody: number;
  /** How long the next piece of a body may take that is read in pieces, in milliseconds. */
  readonly bodyTime: number;
  readonly stallMs: number | undefined;
  readonly budget: MemoryBudget;
}

export class Exchange extends HttpRequest implements GatewayRequest, Work {
  readonly #res: ServerResponse;
  readonly #bounds: Bounds;
  /** Bytes reserved for its body, as far as that has come, until it is answered. */
  #bodyBytes = 0;
  /** Bytes reserved for its answer, until the client has read it. */
  #answerBytes = 0;
  /** Whether the client waits for 100 before it sends the body. */
  readonly #waits: boolean;
  readonly fault: HttpError | undefined;
  answered = false;
  failed = false;
  streams = false;
  #gone = false;
  #onFault: ((fault: HttpError) => void) | undefined;

  constructor(
    req: HttpMessage,
    res: ServerResponse,
    bounds: Bounds,
    { waits = false, fault }: { waits?: boolean; fault?: HttpError } = {},
  ) {
    super(req);
    this.#res = res;
    this.#bounds = bounds;
    this.#waits = waits;
    this.fault = fault ?? req.fault;
    res.on("close", () => this.#closed());
  }

  override stop(why: HttpError): void {
    if (this.#res.writableEnded) return;
    this.#stopReading(why);
    super.stop(why);
  }

  tryReservePipelined(): boolean {
    return this.#tryHoldAnswer(PIPELINED);
  }

  override tryReserveAnswer(bytes: number): boolean {
    return this.#tryHoldAnswer(Math.max(bytes, this.#answerBytes));
  }

  #tryHoldAnswer(bytes: number): boolean {
    if (bytes === this.#answerBytes) return true;
    if (!memoryOf(this.req.socket, this.#bounds.budget).tryResize(this.#answerBytes, bytes)) return false;
    this.#answerBytes = bytes;
    return true;
  }

  #tryHoldBody(bytes: number): boolean {
    if (bytes === this.#bodyBytes) return true;
    if (!memoryOf(this.req.socket, this.#bounds.budget).tryResize(this.#bodyBytes, bytes)) return false;
    this.#bodyBytes = bytes;
    return true;
  }

  #closed(): void {
    this.#tryHoldBody(0);
    this.#tryHoldAnswer(0);
    const connection: Connection = this.req.socket;
    // A connection that is kept would keep its last call, body and answer included.
    if (connection[WORK] === this && !this.failed) connection[WORK] = undefined;
    if (this.#res.writableEnded) return;
    this.#gone = true;
    this.stop(GONE);
  }

  body(): Promise<readonly Uint8Array[]> {
    const { req } = this;
    const { maxBody } = this.#bounds;
    const announced = Number(req.known.contentLength);
    if (announced > maxBody) throw this.#tooLarge();
    if (this.#waits) this.#res.writeContinue();
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
        // Most are small and come in one piece: that does not wait for more.
        const isWhole = piece.length === announced && announced <= MIN_RESERVED;
        if (size > maxBody) this.#stopReading(this.#tooLarge());
        else if (isWhole || this.#tryHoldBody(this.#bodyBytes + piece.length + PIECE)) pieces.push(piece);
        else this.#stopReading(NO_MEMORY);
      });
    });
  }

  pieces(reader: PieceReader): PieceFlow {
    const { req } = this;
    this.streams = true;
    // Silence may be the service's, which takes no more for now.
    req.socket.setTimeout(0);
    if (this.#waits) this.#res.writeContinue();
    const { bodyTime, stallMs = STALL_MS } = this.#bounds;
    let patience: NodeJS.Timeout;
    const wait = (ms: number, fault: HttpError): void => {
      clearTimeout(patience);
      patience = setTimeout(() => this.fail(fault), ms);
    };
    const stop = (): void => {
      clearTimeout(patience);
      this.#onFault = undefined;
      req.removeAllListeners("data").off("end", onEnd).resume();
    };
    const onEnd = (): void => {
      stop();
      reader.onEnd();
    };
    wait(bodyTime, TOO_SLOW);
    this.#onFault = (fault) => {
      stop();
      reader.onFault(fault);
    };
    req.on("data", (piece: Buffer) => {
      patience.refresh();
      if (reader.onPiece(piece)) return;
      req.pause();
      if (this.#tryHoldBody(PAUSED_UPLOAD)) wait(stallMs, STALLED);
      else this.fail(NO_MEMORY);
    });
    req.on("end", onEnd);
    const resume = (): void => {
      this.#tryHoldBody(0);
      wait(bodyTime, TOO_SLOW);
      req.resume();
    };
    return { resume, stop };
  }

  #tooLarge(): HttpError {
    return new HttpError(413, `The body must not be larger than ${this.#bounds.maxBody} bytes`);
  }

  fail(fault: HttpError): void {
    this.failed = true;
    // Its headers have not said that it is the last one.
    if (this.answered) this.#res.once("close", () => this.req.socket.destroySoon());
    else if (!this.req.complete) this.#stopReading(fault);
  }

  #stopReading(fault: HttpError): void {
    const reject = this.#onFault;
    if (reject === undefined) return;
    this.#onFault = undefined;
    this.req.dropBody();
    reject(fault);
  }

  /** Sends the answer: a whole body in one write. `isLast` tells whether the connection is to be closed after it. */
  answer({ status, headers, body, length }: GatewayResponse, isLast: () => boolean): void {
    this.answered = true;
    this.#tryHoldBody(0);
    const res = this.#res;
    if (this.#gone || this.req.socket.destroyed) return;
    const lingers = this.#lingers();
    const all = isLast() || this.failed || lingers ? [...headers, "Connection", "close"] : headers;
    res.writeHead(status, reason(status), all as string[]);
    if (isStream(body)) return void this.#pour(body, isLast);
    // Written and then ended it goes out by itself; ended with, by the slower way of several pieces, the last an empty one.
    const { socket } = this.req;
    socket.cork();
    const encoding = length === body.length ? "latin1" : "utf8";
    const isLargeText = length > LARGE_TEXT && typeof body === "string";
    res.write(isLargeText ? Buffer.from(body, encoding) : body, encoding);
    socket.uncork();
    // The system takes most answers at once.
    if (res.writableLength > 0 && !this.tryReserveAnswer(length)) return void socket.destroy();
    if (lingers) this.#endWhenDropped();
    else if (socket.writableLength === 0) res.end();
    else this.#endWhenTaken(isLast);
  }

  /** The client has its whole answer; what is left of its request is dropped before the connection closes. */
  #endWhenDropped(): void {
    this.failed = true;
    const res = this.#res;
    const cut = setTimeout(() => res.end(), LINGER_MS);
    this.req.once("end", () => res.end()).resume();
    res.once("close", () => clearTimeout(cut));
  }

  /**
   * Node would take the connection for idle once the answer is ended, also where the client has not taken all of it, and cut
   * it when the server closes.
   */
  #endWhenTaken(isLast: () => boolean): void {
    const { socket } = this.req;
    socket.write("", (error) => {
      // Node asserts that pipelined answers end in order, and on a broken connection they would not.
      if (error) return;
      this.#res.end();
      if (isLast()) socket.destroySoon();
    });
  }

  /** Sends a body as it comes. */
  #pour(body: BodyStream, isLast: () => boolean): void {
    const res = this.#res;
    const { socket } = this.req;
    // Silence is no sign of a client that has gone: it may read slowly, or have nothing to read.
    socket.setTimeout(0);
    const stall = new Stall(socket, this.#bounds.stallMs, () => this.#bounds.budget.isShort);
    res.on("drain", () => {
      stall.end();
      this.#tryHoldAnswer(0);
      body.onDrain();
    });
    res.once("close", () => stall.end());
    const sink: BodySink = {
      write: (piece) => {
        if (socket.destroyed) {
          this.stop(GONE); // Node does not tell of it where an earlier answer was still to be taken.
          return false;
        }
        const more = res.write(piece);
        if (!more) stall.begin();
        if (!this.#tryHoldAnswer(res.writableLength)) this.#breakOff();
        return more;
      },
      end() {
        if (socket.destroyed) return; // See #endWhenTaken.
        stall.begin();
        res.end(() => isLast() && socket.destroySoon());
      },
      abort() {
        if (socket.destroyed) return;
        stall.begin();
        socket.destroySoon();
      },
    };
    body.open(sink);
  }

  /** There is no memory for more of a stream, which its client does not read. */
  #breakOff(): void {
    this.stop(NO_MEMORY);
    this.req.socket.destroy();
  }

  /** Whether the rest of the body is too much, or too uncertain, to be dropped and the connection kept. */
  #lingers(): boolean {
    const { req } = this;
    if (req.complete) return false;
    if (this.failed || this.#waits || req.known.transferEncoding !== undefined) return true;
    return Number(req.known.contentLength ?? 0) > DROPPED_BODY;
  }
}
