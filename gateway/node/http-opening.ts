/** A request for a WebSocket, until it is answered. */
import type { Socket } from "node:net";
import { HttpError } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import { GONE, type Work } from "./connection.js";
import type { HttpMessage } from "./http-message.js";
import { HttpRequest } from "./requests.js";

export class Opening extends HttpRequest implements GatewayRequest, Work {
  readonly upgrade = true;
  readonly fault: HttpError | undefined;
  readonly failed = true;
  answered = false;
  /** Before it was answered. */
  gone = false;

  constructor(req: HttpMessage, socket: Socket) {
    super(req);
    this.fault = req.fault;
    socket.once("close", () => {
      this.gone = true;
      this.stop(GONE);
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
