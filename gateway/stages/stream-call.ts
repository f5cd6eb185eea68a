/**
 * One streaming call over a channel, in wire bytes. It ends with the service's status, when the
 * guard no longer admits the caller, or when the gateway stops it.
 *
 * The call is opened at the service when its first message has arrived, however late that is. The
 * guard decides again at that time, because what it decided before the message may be out of date.
 *
 * The guard lets no message of the stream pass while it has no lease, or looks the caller up again.
 * Then messages that have arrived wait here, and the gateway asks neither side for more. A message
 * of the client waits too while a limit of calls counts it.
 */
import type { Admission, FollowedStream, Guard } from "../../src/call/admission.js";
import type { LimitedCall } from "../../src/call/limited-call.js";
import { type Metadata, NO_METADATA } from "../../src/call/metadata.js";
import { Code, StatusError } from "../../src/errors.js";
import type { CallListener, CallStart, OutgoingCall, Status } from "../../src/rpc/channel.js";
import type { EndpointTarget, Route } from "../catalog/target.js";
import type { Failure } from "../http/errors.js";

/** How an admitted call begins. */
export type AdmittedStart = CallStart & { readonly admission: Admission };

/** What a dialect needs to make a streaming call, and to report how it went. */
export interface StreamCallOptions {
  readonly route: Route;
  /** The endpoint, by the contract of the instance that is called. */
  readonly target: EndpointTarget;
  readonly guard: Guard;
  /** The decision by which the stream was opened. */
  readonly admission: Admission;
  /** Counts each message of the client; undefined where no limit does. */
  readonly limited?: LimitedCall | undefined;
  /** When the call must have ended, in milliseconds of `performance.now()`; undefined for never. */
  readonly deadlineMonotonicMs: number | undefined;
  /**
   * Returns how the call begins. Where the first message came later than the last decision, the
   * guard decides again first.
   * @throws {StatusError} (rejects) for a call that is rejected
   */
  readonly begin: () => Promise<AdmittedStart>;
  /**
   * Resolves when the details of an error can be written; undefined where they can be written at
   * once.
   */
  readonly completeDetails: (status: Status) => Promise<void> | undefined;
  /** Converts an error into what the client gets, and stores the rest for the log. */
  readonly toFailure: (error: Error) => Failure;
  /**
   * Stores what a reply that is not a stream takes from the service's metadata: an error, or the
   * response to an upload.
   */
  readonly onMetadata: (headers: Metadata, trailers: Metadata) => void;
  /** Called when a stream ends, unless it failed before its response began. */
  readonly onEnd: (end: StreamEnd) => void;
  /**
   * A stream over plain HTTP gets a heartbeat each time this many milliseconds pass without data.
   */
  readonly heartbeatMs: number;
}

/** How a stream ended. */
export interface StreamEnd {
  /** The final HTTP status. It may differ from the status with which the response began. */
  readonly status: number;
  /** Bytes sent to the client. */
  readonly bytes: number;
  /** Messages sent to the client. */
  readonly messages: number;
  /** Messages received from the client, over a WebSocket. */
  readonly received?: number;
}

/**
 * Receives the events of the call. Its methods are never called from within the constructor, `send`
 * or `end`.
 */
export interface StreamCallListener {
  /** The service's headers, before its first message; called at most once. */
  onHeaders?(headers: Metadata): void;
  onMessage(message: Uint8Array): void;
  /** More may be sent, after a `send` that returned false. */
  onDrain(): void;
  /** The last event, exactly once. Without an error the call succeeded. */
  onClose(error: Error | undefined, trailers: Metadata): void;
}

export class StreamCall implements CallListener {
  readonly #options: StreamCallOptions;
  readonly #listener: StreamCallListener;
  #admission: Admission;
  #followed: FollowedStream;
  #call: OutgoingCall | undefined;
  #begun = false;
  /**
   * Messages for the service. They wait until the call is opened, or until the guard lets messages
   * pass again.
   */
  #unsent: Uint8Array[] = [];
  /** Messages that wait until those before them have been counted. */
  #uncounted: Uint8Array[] = [];
  #isCounting = false;
  /** Headers of the service that wait until the guard lets messages pass again. */
  #headers: Metadata | undefined;
  /** All headers of the service, where an error may take its HTTP status from them. */
  #statusHeaders: Metadata = NO_METADATA;
  /**
   * Messages of the service that wait until the guard lets messages pass again. The end that came
   * after them waits in `#status`.
   */
  #received: Uint8Array[] = [];
  #status: Status | undefined;
  /**
   * Ends the call at its deadline, as long as the call is not opened at the service. Later the
   * channel does that.
   */
  readonly #timer: NodeJS.Timeout | undefined;
  #ended = false;
  /**
   * Types in the first message of `#received` are being fetched. The message is passed on
   * afterwards.
   */
  #fetchingTypes = false;
  /** How many times types have been fetched for the first message of `#received`. */
  #fetches = 0;
  #paused = false;
  #isOver = false;

  constructor(options: StreamCallOptions, listener: StreamCallListener) {
    const { admission, deadlineMonotonicMs } = options;
    this.#options = options;
    this.#listener = listener;
    this.#admission = admission;
    this.#followed = options.guard.follow(admission, this);
    if (deadlineMonotonicMs !== undefined) {
      const late = new StatusError(Code.DEADLINE_EXCEEDED, "Deadline exceeded");
      this.#timer = setTimeout(() => this.stop(late), Math.min(deadlineMonotonicMs - performance.now(), MAX_TIMER));
    }
  }

  /** @returns false to ask for no more until `onDrain` */
  send(message: Uint8Array): boolean {
    if (this.#isOver) return true;
    const { limited } = this.#options;
    if (limited !== undefined && !this.#count(message, limited)) return false;
    if (this.#call === undefined) this.#begin();
    if (this.#call !== undefined && this.#unsent.length === 0 && this.#followed.mayPass())
      return this.#call.send(message);
    this.#unsent.push(message);
    return false;
  }

  /** No more messages will be sent. */
  end(): void {
    if (this.#isOver) return;
    this.#ended = true;
    if (this.#isCounting) return;
    if (this.#call === undefined) this.#begin();
    if (this.#unsent.length === 0) this.#call?.end();
  }

  /** @returns whether the message may be sent now; otherwise it waits, or ends the call */
  #count(message: Uint8Array, limited: LimitedCall): boolean {
    if (!this.#isCounting) {
      const counting = countMessage(limited);
      if (counting === undefined) return true;
      this.#isCounting = true;
      void this.#countOn(counting, limited);
    }
    this.#uncounted.push(message);
    return false;
  }

  /** Counts the messages that wait one after the other, and sends them. */
  async #countOn(first: Promise<void>, limited: LimitedCall): Promise<void> {
    try {
      for (let counting: void | Promise<void> = first; ; counting = limited.message()) {
        await counting;
        if (this.#isOver) return;
        this.#unsent.push(this.#uncounted.shift() as Uint8Array);
        if (this.#uncounted.length === 0) break;
      }
      this.#isCounting = false;
      if (this.#call === undefined) this.#begin();
      this.#sendOn();
    } catch (error) {
      this.stop(error as Error);
    }
  }

  pause(): void {
    this.#paused = true;
    this.#call?.pause();
  }

  resume(): void {
    this.#paused = false;
    if (this.#received.length === 0) this.#call?.resume();
  }

  /**
   * Ends the call at once, on both sides. When this returns, the listener's `onClose` has been
   * called with the error.
   */
  stop(error: Error): void {
    if (this.#isOver) return;
    this.#call?.cancel();
    this.#finish(error);
  }

  onHeaders(headers: Metadata): void {
    if (this.#isOver) return;
    if (this.#options.target.statuses !== undefined) this.#statusHeaders = headers;
    if (this.#listener.onHeaders === undefined) return;
    if (this.#followed.mayPass()) this.#listener.onHeaders(headers);
    else this.#headers = headers;
  }

  onMessage(message: Uint8Array): void {
    if (this.#isOver) return;
    if (this.#received.length === 0 && this.#followed.mayPass() && this.#pass(message)) return;
    this.#received.push(message);
    this.#call?.pause();
  }

  /**
   * Passes a message on.
   * @returns false where the message has to wait, because types in it are being fetched
   */
  #pass(message: Uint8Array): boolean {
    if (this.#fetchingTypes) return false;
    const { target, deadlineMonotonicMs } = this.#options;
    const asked = target.attempt(() => this.#listener.onMessage(message), this.#fetches, deadlineMonotonicMs);
    if (asked === undefined) {
      this.#fetches = 0;
      return true;
    }
    this.#fetchingTypes = true;
    this.#fetches++;
    void asked.then(() => {
      this.#fetchingTypes = false;
      if (!this.#isOver) this.onResumed();
    });
    return false;
  }

  onDrain(): void {
    if (!this.#isOver) this.#listener.onDrain();
  }

  onEnd(status: Status): void {
    if (this.#isOver) return;
    this.#status = status;
    if (this.#received.length > 0) return;
    const completed = this.#options.completeDetails(status);
    if (completed === undefined) this.#end(status);
    else void completed.then(() => this.#end(status));
  }

  #end(status: Status): void {
    if (this.#isOver) return;
    const { target } = this.#options;
    const error = status.code === Code.OK ? undefined : target.toCallError(status, this.#statusHeaders);
    this.#finish(error, status.trailers);
  }

  /**
   * Ends the call here, because an external service has no guard of its own. A registered service
   * has one.
   */
  onRefused(error: Error): void {
    this.stop(error);
  }

  onResumed(): void {
    this.#sendOn();
    if (this.#headers !== undefined && this.#followed.mayPass()) {
      this.#listener.onHeaders?.(this.#headers);
      this.#headers = undefined;
    }
    while (this.#received.length > 0 && this.#followed.mayPass()) {
      const message = this.#received.shift() as Uint8Array;
      if (this.#pass(message)) continue;
      this.#received.unshift(message);
      break;
    }
    if (this.#isOver || this.#received.length > 0) return;
    if (this.#status !== undefined) this.onEnd(this.#status);
    else if (!this.#paused) this.#call?.resume();
  }

  /** Sends the messages that wait for the service. */
  #sendOn(): void {
    if (this.#call === undefined || this.#unsent.length === 0) return;
    let more = true;
    while (this.#unsent.length > 0) {
      if (!this.#followed.mayPass()) return;
      more = this.#call.send(this.#unsent.shift() as Uint8Array);
    }
    if (this.#isCounting) return;
    if (this.#ended) this.#call.end();
    if (more) this.#listener.onDrain();
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#options
      .begin()
      .then((start) => this.#open(start))
      .catch((error) => this.stop(error));
  }

  /** Opens the call, and sends the messages that have waited for it. */
  #open(start: AdmittedStart): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    if (start.admission !== this.#admission) {
      this.#followed.end();
      this.#admission = start.admission;
      this.#followed = this.#options.guard.follow(start.admission, this);
    }
    this.#call = this.#options.target.channel.open(start, this);
    if (this.#paused) this.#call.pause();
    if (this.#ended && this.#unsent.length === 0) this.#call.end();
    this.#sendOn();
  }

  #finish(error: Error | undefined, trailers = NO_METADATA): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#followed.end();
    this.#unsent = [];
    this.#uncounted = [];
    this.#received = [];
    this.#listener.onClose(error, trailers);
  }
}

/** @returns a promise that rejects where a limit refuses the message, so that nothing is thrown */
function countMessage(limited: LimitedCall): void | Promise<void> {
  try {
    return limited.message();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** The maximum delay of `setTimeout`, in milliseconds. */
const MAX_TIMER = 2 ** 31 - 1;
