/**
 * The requests of a port that are no plain HTTP requests (http-exchange.ts): those for a WebSocket, and bytes that never became
 * a request. All kinds have an end that may come early, before the response.
 */
import type { Socket } from "node:net";
import { HttpError } from "../errors.js";
import { type GatewayRequest, RequestHeaders } from "../http.js";
import { type ActiveExchange, GONE } from "./connection.js";
import type { HttpMessage } from "./http-message.js";

/** What a plain request and one for a WebSocket have in common. */
export abstract class HttpRequest {
  readonly req: HttpMessage;
  /** Why the response is not to be waited for any more. */
  #reason: HttpError | undefined;
  #onAbort: ((reason: HttpError) => void) | undefined;

  constructor(req: HttpMessage) {
    this.req = req;
  }

  get method(): string {
    return this.req.method as string;
  }

  get target(): string {
    return this.req.url as string;
  }

  get rawHeaders(): readonly string[] {
    return this.req.rawHeaders;
  }

  get headers(): RequestHeaders {
    return this.req.requestHeaders;
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
}

/** A request for a WebSocket, until it is answered. */
export class UpgradeRequest extends HttpRequest implements GatewayRequest, ActiveExchange {
  readonly upgrade = true;
  readonly fault: HttpError | undefined;
  readonly failed = true;
  answered = false;
  /** Whether the client has gone before the response. */
  gone = false;

  constructor(req: HttpMessage, socket: Socket) {
    super(req);
    this.fault = req.fault;
    socket.once("close", () => {
      this.gone = true;
      this.abort(GONE);
    });
  }

  body(): never {
    throw new HttpError(400, "The request for a WebSocket must have no body");
  }

  pieces(): never {
    return this.body();
  }

  fail(): void {}
}

/** Stands for a request where the bytes that arrived are none, so that the handler answers and records that, too. */
export class MalformedRequest implements GatewayRequest, ActiveExchange {
  readonly method = "";
  readonly target = "";
  readonly rawHeaders = [];
  readonly headers = new RequestHeaders();
  readonly answered = false;
  readonly failed = true;

  constructor(
    readonly fault: HttpError,
    readonly remoteAddress: string,
  ) {}

  body(): never {
    throw this.fault;
  }

  pieces(): never {
    throw this.fault;
  }

  tryReserveResponse(): boolean {
    return true;
  }

  onAbort(): void {}
  fail(): void {}
  abort(): void {}
}
