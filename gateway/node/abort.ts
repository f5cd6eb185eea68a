/**
 * The reason why the response to a request is no longer needed, and the listener that is notified
 * of it.
 */
import type { HttpError } from "../http/errors.js";

export class Abort {
  /** Undefined until the request is aborted. */
  reason: HttpError | undefined;
  #listener: ((reason: HttpError) => void) | undefined;

  /** Notifies the listener of the reason when there is one: at once if it is already known. */
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
