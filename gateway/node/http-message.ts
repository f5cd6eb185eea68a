/** Node's IncomingMessage with shorter ways to its headers and its body (see docs/performance.md), and the request made of it. */
import { type IncomingHttpHeaders, IncomingMessage } from "node:http";
import { HttpError } from "../errors.js";
import { type RequestHeaders, readHeaders } from "../http.js";

/** Receives the pieces of a body, then null at its end. */
export type BodyTaker = (piece: Buffer | null) => void;

const NO_HOST = new HttpError(400, "The header Host is missing");
/** Also for a version that is malformed. */
export const OTHER_VERSION = new HttpError(505, "The version of HTTP must be 1.0 or 1.1");

export class HttpMessage extends IncomingMessage {
  /** Whether a taker has received the body to its end. */
  taken = false;
  #taker: BodyTaker | undefined;
  #requestHeaders: RequestHeaders | undefined;

  /** The headers that the gateway reads. */
  get requestHeaders(): RequestHeaders {
    this.#requestHeaders ??= readHeaders(this.rawHeaders);
    return this.#requestHeaders;
  }

  /** What is wrong with the request line (RFC 9110 §15.6.6; Node's parser lets HTTP/0.9 and HTTP/2.0 pass) or with Host. */
  get fault(): HttpError | undefined {
    const { httpVersionMajor: major, httpVersionMinor: minor } = this;
    if (major !== 1 || minor > 1) return OTHER_VERSION;
    return minor === 1 && this.requestHeaders.host === undefined ? NO_HOST : undefined;
  }

  /** Gives the body to `taker` as Node's parser reads it, which takes fewer turns than the events "data" and "end". */
  takeBody(taker: BodyTaker): void {
    if (this.readableLength === 0 && !this.complete) this.#taker = taker;
    // Some of it arrived before it was asked for.
    else this.on("data", taker).on("end", () => taker(null));
  }

  /** Reads the rest of the body and drops it. */
  dropBody(): void {
    this.#taker = undefined;
    this.removeAllListeners("data").resume();
  }

  /** All that is read reaches a Readable by this method (https://nodejs.org/api/stream.html#readablepushchunk-encoding). */
  override push(piece: Buffer | null): boolean {
    const taker = this.#taker;
    if (taker === undefined) return super.push(piece);
    if (piece === null) {
      this.#taker = undefined;
      this.taken = true;
      this.read(0); // Else Node does so after the response, in a slower way.
    }
    taker(piece);
    return true;
  }
}

// TypeScript cannot override a property that is declared as a field with a getter.
Object.defineProperties(HttpMessage.prototype, {
  /** Node looks for `Expect` in each request, and would make an object of all headers for that. `rawHeaders` has all. */
  headers: {
    get(this: HttpMessage & { readonly upgrade: boolean }): IncomingHttpHeaders {
      return this.upgrade
        ? Reflect.get(IncomingMessage.prototype, "headers", this)
        : { expect: this.requestHeaders.expect };
    },
  },
  /** Node keeps an answered request in memory until it has ended, or the next one comes. */
  readableEnded: {
    get(this: HttpMessage): boolean {
      return this.taken || Reflect.get(IncomingMessage.prototype, "readableEnded", this);
    },
  },
});

/** What a plain request and one for a WebSocket have in common: both may end early, before the response. */
export abstract class HttpRequest {
  readonly req: HttpMessage;
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly headers: RequestHeaders;
  /** Why the response is not to be waited for any more. */
  #reason: HttpError | undefined;
  #onAbort: ((reason: HttpError) => void) | undefined;

  constructor(req: HttpMessage) {
    this.req = req;
    this.method = req.method as string;
    this.target = req.url as string;
    this.rawHeaders = req.rawHeaders;
    this.headers = req.requestHeaders;
  }

  get remoteAddress(): string {
    return this.req.socket.remoteAddress ?? "";
  }

  tryReserveResponse(_bytes: number): boolean {
    return true;
  }

  onAbort(listener: (reason: HttpError) => void): void {
    if (this.#reason === undefined) this.#onAbort = listener;
    else listener(this.#reason);
  }

  abort(reason: HttpError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#onAbort?.(reason);
  }

  /** The call is over. Its listener is dropped: it holds the call's messages, and the response may wait long for its client. */
  protected endCall(): void {
    this.#onAbort = undefined;
  }
}
