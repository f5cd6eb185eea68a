/**
 * The channel within a process: no socket, and messages go over by reference, as bytes that neither side changes.
 *
 * What the caller does reaches the endpoint at once. What the endpoint answers reaches the caller at once too, except
 * while the caller is itself inside the call (`open`, `send`, `end` …): then it waits for a microtask, one for all that
 * has gathered.
 */
import { Code } from "../../errors.js";
import type { Call, CallListener, CallStart, Channel, Status } from "../channel.js";
import type { Dispatcher } from "../dispatch.js";
import { type Indexed, IndexedList } from "../indexed-list.js";
import type { Metadata } from "../metadata.js";
import type { IncomingListener, Reply } from "../server-call.js";
import { cancelled, channelClosed, closedDuringCall, protocolError } from "../status.js";

/** What the endpoint takes for the caller's address when the caller names none. */
const PEER = "in-process";

export class InProcessChannel implements Channel {
  readonly #dispatcher: Dispatcher;
  readonly #open = new IndexedList<ReplyEnd>();
  #state: "ready" | "closed" = "ready";

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  get state(): "ready" | "closed" {
    return this.#state;
  }

  open(start: CallStart, listener: CallListener): Call {
    const reply = new ReplyEnd(listener, this.#open, this.#dispatcher.maxMessage);
    const call = new CallerEnd(reply);
    if (this.#state === "closed") call.abort(channelClosed());
    else call.start(this.#dispatcher, start);
    return call;
  }

  close(): void {
    this.#state = "closed";
    for (const reply of this.#open) reply.abort(closedDuringCall());
  }
}

/** The caller's end. Everything it does is bracketed, so that nothing comes back to the caller meanwhile. */
class CallerEnd implements Call {
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

/** The endpoint's end, which delivers to the caller. */
class ReplyEnd implements Reply, Indexed {
  index = -1;
  endpoint: IncomingListener | undefined;
  /** The caller takes no messages for now. */
  paused = false;
  /** The endpoint takes no messages for now. */
  requestsPaused = false;

  readonly #listener: CallListener;
  readonly #open: IndexedList<ReplyEnd>;
  readonly #maxMessage: number;
  /** How many of the caller's uses of this call are on the stack. */
  #inside = 0;
  #scheduled = false;
  #delivering = false;

  // What the caller has not been told yet, in the order of telling.
  #headers: Metadata | undefined;
  #messages: Uint8Array[] = [];
  #drained = false;
  #status: Status | undefined;
  /** The caller has been told the status. */
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
      this.abort(protocolError(Code.RESOURCE_EXHAUSTED, `a message is larger than ${this.#maxMessage} bytes`));
      return true;
    }
    this.#headersSent = true;
    this.#messages.push(message);
    this.#deliver();
    this.#endpointWaits = this.#messages.length > 0;
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

  /** Ends the call for both ends. What the caller has not been told, it is not told any more. */
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

  /** The caller is about to return to its own code, which must not find itself called back: hence the microtask. */
  leave(): void {
    this.#inside--;
    if (this.#inside > 0 || this.#delivering || this.#scheduled || !this.#isDue()) return;
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
      while (this.#isDue()) this.#tell();
    } finally {
      this.#delivering = false;
    }
    if (this.#endpointWaits && this.#messages.length === 0) {
      this.#endpointWaits = false;
      this.endpoint?.onDrain();
    }
  }

  #isDue(): boolean {
    if (this.#over) return false;
    if (this.#headers !== undefined || this.#drained) return true;
    if (this.#messages.length > 0 && !this.paused) return true;
    return this.#status !== undefined && (this.#messages.length === 0 || this.#status.code !== Code.OK);
  }

  /** Tells the caller the next thing that is due. */
  #tell(): void {
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
