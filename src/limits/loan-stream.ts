/**
 * One stream to one authority (Lending.Borrow). At most one request is under way: the next one
 * states what is kept after the response.
 */

import type { BorrowRequest, BorrowResponse } from "../gen/portico/auth/v1/lending.js";
import { LendingService, type Loan, type Need } from "../gen/portico/auth/v1/lending.js";
import { type Moment, now } from "../moment.js";
import type { Channel } from "../rpc/channel.js";
import type { CallOptions, CallStream } from "../rpc/client.js";
import { stream } from "../rpc/client.js";

/** An authority that does not respond to a request within this time, in milliseconds, is silent. */
const RESPONSE_MS = 1_500;

/** Notified of what happens on a stream. */
export interface LoanStreamListener {
  /** The authority has said which lender it is, or has responded: a request may be sent. */
  onReady(stream: LoanStream): void;
  /** The last event. */
  onEnd(stream: LoanStream, error: Error | undefined): void;
}

/** Applies the response to a request. */
type Receive = (loans: readonly Loan[], sent: Moment) => void;

export class LoanStream {
  /** Which lender the authority is; undefined until it has said so. */
  lender: string | undefined;
  readonly #call: CallStream<BorrowRequest, BorrowResponse>;
  readonly #listener: LoanStreamListener;
  readonly #guard: string;
  /** What waits for the response. */
  #pending: { readonly sent: Moment; readonly count: number; readonly receive: Receive } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  /** @param guard identifies this guard, also on its next stream */
  constructor(channel: Channel, options: CallOptions, guard: string, listener: LoanStreamListener) {
    this.#guard = guard;
    this.#listener = listener;
    this.#call = stream(channel, LendingService.borrow, options);
    this.#await();
    void this.#run();
  }

  /** Whether a request may be sent. */
  get isReady(): boolean {
    return !this.#ended && this.lender !== undefined && this.#pending === undefined;
  }

  /**
   * Sends a request, if `isReady`. Its response is received before `onReady` is called, or not at
   * all.
   */
  send(appointment: bigint, needs: readonly Need[], receive: Receive): void {
    this.#pending = { sent: now(), count: needs.length, receive };
    this.#call.send({ appointment, needs: [...needs], guard: this.#guard });
    this.#await();
  }

  close(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#call.cancel();
  }

  #await(): void {
    clearTimeout(this.#timer);
    const pending = this.#pending;
    const end = (): void => {
      if (pending === this.#pending && (pending !== undefined || this.lender === undefined)) this.#call.cancel();
    };
    // Where this process was busy until then, a response that has arrived is received first.
    this.#timer = setTimeout(() => setImmediate(end), RESPONSE_MS).unref();
  }

  async #run(): Promise<void> {
    let error: Error | undefined;
    try {
      for await (const { message } of this.#call.responses) {
        // After `close`, responses that have arrived before are not applied.
        if (this.#ended) break;
        clearTimeout(this.#timer);
        if (message?.$case === "hello") this.lender = message.value.lender;
        else this.#take(message?.$case === "loans" ? message.value.loans : []);
        this.#listener.onReady(this);
      }
    } catch (thrown) {
      error = thrown as Error;
    }
    this.close();
    this.#listener.onEnd(this, error);
  }

  #take(loans: readonly Loan[]): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending === undefined || loans.length !== pending.count) {
      throw new Error(`the authority sent ${loans.length} loans, not ${pending?.count ?? 0}`);
    }
    pending.receive(loans, pending.sent);
  }
}
