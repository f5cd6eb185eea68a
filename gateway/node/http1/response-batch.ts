/**
 * Writes the responses of one turn of the event loop together. Waking a client on the same computer
 * for each response is expensive (docs/performance.md).
 */
import { type GatewayResponse, isStream } from "../../http/message.js";
import type { Exchange } from "./exchange.js";

/**
 * Maximum size of a body, in bytes, that waits for other responses of its turn. Many larger ones
 * would use much memory.
 */
const MAX_WAITING_BODY = 16 * 1024;

/**
 * With more responses in one write, the objects of the calls would move to the old generation of
 * the heap before the responses are written. Collecting them there is expensive.
 */
const MAX_RESPONSES_PER_WRITE = 128;

interface WaitingResponse {
  readonly exchange: Exchange;
  readonly response: GatewayResponse;
}

/** The responses of this turn of the event loop, on all connections of a port. */
export class ResponseBatch {
  #waiting: WaitingResponse[] = [];

  respond(exchange: Exchange, response: GatewayResponse): void {
    const { body, length } = response;
    // How a response is written depends on whether its request has arrived completely. So the
    // response to an incomplete request does not wait.
    if (length > MAX_WAITING_BODY || isStream(body) || !exchange.isComplete) return void exchange.respond(response);
    const count = this.#waiting.push({ exchange, response });
    if (count === 1) setImmediate(this.flush);
    else if (count === MAX_RESPONSES_PER_WRITE) this.flush();
  }

  readonly flush = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { exchange, response } of waiting) exchange.respond(response);
  };
}
