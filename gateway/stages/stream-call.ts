/**
 * One call of any streaming shape, from wire bytes to wire bytes, for as long as it may last: it ends with the service's
 * status, or when the rule or the token that admitted it is gone, or when it is stopped from this side.
 *
 * The call is opened at the service with its first message, and judged again at that moment: a client may take as long
 * as it likes between opening a stream and sending on it, and what the service is told of its caller must not be older
 * than the message.
 */

import type { Admission, Guard } from "../../src/access/guard.js";
import { Code, StatusError } from "../../src/errors.js";
import type { Call, CallListener, CallStart, Channel, Status } from "../../src/rpc/channel.js";
import { failureOf } from "./unary-call.js";

/** How an admitted call begins. */
export type AdmittedStart = CallStart & { readonly admission: Admission };

export interface StreamCallOptions {
  readonly channel: Channel;
  readonly guard: Guard;
  /** By which the stream was opened. */
  readonly admission: Admission;
  /** When the call must have ended, in milliseconds of `Date.now()`; undefined for never. */
  readonly deadline: number | undefined;
  /**
   * Judges the call at its first message, and says how it begins.
   * @throws {StatusError} (or rejects with one) for a call that is refused.
   */
  readonly begin: () => AdmittedStart | Promise<AdmittedStart>;
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
  readonly #options: StreamCallOptions;
  readonly #listener: StreamListener;
  #admission: Admission;
  #unfollow: () => void;
  #call: Call | undefined;
  /** What was sent while the call was being judged: it is opened when that is done. */
  #held: Uint8Array[] | undefined;
  /** Ends a call that has a deadline and no message; from the first one on, the channel does. */
  readonly #timer: NodeJS.Timeout | undefined;
  #ended = false;
  #paused = false;
  #over = false;

  constructor(options: StreamCallOptions, listener: StreamListener) {
    const { admission, deadline } = options;
    this.#options = options;
    this.#listener = listener;
    this.#admission = admission;
    this.#unfollow = this.#follow(admission);
    if (deadline !== undefined) {
      const late = new StatusError(Code.DEADLINE_EXCEEDED, "Deadline exceeded");
      this.#timer = setTimeout(() => this.stop(late), Math.min(deadline - Date.now(), MAX_TIMER));
    }
  }

  /** False means: wait for `onDrain` before the next one. */
  send(message: Uint8Array): boolean {
    if (this.#over) return true;
    if (this.#call === undefined) this.#begin();
    if (this.#call !== undefined) return this.#call.send(message);
    this.#held?.push(message);
    return false;
  }

  /** No more messages will be sent. */
  end(): void {
    if (this.#over) return;
    this.#ended = true;
    if (this.#call === undefined) this.#begin();
    this.#call?.end();
  }

  pause(): void {
    this.#paused = true;
    this.#call?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#call?.resume();
  }

  /** Ends the call at once, on both sides; `onOver` is given the reason before this returns. */
  stop(error: Error): void {
    if (this.#over) return;
    this.#call?.cancel();
    this.#finish(error);
  }

  onMessage(message: Uint8Array): void {
    if (!this.#over) this.#listener.onMessage(message);
  }

  onDrain(): void {
    if (!this.#over) this.#listener.onDrain();
  }

  onEnd(status: Status): void {
    if (this.#over) return;
    this.#finish(status.code === Code.OK ? undefined : failureOf(this.#admission.endpoint.service, status));
  }

  /** A service asks its own guard too, but a foreign one has none. */
  #follow(admission: Admission): () => void {
    return this.#options.guard.follow(admission, (error) => this.stop(error));
  }

  #begin(): void {
    if (this.#held !== undefined) return;
    this.#held = [];
    try {
      const start = this.#options.begin();
      if (!(start instanceof Promise)) this.#open(start);
      else start.then((given) => this.#openLate(given)).catch((error) => this.stop(error));
    } catch (error) {
      queueMicrotask(() => this.stop(error as Error));
    }
  }

  #open(start: AdmittedStart): void {
    clearTimeout(this.#timer);
    if (start.admission !== this.#admission) {
      this.#unfollow();
      this.#admission = start.admission;
      this.#unfollow = this.#follow(start.admission);
    }
    this.#call = this.#options.channel.open(start, this);
    if (this.#paused) this.#call.pause();
  }

  /** Opens the call, and sends what was held meanwhile. */
  #openLate(start: AdmittedStart): void {
    if (this.#over) return;
    this.#open(start);
    let more = true;
    for (const message of this.#held ?? []) more = this.#call?.send(message) ?? true;
    if (this.#ended) this.#call?.end();
    if (more) this.#listener.onDrain();
  }

  #finish(error: Error | undefined): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#unfollow();
    this.#listener.onOver(error);
  }
}

/** The longest time that a timer of Node takes, in milliseconds. */
const MAX_TIMER = 2 ** 31 - 1;
