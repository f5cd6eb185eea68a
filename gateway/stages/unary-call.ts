/** One unary call over a channel, in wire bytes, and what the gateway makes of a call that failed. */
import { Code, StatusError } from "../../src/errors.js";
import type { CallListener, CallStart, Channel, Status } from "../../src/rpc/channel.js";
import { HttpError } from "../errors.js";

/**
 * Sends one message and waits for the one answer.
 * @param onAbort is given a function that ends the call early, with the reason
 * @throws {StatusError} as the service ended the call, or UNAVAILABLE when it could not be reached
 * @throws {HttpError} 502 when the service broke the protocol, or answered with no message or with several
 * @throws {Error} the reason for which the call was ended early
 */
export function callUnary(
  channel: Channel,
  start: CallStart,
  message: Uint8Array,
  service: string,
  onAbort: (stop: (reason: Error) => void) => void,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const call = channel.open(start, new UnaryListener(service, resolve, reject));
    onAbort((reason) => {
      reject(reason);
      call.cancel();
    });
    call.send(message);
    call.end();
  });
}

class UnaryListener implements CallListener {
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
    if (status.code !== Code.OK) this.reject(toCallError(this.service, status));
    else if (this.#message !== undefined && this.#count === 1) this.resolve(this.#message);
    else this.reject(notOneMessage(this.service, this.#count));
  }
}

/**
 * Converts the status of a failed call into an error. The service's own message is passed on, the channel's is not: it may
 * name internal addresses. Where the service broke the protocol, the code is not the service's, so that the status is 502
 * whatever the code.
 */
export function toCallError(service: string, status: Status): StatusError | HttpError {
  const { code, message, details, neverSent, protocolError } = status;
  if (protocolError) return new HttpError(502, `The call to ${service} broke the protocol of gRPC: ${message}`);
  if (neverSent && code === Code.UNAVAILABLE) {
    return new UnreachableError(code, `${service} cannot be reached at the moment`, { cause: message });
  }
  return new StatusError(code, message, { details });
}

/** No instance has received the call, so it may be sent again. */
export class UnreachableError extends StatusError {}

/** The error of a service that must answer with one message, and answered with another number. */
export function notOneMessage(service: string, count: number): HttpError {
  return new HttpError(502, `${service} answered with ${count} messages instead of one`);
}
