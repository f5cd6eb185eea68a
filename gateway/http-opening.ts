/** A request for a WebSocket, until it is answered. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { HttpError } from "./errors.js";
import type { GatewayRequest } from "./exchange.js";
import { GONE, type Work } from "./work.js";

export class Opening implements GatewayRequest, Work {
  readonly upgrade = true;
  readonly fault = undefined;
  readonly failed = true;
  answered = false;
  /** Before it was answered. */
  gone = false;
  readonly #req: IncomingMessage;
  #why: HttpError | undefined;
  #onGone: ((why: HttpError) => void) | undefined;

  constructor(req: IncomingMessage, socket: Socket) {
    this.#req = req;
    socket.once("close", () => {
      this.gone = true;
      this.stop(GONE);
    });
  }

  get method(): string {
    return this.#req.method as string;
  }

  get target(): string {
    return this.#req.url as string;
  }

  get headers(): readonly string[] {
    return this.#req.rawHeaders;
  }

  get remoteAddress(): string {
    return this.#req.socket.remoteAddress ?? "";
  }

  body(): never {
    throw new HttpError(400, "The request for a WebSocket must have no body");
  }

  pieces(): never {
    return this.body();
  }

  onGone(listener: (why: HttpError) => void): void {
    if (this.#why === undefined) this.#onGone = listener;
    else listener(this.#why);
  }

  fail(): void {}

  stop(why: HttpError): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    this.#onGone?.(why);
  }
}
