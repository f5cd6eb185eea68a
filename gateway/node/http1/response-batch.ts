/** Writes the responses of a turn together: waking a client on this machine for each is expensive (docs/performance.md). */
import { type GatewayResponse, isStream } from "../../http/message.js";
import type { Exchange } from "./exchange.js";

/** Largest body, in bytes, that waits for other responses of its turn: many larger ones would take much memory. */
const MAX_WAITING_BODY = 16 * 1024;

/** With more of them, what the calls leave behind would have grown old, and expensive to collect, before they are answered. */
const MAX_RESPONSES_PER_WRITE = 128;

interface WaitingResponse {
  readonly exchange: Exchange;
  readonly response: GatewayResponse;
}

/** The responses of this turn of the event loop, on all connections of a port. */
export class ResponseBatch {
  #waiting: WaitingResponse[] = [];

  answer(exchange: Exchange, response: GatewayResponse): void {
    const { body, length } = response;
    // While a request is still being sent, how much of it has arrived decides how it is answered.
    if (length > MAX_WAITING_BODY || isStream(body) || !exchange.isComplete) return void exchange.answer(response);
    const count = this.#waiting.push({ exchange, response });
    if (count === 1) setImmediate(this.flush);
    else if (count === MAX_RESPONSES_PER_WRITE) this.flush();
  }

  readonly flush = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { exchange, response } of waiting) exchange.answer(response);
  };
}
