/** One plain request and its answer, on node's own: what it asks is read no faster than it is wanted, and within bounds. */
import type { ServerResponse } from "node:http";
import type { BodyRoom } from "./body-room.js";
import { HttpError, reason } from "./errors.js";
import {
  type BodySink,
  type BodyStream,
  type GatewayRequest,
  type GatewayResponse,
  isStream,
  type PieceFlow,
  type PieceReader,
} from "./exchange.js";
import type { HttpMessage } from "./http-message.js";
import { HttpRequest } from "./http-request.js";
import { STALL_MS, Stall } from "./stall.js";
import { type Connection, GONE, LINGER_MS, WORK, type Work } from "./work.js";

/** An unread body up to this size is dropped and the connection kept; before a larger one it is closed. */
const DROPPED_BODY = 64 * 1024;

const NO_ROOM = new HttpError(503, "Too many bodies are being received; try again", { headers: ["Retry-After", "1"] });
const TOO_SLOW = new HttpError(408, "The next piece of the body took too long to arrive");
const STALLED = new HttpError(504, "The service has taken nothing of the body for too long");

export interface Bounds {
  readonly maxBody: number;
  /** How long the next piece of a body may take that is read in pieces, in milliseconds. */
  readonly bodyTime: number;
  readonly stallMs: number | undefined;
  readonly room: BodyRoom;
}

export class Exchange extends HttpRequest implements GatewayRequest, Work {
  readonly #res: ServerResponse;
  readonly #bounds: Bounds;
  /** Of the room for bodies, what its own takes. */
  #taken = 0;
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

  #closed(): void {
    const connection: Connection = this.req.socket;
    // A connection that is kept would keep its last call, body and answer included.
    if (connection[WORK] === this && !this.failed) connection[WORK] = undefined;
    if (this.#res.writableEnded) return;
    this.#gone = true;
    this.stop(GONE);
  }

  body(): Promise<readonly Uint8Array[]> {
    const { req } = this;
    const { maxBody, room } = this.#bounds;
    if (Number(req.known.contentLength) > maxBody) throw this.#tooLarge();
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
        const taken = size > maxBody ? 0 : room.take(piece.length);
        this.#taken += taken;
        if (taken > 0) pieces.push(piece);
        else this.#stopReading(size > maxBody ? this.#tooLarge() : NO_ROOM);
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
      wait(stallMs, STALLED);
    });
    req.on("end", onEnd);
    const resume = (): void => {
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
    if (!this.req.complete) this.#stopReading(fault);
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
    this.#bounds.room.giveBack(this.#taken);
    const res = this.#res;
    if (this.#gone) return;
    const lingers = this.#lingers();
    const all = isLast() || this.failed || lingers ? [...headers, "Connection", "close"] : headers;
    res.writeHead(status, reason(status), all as string[]);
    if (isStream(body)) return void this.#pour(body, isLast);
    // Written and then ended it goes out by itself; ended with, by the slower way of several pieces, the last an empty one.
    const { socket } = this.req;
    socket.cork();
    res.write(body, length === body.length ? "latin1" : "utf8");
    socket.uncork();
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
    socket.write("", () => {
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
    const stall = new Stall(socket, this.#bounds.stallMs);
    res.on("drain", () => {
      stall.end();
      body.onDrain();
    });
    res.once("close", () => stall.end());
    const sink: BodySink = {
      write(piece) {
        const more = res.write(piece);
        if (!more) stall.begin();
        return more;
      },
      end() {
        stall.begin();
        res.end(() => isLast() && socket.destroySoon());
      },
      abort() {
        stall.begin();
        socket.destroySoon();
      },
    };
    body.open(sink);
  }

  /** Whether the rest of the body is too much, or too uncertain, to be dropped and the connection kept. */
  #lingers(): boolean {
    const { req } = this;
    if (req.complete) return false;
    if (this.failed || this.#waits || req.known.transferEncoding !== undefined) return true;
    return Number(req.known.contentLength ?? 0) > DROPPED_BODY;
  }
}
