/** What a plain request and one for a WebSocket have in common: node's own, and an end that may come early. */
import type { HttpError } from "../errors.js";
import type { RequestHeaders } from "../request-headers.js";
import type { HttpMessage } from "./http-message.js";

export abstract class HttpRequest {
  readonly req: HttpMessage;
  /** Why there is no more time for the answer. */
  #why: HttpError | undefined;
  #onGone: ((why: HttpError) => void) | undefined;

  constructor(req: HttpMessage) {
    this.req = req;
  }

  get method(): string {
    return this.req.method as string;
  }

  get target(): string {
    return this.req.url as string;
  }

  get headers(): readonly string[] {
    return this.req.rawHeaders;
  }

  get known(): RequestHeaders {
    return this.req.known;
  }

  get remoteAddress(): string {
    return this.req.socket.remoteAddress ?? "";
  }

  tryReserveAnswer(_bytes: number): boolean {
    return true;
  }

  onGone(listener: (why: HttpError) => void): void {
    if (this.#why === undefined) this.#onGone = listener;
    else listener(this.#why);
  }

  stop(why: HttpError): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    this.#onGone?.(why);
  }
}
