/** Why the response to a request is not to be waited for any more, and who is told of it. */
import type { HttpError } from "../http/errors.js";

export class Abort {
  /** Undefined until it is aborted. */
  reason: HttpError | undefined;
  #listener: ((reason: HttpError) => void) | undefined;

  /** Has the listener told of the reason, at once where there is one already. */
  listen(listener: (reason: HttpError) => void): void {
    if (this.reason === undefined) this.#listener = listener;
    else listener(this.reason);
  }

  notify(reason: HttpError): void {
    this.reason = reason;
    this.#listener?.(reason);
  }

  /** Drops the listener: it holds the call's messages, and the response may wait long for its client. */
  forget(): void {
    this.#listener = undefined;
  }
}
