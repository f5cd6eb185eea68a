/** The requests of a port that are no plain ones (http-exchange.ts): for a WebSocket, and bytes that never became a request. */
import type { Socket } from "node:net";
import { HttpError } from "../errors.js";
import { type GatewayRequest, RequestHeaders } from "../http.js";
import { type ActiveExchange, GONE } from "./connection.js";
import { type HttpMessage, HttpRequest } from "./http-message.js";

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
