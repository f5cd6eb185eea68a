/** One unary call over a channel, from wire bytes to wire bytes. */
import { Code, StatusError } from "../../src/errors.js";
import type { CallListener, CallStart, Channel, Status } from "../../src/rpc/channel.js";
import { HttpError } from "../errors.js";

/**
 * Sends a message and waits for the one answer. `onGone` is given what ends the call early, with the reason.
 * @throws {StatusError} as the service ended the call, or UNAVAILABLE when it could not be reached.
 * @throws {HttpError} 502 when it broke the protocol, or answered with none or with several messages.
 * @throws {Error} the reason for which it was ended early.
 */
export function callUnary(
  channel: Channel,
  start: CallStart,
  message: Uint8Array,
  service: string,
  onGone: (stop: (why: Error) => void) => void,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const call = channel.open(start, new Answer(service, resolve, reject));
    onGone((why) => {
      reject(why);
      call.cancel();
    });
    call.send(message);
    call.end();
  });
}

class Answer implements CallListener {
  #message: Uint8Array | undefined;
  #count = 0;

  constructor(
    readonly service: string,
    readonly resolve: (message: Uint8Array) => void,
    readonly reject: (error: Error) => void,
  ) {}

  onMessage(message: Uint8Array): void {
    this.#message = message;
    this.#count++;
  }

  onEnd(status: Status): void {
    if (status.code !== Code.OK) this.reject(failureOf(this.service, status));
    else if (this.#message !== undefined && this.#count === 1) this.resolve(this.#message);
    else this.reject(notOne(this.service, this.#count));
  }
}

/**
 * What a call failed with. A channel's own words may name addresses inside; the service's own are passed on. Where the
 * service broke the protocol, the code is not the service's: that is 502, whatever the code.
 */
export function failureOf(service: string, failed: Status): StatusError | HttpError {
  const { code, message, details, neverSent, protocolError } = failed;
  if (protocolError) return new HttpError(502, `The call to ${service} broke the protocol of gRPC: ${message}`);
  if (neverSent && code === Code.UNAVAILABLE) {
    return new UnreachableError(code, `${service} cannot be reached at the moment`, { cause: message });
  }
  return new StatusError(code, message, { details });
}

/** No instance has seen the call. */
export class UnreachableError extends StatusError {}

/** A service that must answer with one message, and did not. */
export function notOne(service: string, count: number): HttpError {
  return new HttpError(502, `${service} answered with ${count} messages instead of one`);
}
