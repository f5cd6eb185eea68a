/**
 * One call of any streaming shape, from wire bytes to wire bytes, for as long as it may last: it ends with the service's
 * status, or when the rule or the token that let it in is gone, or when it is stopped from this side.
 */
import { Code } from "../src/errors.js";
import type { Admission, Guard } from "../src/guard.js";
import type { Call, CallListener, CallStart, Channel, Status } from "../src/rpc/channel.js";
import { failureOf } from "./call.js";

export interface StreamCallOptions {
  readonly channel: Channel;
  readonly start: CallStart;
  readonly guard: Guard;
  readonly admission: Admission;
}

/** What the opener is told; never from within the constructor, `send` or `end`. */
export interface StreamListener {
  onMessage(message: Uint8Array): void;
  /** More may be sent, after a `send` that returned false. */
  onDrain(): void;
  /** The last event; exactly once. No error means that all went well. */
  onOver(error: Error | undefined): void;
}

export class StreamCall implements CallListener {
  readonly #service: string;
  readonly #listener: StreamListener;
  readonly #call: Call;
  readonly #unfollow: () => void;
  #over = false;

  constructor({ channel, start, guard, admission }: StreamCallOptions, listener: StreamListener) {
    this.#service = admission.endpoint.service;
    this.#listener = listener;
    this.#call = channel.open(start, this);
    // A service asks its own guard too, but a foreign one has none.
    this.#unfollow = guard.follow(admission, (error) => this.stop(error));
  }

  /** False means: wait for `onDrain` before the next one. */
  send(message: Uint8Array): boolean {
    return this.#call.send(message);
  }

  /** No more messages will be sent. */
  end(): void {
    this.#call.end();
  }

  pause(): void {
    this.#call.pause();
  }

  resume(): void {
    this.#call.resume();
  }

  /** Ends the call at once, on both sides; `onOver` is given the reason before this returns. */
  stop(error: Error): void {
    if (this.#over) return;
    this.#call.cancel();
    this.#finish(error);
  }

  onMessage(message: Uint8Array): void {
    if (!this.#over) this.#listener.onMessage(message);
  }

  onDrain(): void {
    if (!this.#over) this.#listener.onDrain();
  }

  onEnd(status: Status): void {
    if (!this.#over) this.#finish(status.code === Code.OK ? undefined : failureOf(this.#service, status));
  }

  #finish(error: Error | undefined): void {
    this.#over = true;
    this.#unfollow();
    this.#listener.onOver(error);
  }
}
