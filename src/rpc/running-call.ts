/**
 * One call while its endpoint runs: unary, or a stream in one or both directions. An endpoint gets
 * a single request as a message, and a stream of requests as a MessageQueue. A stream of responses
 * is read from the endpoint as fast as the transport accepts them.
 *
 * The guard admits each call twice. First when the call opens, so a refused caller cannot make this
 * process store a message. Again when its (first) message has arrived, because a rule may have been
 * deleted since. In an overload, a call with one request waits before the second time. A call with
 * the admission of this process's own gateway is not admitted here: the gateway admits it twice.
 *
 * A unary call with a synchronous result allocates no promise.
 */
import type { Logger } from "pino";
import { type Admission, type FollowedStream, type Guard, type StreamListener, SYSTEM } from "../call/admission.js";
import { type Metadata, NO_METADATA } from "../call/metadata.js";
import type { Endpoint } from "../contract/endpoint.js";
import { Code, isStatusCode, StatusError } from "../errors.js";
import { logFailure } from "../log.js";
import type { CallQueue, WaitingPlace } from "../overload/call-queue.js";
import { type CallLimits, deadlineOf, type OwnLimits } from "./call-limits.js";
import type { CallResponder, CallStart, IncomingListener, Status } from "./channel.js";
import { EndpointContext } from "./endpoint-context.js";
import { MessageQueue } from "./message-queue.js";
import type { Deadlines, Expiring } from "./open-calls.js";
import type { BuiltInContext } from "./service.js";
import { cancelled, deadlineExceeded, overloaded, toError, toStatus } from "./status.js";

/** An endpoint as the dispatcher has prepared it for its calls. */
export interface ServedMethod extends OwnLimits {
  /** Canonical name, `helloworld:Helloworld.Call`. */
  readonly name: string;
  /** gRPC path, `/helloworld.Helloworld/Call`. */
  readonly path: string;
  /** Undefined for health and reflection, which are not guarded. */
  readonly endpoint: Endpoint | undefined;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  /** @throws {StatusError} INVALID_ARGUMENT for bytes that are not the endpoint's message */
  readonly decode: (bytes: Uint8Array) => unknown;
  readonly encode: (response: unknown) => Uint8Array;
  readonly run: (request: unknown, context: BuiltInContext) => unknown;
  /** Loads the endpoint's code before its first call; undefined when the code is loaded. */
  readonly load: (() => Promise<void>) | undefined;
  /** Open calls, if the calls never end by themselves. They are ended when the process stops. */
  readonly running?: Set<RunningCall> | undefined;
}

export interface AdmittedCaller {
  readonly admission: Admission | typeof SYSTEM | undefined;
  readonly clientAddress: string;
}

/** What all calls of a dispatcher share. */
export interface CallEnvironment {
  readonly guard: Guard;
  /**
   * Asks the guard to admit a call. Returns a promise only if the caller must be looked up.
   * @param opened whether the call was admitted before, when it opened
   * @throws {StatusError} (or rejects) for a call that is refused
   */
  readonly admit: (
    method: ServedMethod,
    start: CallStart,
    peer: string,
    opened: boolean,
  ) => AdmittedCaller | Promise<AdmittedCaller>;
  readonly log: Logger;
  /** The queue for calls with one request, which may refuse them. Without it all begin at once. */
  readonly callQueue: CallQueue | undefined;
  readonly limits: CallLimits;
  readonly deadlines: Deadlines;
  /** Called when a call to a service has ended, if it came from another process. */
  readonly onEnd: ((call: CallEnd, endpoint: Endpoint) => void) | undefined;
}

/** A call that has ended, for metrics and usage. */
export interface CallEnd {
  readonly code: Code;
  readonly milliseconds: number;
  readonly metadata: Metadata;
  /** Undefined for a call without a token, and for a call that was refused. */
  readonly caller: Admission["caller"];
  readonly namespace: string | undefined;
}

/** Responses of a stream that are sent without a pause. Then timers and other calls get a turn. */
const MAX_RESPONSES_IN_A_ROW = 64;
const NOTHING = new Uint8Array(0);

export class RunningCall implements IncomingListener, Expiring, StreamListener {
  index = -1;
  readonly deadlineMonotonicMs: number;
  readonly #method: ServedMethod;
  readonly #start: CallStart;
  readonly #reply: CallResponder;
  readonly #environment: CallEnvironment;
  readonly #arrived: number;
  readonly #peer: string;
  /** The result of the first `admit`, until the request has arrived. */
  #admitted: AdmittedCaller | undefined;
  /** Set while the call waits for its turn. */
  #waiting: WaitingPlace | undefined;
  /** The first message of a stream has arrived. */
  #received = false;
  #context: EndpointContext | undefined;
  /** The request of an endpoint that takes one message; empty after the endpoint has started. */
  #request: Uint8Array | undefined;
  #requests: MessageQueue<unknown> | undefined;
  #requestEnded = false;
  #responses: AsyncIterator<unknown> | undefined;
  #wake: (() => void) | undefined;
  /**
   * The guard's handle of a stream. Undefined for other calls, and until the stream is admitted.
   */
  #followed: FollowedStream | undefined;
  /** A response that may not be sent now (see FollowedStream.mayPass). */
  #held: IteratorResult<unknown> | undefined;
  #ended = false;

  /** The parameters are the same as in Dispatcher.open. */
  constructor(
    method: ServedMethod,
    start: CallStart,
    peer: string,
    reply: CallResponder,
    environment: CallEnvironment,
    arrived: number,
  ) {
    this.#method = method;
    this.#start = start;
    this.#peer = peer;
    this.#reply = reply;
    this.#environment = environment;
    this.#arrived = arrived;
    this.deadlineMonotonicMs = deadlineOf(method, start.deadlineMonotonicMs, arrived, environment.limits);
    if (this.deadlineMonotonicMs !== Number.POSITIVE_INFINITY) environment.deadlines.add(this);
    if (method.requestStream) {
      this.#requests = new MessageQueue(method.decode, {
        pause: () => reply.pause(),
        resume: () => reply.resume(),
        // An endpoint may stop reading and continue to respond. Later requests are dropped.
        abandon: () => reply.resume(),
      });
    }
  }

  /** Asks the guard to admit the call, and runs its endpoint once the request has arrived. */
  admit(): void {
    try {
      const opened = this.#admitted !== undefined;
      const admitted = this.#environment.admit(this.#method, this.#start, this.#peer, opened);
      if (admitted instanceof Promise) {
        admitted.then((result) => this.#onAdmitted(result)).catch((error) => this.fail(error));
      } else this.#onAdmitted(admitted);
    } catch (error) {
      this.fail(error);
    }
  }

  #onAdmitted(admitted: AdmittedCaller): void {
    if (this.#ended) return;
    if (admitted.admission !== SYSTEM) this.#method.running?.add(this);
    if (this.#requests !== undefined) this.#run(this.#requests, admitted);
    // The request came first, so this admission is not older than the request.
    else if (this.#requestEnded) this.#runOne(admitted);
    else this.#admitted = admitted;
  }

  /**
   * Admits an open stream again at its first message. After that, the guard re-authorizes it
   * itself.
   */
  #admitAgain(): void {
    try {
      const admitted = this.#environment.admit(this.#method, this.#start, this.#peer, true);
      if (admitted instanceof Promise) admitted.catch((error) => this.#abort(StatusError.from(error)));
    } catch (error) {
      this.#abort(StatusError.from(error));
    }
  }

  /** Ends the call. Unexpected errors are logged, and the caller gets only "Internal error". */
  fail(thrown: unknown): void {
    if (this.#ended) return;
    const expected = thrown instanceof StatusError && thrown.code !== Code.OK && isStatusCode(thrown.code);
    const error = expected ? thrown : new StatusError(Code.INTERNAL, "Internal error", { cause: thrown });
    if (!expected || (error.code === Code.INTERNAL && error.cause !== undefined)) {
      logFailure(this.#environment.log, this.#method, error.cause ?? error, "an endpoint failed unexpectedly");
    }
    this.#end(toStatus(error, this.#context?.trailers));
    this.#closeResponses();
  }

  onMessage(message: Uint8Array): void {
    if (this.#ended) return;
    const maxBytes = this.#method.maxMessage ?? this.#method.endpoint?.maxRequest ?? this.#environment.limits.maxBody;
    if (message.length > maxBytes) this.#abort(this.#tooLarge(maxBytes));
    else if (this.#requests !== undefined) this.#pass(message, this.#requests);
    else if (this.#request !== undefined) this.#abort(this.#wrongRequestCount());
    else this.#request = message;
  }

  #pass(message: Uint8Array, requests: MessageQueue<unknown>): void {
    if (!this.#received) {
      this.#received = true;
      if (this.#context !== undefined && this.#start.admission === undefined) this.#admitAgain();
      if (this.#ended) return;
    }
    if (this.#followed?.mayPass() === false) requests.hold();
    requests.push(message);
  }

  onEnd(): void {
    if (this.#ended || this.#requestEnded) return;
    this.#requestEnded = true;
    if (this.#requests !== undefined) this.#requests.end();
    else if (this.#request === undefined) this.#abort(this.#wrongRequestCount());
    else if (this.#admitted === undefined) return;
    else if (this.#start.admission !== undefined) this.#runOne(this.#admitted);
    else this.#takeTurn();
  }

  /** Health checks are never refused: a refused one would take this process out of service. */
  #takeTurn(): void {
    const { callQueue } = this.#environment;
    const { endpoint, path } = this.#method;
    if (callQueue === undefined || endpoint === undefined || callQueue.mayBegin() || callQueue.tryBegin(path))
      this.admit();
    else {
      const refuse = (): void => this.#end(overloaded(endpoint.service));
      this.#waiting = callQueue.wait(path, { begin: () => this.admit(), refuse });
    }
  }

  onDrain(): void {
    if (this.#held === undefined) this.#wake?.();
  }

  onRefused(error: Error): void {
    this.#abort(StatusError.from(error));
  }

  onResumed(): void {
    this.#requests?.release();
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined && this.#sendNext(held)) this.#wake?.();
  }

  stop(reason: StatusError): void {
    this.#abort(reason);
  }

  onCancel(): void {
    this.#abort(toError(cancelled()));
  }

  expire(): void {
    this.#abort(toError(deadlineExceeded()));
  }

  #runOne(admitted: AdmittedCaller): void {
    const request = this.#request as Uint8Array;
    this.#request = NOTHING;
    try {
      this.#run(this.#method.decode(request), admitted);
    } catch (error) {
      this.fail(error);
    }
  }

  #run(request: unknown, { admission, clientAddress }: AdmittedCaller): void {
    if (this.#ended) return;
    const { name } = this.#method;
    const deadline = this.deadlineMonotonicMs;
    this.#context = new EndpointContext(name, this.#start, this.#reply, deadline, admission, clientAddress);
    const streams = this.#method.requestStream || this.#method.responseStream;
    if (streams && admission !== undefined && admission !== SYSTEM) {
      this.#followed = this.#environment.guard.follow(admission, this);
      if (this.#ended) this.#followed.end();
    }
    if (this.#ended) return;
    try {
      const result = this.#method.run(request, this.#context as EndpointContext);
      if (this.#method.responseStream) void this.#sendAll(result as AsyncIterable<unknown>);
      else if (isPromise(result)) {
        result.then(
          (response) => this.#sendOne(response),
          (error) => this.fail(error),
        );
      } else this.#sendOne(result);
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
      while (!this.#ended) {
        // Not stored in a local variable, which would keep the response in memory during the wait.
        if (!this.#sendNext(await iterator.next())) await this.#drained();
        else if (++sent % MAX_RESPONSES_IN_A_ROW === 0) await new Promise(setImmediate);
      }
    } catch (error) {
      this.fail(error);
    }
  }

  /** @returns false when the sender must wait until `#wake` is called */
  #sendNext(next: IteratorResult<unknown>): boolean {
    if (this.#ended) return true;
    if (next.done) {
      this.#end(this.#success());
      return true;
    }
    if (this.#followed?.mayPass() === false) {
      this.#held = next;
      return false;
    }
    return this.#reply.send(this.#method.encode(next.value));
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Ends the call although its endpoint may still be running. */
  #abort(error: StatusError): void {
    if (this.#ended) return;
    this.#end(toStatus(error, this.#context?.trailers));
    this.#context?.abort(error);
    this.#requests?.fail(error);
    this.#closeResponses();
  }

  #end(status: Status): void {
    this.#ended = true;
    this.#waiting?.tryCancel();
    this.#environment.deadlines.delete(this);
    this.#followed?.end();
    this.#method.running?.delete(this);
    this.#reply.end(status);
    this.#wake?.();
    const { endpoint } = this.#method;
    if (this.#start.admission === undefined && endpoint !== undefined) this.#report(status.code, endpoint);
  }

  #report(code: Code, endpoint: Endpoint): void {
    const { metadata } = this.#start;
    const { caller, namespace } = this.#context ?? {};
    const milliseconds = performance.now() - this.#arrived;
    this.#environment.onEnd?.({ code, milliseconds, metadata, caller, namespace }, endpoint);
  }

  /**
   * Runs the `finally` blocks of the endpoint's generator. A generator that is busy runs them at
   * its next `yield`.
   */
  #closeResponses(): void {
    const onError = (thrown: unknown): void =>
      logFailure(this.#environment.log, this.#method, thrown, "an endpoint failed at cleaning up");
    try {
      this.#responses?.return?.()?.catch(onError);
    } catch (error) {
      onError(error);
    }
  }

  #success(): Status {
    const trailers = this.#context?.trailers ?? NO_METADATA;
    return { code: Code.OK, message: "", details: [], trailers };
  }

  #tooLarge(maxBytes: number): StatusError {
    return new StatusError(Code.RESOURCE_EXHAUSTED, `${this.#method.name}: a request is larger than ${maxBytes} bytes`);
  }

  #wrongRequestCount(): StatusError {
    return new StatusError(Code.UNIMPLEMENTED, `${this.#method.name} takes exactly one request message`);
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as Promise<unknown> | undefined)?.then === "function";
}
