/**
 * Says why the response to a request is no longer needed, and notifies the listener of the request.
 */
import type { HttpError } from "../http/errors.js";

export class Abort {
  /** Undefined until the request is aborted. */
  reason: HttpError | undefined;
  #listener: ((reason: HttpError) => void) | undefined;

  /** Notifies the listener when the request is aborted; at once if it is already aborted. */
  listen(listener: (reason: HttpError) => void): void {
    if (this.reason === undefined) this.#listener = listener;
    else listener(this.reason);
  }

  notify(reason: HttpError): void {
    this.reason = reason;
    this.#listener?.(reason);
  }

  /**
   * Drops the listener. It refers to the messages of the call, and the response may wait a long
   * time for its client.
   */
  forget(): void {
    this.#listener = undefined;
  }
}
