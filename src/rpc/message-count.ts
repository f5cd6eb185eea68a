/**
 * Counts the messages of a client's stream against limits of calls, one after the other. While a
 * message has to wait for its count, no message reaches the endpoint: they stay in the queue, which
 * stops the sender when it is full.
 */
import type { StreamListener } from "../call/admission.js";
import type { LimitedCall } from "../call/limited-call.js";
import type { MessageQueue } from "./message-queue.js";

export class MessageCount {
  readonly #limited: LimitedCall;
  readonly #requests: MessageQueue<unknown>;
  readonly #listener: StreamListener;
  #uncounted = 0;
  #isWaiting = false;

  /** @param listener hears when the messages that had to wait are counted, or one is refused */
  constructor(limited: LimitedCall, requests: MessageQueue<unknown>, listener: StreamListener) {
    this.#limited = limited;
    this.#requests = requests;
    this.#listener = listener;
  }

  /** Whether a message waits for its count. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** To be called before the messages are put into the queue. */
  add(messages: number): void {
    this.#uncounted += messages;
    if (!this.#isWaiting) this.#count();
  }

  #count(): void {
    try {
      while (this.#uncounted > 0) {
        this.#uncounted--;
        const counting = this.#limited.message();
        if (counting === undefined) continue;
        this.#isWaiting = true;
        this.#requests.hold();
        counting.then(() => this.#countOn()).catch((error) => this.#listener.onRefused(error));
        return;
      }
    } catch (error) {
      this.#listener.onRefused(error as Error);
    }
  }

  #countOn(): void {
    this.#isWaiting = false;
    this.#count();
    if (!this.#isWaiting) this.#listener.onResumed();
  }
}
