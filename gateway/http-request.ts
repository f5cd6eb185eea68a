/** What a plain request and one for a WebSocket have in common: node's own, and an end that may come early. */
import type { IncomingMessage } from "node:http";
import type { HttpError } from "./errors.js";

export abstract class HttpRequest<Message extends IncomingMessage = IncomingMessage> {
  readonly req: Message;
  /** Why there is no more time for the answer. */
  #why: HttpError | undefined;
  #onGone: ((why: HttpError) => void) | undefined;

  constructor(req: Message) {
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

  get remoteAddress(): string {
    return this.req.socket.remoteAddress ?? "";
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
