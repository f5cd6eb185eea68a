/**
 * One call while its endpoint answers it. All four shapes run here: a request that is one message is handed over as
 * such, one that is a stream as a MessageQueue; an answer that is one message is sent when it is there, one that is a
 * stream is pulled at the pace the transport takes it.
 *
 * The guard judges each call twice: when it opens, so that a caller who is refused cannot make this process hold a
 * message; and again when the message has come, of a stream the first one, because a rule may have been deleted since.
 * A call that carries the admission of this process's own gateway is not judged here: the gateway judges it at the same
 * two moments.
 *
 * A unary call whose endpoint answers at once costs no promise, and no AbortController unless it asks for `signal`.
 */
import type { Logger } from "pino";
import { type Admission, type Guard, SYSTEM } from "../access/admission.js";
import { DEFAULT_NAMESPACE } from "../contract/names.js";
import { Code, StatusError } from "../errors.js";
import type { CallStart, Status } from "./channel.js";
import type { Deadlines, Expiring } from "./deadlines.js";
import { MessageQueue } from "./message-queue.js";
import { type Metadata, NO_METADATA } from "./metadata.js";
import type { IncomingListener, Reply } from "./server-call.js";
import type { Context } from "./service.js";
import { toStatus } from "./status.js";

/** An endpoint, with all that a call needs of it worked out. */
export interface ServedMethod {
  /** Canonical name, `helloworld:Helloworld.Call`. */
  readonly name: string;
  /** gRPC path, `/helloworld.Helloworld/Call`. */
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  /** @throws {StatusError} INVALID_ARGUMENT for bytes that are not the endpoint's message. */
  readonly decode: (bytes: Uint8Array) => unknown;
  readonly encode: (response: unknown) => Uint8Array;
  readonly run: (request: unknown, context: Context) => unknown;
  /** The calls that run now, of an endpoint whose calls never end by themselves: a stop ends them. */
  readonly running?: Set<RunningCall> | undefined;
}

/** Who calls, as the guard has established. */
export interface Admitted {
  readonly admission: Admission | typeof SYSTEM | undefined;
  readonly clientAddress: string;
}

export interface Surroundings {
  readonly guard: Guard;
  /**
   * Has the guard judge a call; a promise only where the caller must be looked up.
   * @param opened whether it was admitted before, when it opened
   * @throws {StatusError} (or rejects with one) for a call that is refused.
   */
  readonly admit: (
    method: ServedMethod,
    start: CallStart,
    peer: string,
    opened: boolean,
  ) => Admitted | Promise<Admitted>;
  readonly log: Logger;
  /** Most bytes of a request's message. Of a response's the caller's end decides. */
  readonly maxBody: number;
  readonly deadlines: Deadlines;
  /** A call from outside of this process has ended. */
  readonly onEnd: ((call: CallEnd) => void) | undefined;
}

/** What there is to tell of a call that has ended. */
export interface CallEnd {
  /** gRPC path. */
  readonly path: string;
  readonly code: Code;
  readonly milliseconds: number;
  readonly metadata: Metadata;
  /** Undefined for nobody, and where the guard let nobody in. */
  readonly caller: Admission["caller"];
  readonly namespace: string | undefined;
}

/** So many responses are sent without a pause; then timers and other calls have their turn. */
const MAX_ANSWERS_IN_A_ROW = 64;

export class RunningCall implements IncomingListener, Expiring {
  index = -1;
  readonly deadline: number;
  readonly #method: ServedMethod;
  readonly #start: CallStart;
  readonly #reply: Reply;
  readonly #surroundings: Surroundings;
  readonly #started: number;
  readonly #peer: string;
  /** What the guard said when the call opened, until the request is there. */
  #admitted: Admitted | undefined;
  /** The first message of a stream has come. */
  #received = false;
  #context: CallContext | undefined;
  /** The request of an endpoint that takes one message. */
  #request: Uint8Array | undefined;
  /** The requests of an endpoint that takes a stream. */
  #requests: MessageQueue<unknown> | undefined;
  #requestEnded = false;
  #responses: AsyncIterator<unknown> | undefined;
  #wake: (() => void) | undefined;
  #unfollow: (() => void) | undefined;
  #ended = false;

  /**
   * @param peer the address at the other end of the transport, without port
   * @param deadline in milliseconds of `Date.now()`; Infinity for none
   */
  constructor(
    method: ServedMethod,
    start: CallStart,
    peer: string,
    reply: Reply,
    surroundings: Surroundings,
    deadline: number,
  ) {
    this.#method = method;
    this.#start = start;
    this.#peer = peer;
    this.#reply = reply;
    this.#surroundings = surroundings;
    this.deadline = deadline;
    this.#started = surroundings.onEnd === undefined ? 0 : performance.now();
    if (deadline !== Number.POSITIVE_INFINITY) surroundings.deadlines.add(this);
    if (method.requestStream) {
      this.#requests = new MessageQueue(method.decode, {
        pause: () => reply.pause(),
        resume: () => reply.resume(),
        // An endpoint may stop reading and go on answering: what else is sent is let through, and dropped.
        abandon: () => reply.resume(),
      });
    }
  }

  /** Has the guard judge the call, and lets it run where the request is there. */
  admit(): void {
    try {
      const opened = this.#admitted !== undefined;
      const admitted = this.#surroundings.admit(this.#method, this.#start, this.#peer, opened);
      if (admitted instanceof Promise) {
        admitted.then((who) => this.#onAdmitted(who)).catch((error) => this.fail(error));
      } else this.#onAdmitted(admitted);
    } catch (error) {
      this.fail(error);
    }
  }

  #onAdmitted(admitted: Admitted): void {
    if (this.#ended) return;
    if (admitted.admission !== SYSTEM) this.#method.running?.add(this);
    if (this.#requests !== undefined) this.#run(this.#requests, admitted);
    // The request came before this was said, so what is said is not older than the request.
    else if (this.#requestEnded) this.#runOne(admitted);
    else this.#admitted = admitted;
  }

  /** Judges an open stream at its first message. From then on, and while a caller is looked up, `follow` does. */
  #admitAgain(): void {
    try {
      const admitted = this.#surroundings.admit(this.#method, this.#start, this.#peer, true);
      if (admitted instanceof Promise) admitted.catch((error) => this.#abort(StatusError.from(error)));
    } catch (error) {
      this.#abort(StatusError.from(error));
    }
  }

  /** Ends the call with what was thrown. The unforeseen is logged here, and says nothing to the caller. */
  fail(thrown: unknown): void {
    if (this.#ended) return;
    const foreseen = thrown instanceof StatusError && thrown.code !== Code.OK;
    const error = foreseen ? thrown : new StatusError(Code.INTERNAL, "Internal error", { cause: thrown });
    if (!foreseen || (error.code === Code.INTERNAL && error.cause !== undefined)) {
      const err = error.cause ?? error;
      this.#surroundings.log.error({ err, endpoint: this.#method.name }, "an endpoint failed unforeseen");
    }
    this.#end(toStatus(error, this.#context?.trailers));
    this.#leaveResponses();
  }

  onMessage(message: Uint8Array): void {
    if (this.#ended) return;
    if (message.length > this.#surroundings.maxBody) this.#abort(this.#tooLarge());
    else if (this.#requests !== undefined) this.#pass(message, this.#requests);
    else if (this.#request !== undefined) this.#abort(this.#notOneRequest());
    else this.#request = message;
  }

  #pass(message: Uint8Array, requests: MessageQueue<unknown>): void {
    if (!this.#received) {
      this.#received = true;
      if (this.#context !== undefined && this.#start.admission === undefined) this.#admitAgain();
      if (this.#ended) return;
    }
    requests.push(message);
  }

  onEnd(): void {
    if (this.#ended || this.#requestEnded) return;
    this.#requestEnded = true;
    if (this.#requests !== undefined) this.#requests.end();
    else if (this.#request === undefined) this.#abort(this.#notOneRequest());
    else if (this.#admitted === undefined) return;
    else if (this.#start.admission !== undefined) this.#runOne(this.#admitted);
    else this.admit();
  }

  onDrain(): void {
    this.#wake?.();
  }

  /** Ends the call because this process stops. */
  stop(why: StatusError): void {
    this.#abort(why);
  }

  onCancel(): void {
    this.#abort(new StatusError(Code.CANCELLED, "Cancelled"));
  }

  expire(): void {
    this.#abort(new StatusError(Code.DEADLINE_EXCEEDED, "Deadline exceeded"));
  }

  #follow(admission: Admission): void {
    const unfollow = this.#surroundings.guard.follow(admission, (error) => this.#abort(StatusError.from(error)));
    if (this.#ended) unfollow();
    else this.#unfollow = unfollow;
  }

  #runOne(admitted: Admitted): void {
    try {
      this.#run(this.#method.decode(this.#request as Uint8Array), admitted);
    } catch (error) {
      this.fail(error);
    }
  }

  #run(request: unknown, { admission, clientAddress }: Admitted): void {
    if (this.#ended) return;
    this.#context = new CallContext(this.#method, this.#start, this.#reply, this.deadline, admission, clientAddress);
    const streams = this.#method.requestStream || this.#method.responseStream;
    if (streams && admission !== undefined && admission !== SYSTEM) this.#follow(admission);
    if (this.#ended) return;
    try {
      const answer = this.#method.run(request, this.#context as CallContext);
      if (this.#method.responseStream) void this.#sendAll(answer as AsyncIterable<unknown>);
      else if (isPromise(answer)) {
        answer.then(
          (response) => this.#sendOne(response),
          (error) => this.fail(error),
        );
      } else this.#sendOne(answer);
    } catch (error) {
      this.fail(error);
    }
  }

  #sendOne(response: unknown): void {
    if (this.#ended) return;
    try {
      this.#reply.send(this.#method.encode(response));
      this.#end(this.#success());
    } catch (error) {
      this.fail(error);
    }
  }

  async #sendAll(responses: AsyncIterable<unknown>): Promise<void> {
    try {
      const iterator = responses[Symbol.asyncIterator]();
      this.#responses = iterator;
      let sent = 0;
      for (;;) {
        const { done, value } = await iterator.next();
        if (this.#ended) return;
        if (done) break;
        if (!this.#reply.send(this.#method.encode(value))) await this.#drained();
        else if (++sent % MAX_ANSWERS_IN_A_ROW === 0) await new Promise(setImmediate);
        if (this.#ended) return;
      }
      this.#end(this.#success());
    } catch (error) {
      this.fail(error);
    }
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Ends the call from outside, while its endpoint may still be at work. */
  #abort(error: StatusError): void {
    if (this.#ended) return;
    this.#end(toStatus(error, this.#context?.trailers));
    this.#context?.abort(error);
    this.#requests?.fail(error);
    this.#leaveResponses();
  }

  #end(status: Status): void {
    this.#ended = true;
    this.#surroundings.deadlines.delete(this);
    this.#unfollow?.();
    this.#method.running?.delete(this);
    this.#reply.end(status);
    this.#wake?.();
    if (this.#start.admission === undefined) this.#report(status.code);
  }

  #report(code: Code): void {
    const { path, metadata } = this.#start;
    const { caller, namespace } = this.#context ?? {};
    const milliseconds = performance.now() - this.#started;
    this.#surroundings.onEnd?.({ path, code, milliseconds, metadata, caller, namespace });
  }

  /** Lets the endpoint's generator clean up. A generator that is at work does so when it comes to its next `yield`. */
  #leaveResponses(): void {
    const failed = (err: unknown): void =>
      this.#surroundings.log.error({ err, endpoint: this.#method.name }, "an endpoint failed at cleaning up");
    try {
      this.#responses?.return?.()?.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  #success(): Status {
    const trailers = this.#context?.trailers ?? NO_METADATA;
    return { code: Code.OK, message: "", details: [], trailers };
  }

  #tooLarge(): StatusError {
    const most = this.#surroundings.maxBody;
    return new StatusError(Code.RESOURCE_EXHAUSTED, `the request to ${this.#method.name} is larger than ${most} bytes`);
  }

  #notOneRequest(): StatusError {
    return new StatusError(Code.UNIMPLEMENTED, `${this.#method.name} takes exactly one request message`);
  }
}

class CallContext implements Context {
  readonly caller: Context["caller"];
  readonly namespace: string;
  readonly system: boolean;
  readonly endpoint: string;
  readonly metadata: Metadata;
  readonly deadline: number | undefined;
  readonly clientAddress: string;
  trailers: Metadata = NO_METADATA;
  readonly #reply: Reply;
  #controller: AbortController | undefined;
  #aborted: Error | undefined;

  constructor(
    method: ServedMethod,
    start: CallStart,
    reply: Reply,
    deadline: number,
    admission: Admitted["admission"],
    clientAddress: string,
  ) {
    const proof = admission === SYSTEM ? undefined : admission;
    this.caller = proof?.caller;
    this.namespace = proof?.namespace ?? DEFAULT_NAMESPACE;
    this.system = admission === SYSTEM;
    this.endpoint = method.name;
    this.metadata = start.metadata;
    this.deadline = deadline === Number.POSITIVE_INFINITY ? undefined : deadline;
    this.clientAddress = clientAddress;
    this.#reply = reply;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#aborted = reason;
    this.#controller?.abort(reason);
  }

  sendHeaders(metadata: Metadata): void {
    this.#reply.sendHeaders(metadata);
  }

  setTrailers(metadata: Metadata): void {
    this.trailers = metadata;
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as Promise<unknown> | undefined)?.then === "function";
}
