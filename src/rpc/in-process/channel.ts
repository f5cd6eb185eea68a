/**
 * The channel within a process. There is no socket: messages are passed by reference, as bytes that
 * neither end changes.
 *
 * The endpoint gets the caller's messages synchronously. The caller gets the endpoint's events
 * synchronously too, except while it is inside a method of the call (`open`, `send`, `end` …). Then
 * they are delivered together in a microtask.
 */

import type { Metadata } from "../../call/metadata.js";
import { Code } from "../../errors.js";
import type {
  CallListener,
  CallResponder,
  CallStart,
  Channel,
  IncomingListener,
  OutgoingCall,
  Status,
} from "../channel.js";
import type { Dispatcher } from "../dispatch.js";
import { type Indexed, IndexedList } from "../open-calls.js";
import { cancelled, channelClosed, closedDuringCall, largerThan, responseTooLarge } from "../status.js";

/** The client address of a call that states none. */
const PEER = "in-process";

export class InProcessChannel implements Channel {
  state: "ready" | "closed" = "ready";
  readonly #dispatcher: Dispatcher;
  readonly #open = new IndexedList<ReplyEnd>();

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  open(start: CallStart, listener: CallListener): OutgoingCall {
    const reply = new ReplyEnd(listener, this.#open, this.#dispatcher.maxMessage);
    const call = new CallerEnd(reply);
    if (this.state === "closed") call.abort(channelClosed());
    else call.start(this.#dispatcher, start);
    return call;
  }

  close(): void {
    this.state = "closed";
    for (const reply of this.#open) reply.abort(closedDuringCall());
  }
}

/**
 * The caller's end. Each method begins with `enter` and ends with `leave`. Between them no event
 * reaches the caller.
 */
class CallerEnd implements OutgoingCall {
  readonly #reply: ReplyEnd;

  constructor(reply: ReplyEnd) {
    this.#reply = reply;
  }

  start(dispatcher: Dispatcher, start: CallStart): void {
    this.#reply.enter();
    this.#reply.endpoint = dispatcher.open(start, PEER, this.#reply);
    this.#reply.leave();
  }

  send(message: Uint8Array): boolean {
    this.#reply.enter();
    this.#reply.endpoint?.onMessage(message);
    this.#reply.leave();
    return !this.#reply.requestsPaused;
  }

  end(): void {
    this.#reply.enter();
    this.#reply.endpoint?.onEnd();
    this.#reply.leave();
  }

  cancel(): void {
    this.abort(cancelled());
  }

  pause(): void {
    this.#reply.paused = true;
  }

  resume(): void {
    this.#reply.enter();
    this.#reply.paused = false;
    this.#reply.leave();
  }

  abort(status: Status): void {
    this.#reply.enter();
    this.#reply.abort(status);
    this.#reply.leave();
  }
}

/** The endpoint's end. It delivers its events to the caller. */
class ReplyEnd implements CallResponder, Indexed {
  index = -1;
  endpoint: IncomingListener | undefined;
  /** The caller accepts no messages now. */
  paused = false;
  /** The endpoint accepts no messages now. */
  requestsPaused = false;

  readonly #listener: CallListener;
  readonly #open: IndexedList<ReplyEnd>;
  readonly #maxMessage: number;
  /** How many methods of this call the caller is inside (they can be nested). */
  #inside = 0;
  #scheduled = false;
  #delivering = false;

  // Events that are not delivered to the caller yet, in the order of delivery.
  #headers: Metadata | undefined;
  #messages: Uint8Array[] = [];
  #drained = false;
  #status: Status | undefined;
  #over = false;

  #headersSent = false;
  /** The endpoint waits for `onDrain`. */
  #endpointWaits = false;

  constructor(listener: CallListener, open: IndexedList<ReplyEnd>, maxMessage: number) {
    this.#listener = listener;
    this.#open = open;
    this.#maxMessage = maxMessage;
    open.add(this);
  }

  sendHeaders(metadata: Metadata): void {
    if (this.#headersSent || this.#status !== undefined) return;
    this.#headersSent = true;
    this.#headers = metadata;
    this.#deliver();
  }

  send(message: Uint8Array): boolean {
    if (this.#status !== undefined) return true;
    if (message.length > this.#maxMessage) {
      this.abort(responseTooLarge(largerThan(this.#maxMessage)));
      return true;
    }
    this.#headersSent = true;
    this.#messages.push(message);
    this.#deliver();
    this.#endpointWaits = this.paused || this.#messages.length > 0;
    return !this.#endpointWaits;
  }

  end(status: Status): void {
    if (this.#status !== undefined) return;
    this.#status = status;
    this.#open.delete(this);
    this.#deliver();
  }

  pause(): void {
    this.requestsPaused = true;
  }

  resume(): void {
    if (!this.requestsPaused) return;
    this.requestsPaused = false;
    this.#drained = true;
    this.#deliver();
  }

  /** Ends the call for both ends. Events that are not delivered yet are dropped. */
  abort(status: Status): void {
    if (this.#over) return;
    this.#headers = undefined;
    this.#messages = [];
    if (this.#status?.code === Code.OK) this.#status = undefined;
    this.end(status);
    this.endpoint?.onCancel();
  }

  enter(): void {
    this.#inside++;
  }

  /**
   * Delivers in a microtask, because the caller's code is still running and must not be called
   * back.
   */
  leave(): void {
    this.#inside--;
    if (this.#inside > 0 || this.#delivering || this.#scheduled) return;
    if (!this.#isDue() && !this.#canSendOn()) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    if (this.#inside > 0 || this.#delivering || this.#scheduled) return;
    this.#delivering = true;
    try {
      while (this.#isDue()) this.#deliverNext();
    } finally {
      this.#delivering = false;
    }
    if (this.#canSendOn()) {
      this.#endpointWaits = false;
      this.endpoint?.onDrain();
    }
  }

  /** Whether the endpoint waits for `onDrain`, and may send again. */
  #canSendOn(): boolean {
    return this.#endpointWaits && !this.paused && this.#messages.length === 0;
  }

  #isDue(): boolean {
    if (this.#over) return false;
    if (this.#headers !== undefined || this.#drained) return true;
    if (this.#messages.length > 0 && !this.paused) return true;
    return this.#status !== undefined && (this.#messages.length === 0 || this.#status.code !== Code.OK);
  }

  #deliverNext(): void {
    if (this.#headers !== undefined) {
      const headers = this.#headers;
      this.#headers = undefined;
      this.#listener.onHeaders?.(headers);
    } else if (this.#messages.length > 0 && !this.paused) {
      this.#listener.onMessage(this.#messages.shift() as Uint8Array);
    } else if (this.#drained) {
      this.#drained = false;
      this.#listener.onDrain?.();
    } else {
      this.#over = true;
      this.#messages = [];
      this.#listener.onEnd(this.#status as Status);
    }
  }
}
