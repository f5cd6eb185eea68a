/** Node's request, but for shorter ways to its headers and its body. */
import { type IncomingHttpHeaders, IncomingMessage } from "node:http";
import { HttpError } from "../errors.js";
import { type RequestHeaders, readHeaders } from "../request-headers.js";

/** Is given a piece of a body, or null when it was whole. */
export type BodyTaker = (piece: Buffer | null) => void;

const NO_HOST = new HttpError(400, "The header Host is missing");
/** Also for a version that is none at all. */
export const OTHER_VERSION = new HttpError(505, "The version of HTTP must be 1.0 or 1.1");

export class HttpMessage extends IncomingMessage {
  /** Whether the whole body was given to a taker. */
  taken = false;
  #taker: BodyTaker | undefined;
  #known: RequestHeaders | undefined;

  /** The headers that the gateway reads. */
  get known(): RequestHeaders {
    this.#known ??= readHeaders(this.rawHeaders);
    return this.#known;
  }

  /** What is wrong with the request line (RFC 9110 §15.6.6; node's parser lets HTTP/0.9 and HTTP/2.0 pass) or with Host. */
  get fault(): HttpError | undefined {
    const { httpVersionMajor: major, httpVersionMinor: minor } = this;
    if (major !== 1 || minor > 1) return OTHER_VERSION;
    return minor === 1 && this.known.host === undefined ? NO_HOST : undefined;
  }

  /**
   * Gives the body to `taker` as node's parser reads it. By "data" and "end" a small one takes three turns of the queue of
   * ticks, and a twelfth of a call's time.
   */
  takeBody(taker: BodyTaker): void {
    if (this.readableLength === 0 && !this.complete) this.#taker = taker;
    // Some of it came before it was asked for.
    else this.on("data", taker).on("end", () => taker(null));
  }

  /** What is still to come of the body is read and forgotten. */
  dropBody(): void {
    this.#taker = undefined;
    this.removeAllListeners("data").resume();
  }

  /** By this all that is read comes into a Readable (https://nodejs.org/api/stream.html#readablepushchunk-encoding). */
  override push(piece: Buffer | null): boolean {
    const taker = this.#taker;
    if (taker === undefined) return super.push(piece);
    if (piece === null) {
      this.#taker = undefined;
      this.taken = true;
      this.read(0); // Or node would do so when it is answered, and take its time to end what nobody reads.
    }
    taker(piece);
    return true;
  }
}

// TypeScript has no way to say that a getter takes the place of a getter that is declared as a property.
Object.defineProperties(HttpMessage.prototype, {
  /**
   * Node looks into the headers of each request whether it expects something, and would make an object of all of them for
   * that: a tenth of a browser's call. So of a plain request `headers` has nothing else; `rawHeaders` has all.
   */
  headers: {
    get(this: HttpMessage & { readonly upgrade: boolean }): IncomingHttpHeaders {
      return this.upgrade ? Reflect.get(IncomingMessage.prototype, "headers", this) : { expect: this.known.expect };
    },
  },
  /** Node keeps a request that was answered until it has ended, or the next one comes. */
  readableEnded: {
    get(this: HttpMessage): boolean {
      return this.taken || Reflect.get(IncomingMessage.prototype, "readableEnded", this);
    },
  },
});
