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
 * Limits of calls count a call from another process once, when it is first admitted, and each
 * message of a client's stream.
 *
 * A unary call with a synchronous result allocates no promise.
 */
import { type FollowedStream, type StreamListener, SYSTEM } from "../call/admission.js";
import { type LimitedCall, LimitedError } from "../call/limited-call.js";
import { NO_METADATA } from "../call/metadata.js";
import { rateLimitMetadata, refusalMetadata } from "../call/rate-limit.js";
import type { Endpoint } from "../contract/endpoint.js";
import { Code, isStatusCode, StatusError } from "../errors.js";
import { logFailure } from "../log.js";
import type { WaitingPlace } from "../overload/call-queue.js";
import { deadlineOf } from "./call-limits.js";
import type { CallResponder, CallStart, IncomingListener, Status } from "./channel.js";
import { EndpointContext } from "./endpoint-context.js";
import { MessageCount } from "./message-count.js";
import { MessageQueue } from "./message-queue.js";
import type { Expiring } from "./open-calls.js";
import type { AdmittedCaller, CallEnvironment, ServedMethod } from "./served-method.js";
import { cancelled, deadlineExceeded, overloaded, toError, toStatus } from "./status.js";

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
  /** The call has been admitted once, and limits have counted it or are counting it. */
  #opened = false;
  /** The call as limits count it; undefined where none does. */
  #limited: LimitedCall | undefined;
  /** Counts the messages of a client's stream, from the first count of the call on. */
  #counts: MessageCount | undefined;
  /** Set while the call waits for its turn. */
  #waiting: WaitingPlace | undefined;
  /** The number of messages of a stream that have arrived. */
  #received = 0;
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
      const admitted = this.#environment.admit(this.#method, this.#start, this.#peer, this.#opened);
      if (admitted instanceof Promise) {
        admitted.then((result) => this.#onAdmitted(result)).catch((error) => this.fail(error));
      } else this.#onAdmitted(admitted);
    } catch (error) {
      this.fail(error);
    }
  }

  #onAdmitted(admitted: AdmittedCaller): void {
    if (this.#ended) return;
    if (!this.#opened) {
      this.#opened = true;
      const counting = this.#count(admitted);
      if (counting !== undefined) {
        // A change of the rules may have been acknowledged while the limits counted.
        counting.then(() => this.admit()).catch((error) => this.fail(error));
        return;
      }
    }
    if (admitted.admission !== SYSTEM) this.#method.running?.add(this);
    if (this.#requests !== undefined) this.#run(this.#requests, admitted);
    // The request came first, so this admission is not older than the request.
    else if (this.#requestEnded) this.#runOne(admitted);
    else this.#admitted = admitted;
  }

  /**
   * Portico's own endpoints are exempt from limits, and calls of this process have been counted.
   * @returns a promise where the limits have to wait
   * @throws {LimitedError} (or rejects with one)
   */
  #count(admitted: AdmittedCaller): Promise<void> | undefined {
    const { admission } = admitted;
    if (this.#start.admission !== undefined || admission === undefined || admission === SYSTEM) return undefined;
    if (admission.endpoint.callers !== undefined) return undefined;
    const limited = this.#environment.guard.count(admission, admitted);
    if (limited instanceof Promise) return limited.then((counted) => this.#onCounted(counted));
    return limited && this.#onCounted(limited);
  }

  #onCounted(limited: LimitedCall): undefined {
    this.#limited = limited;
    if (this.#ended) limited.end();
    if (this.#ended || this.#requests === undefined) return;
    this.#counts = new MessageCount(limited, this.#requests, this);
    this.#counts.add(this.#received);
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
    this.#endWith(error);
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
    if (++this.#received === 1) {
      if (this.#context !== undefined && this.#start.admission === undefined) this.#admitAgain();
      if (this.#ended) return;
    }
    this.#counts?.add(1);
    if (this.#ended) return;
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
    if (!this.#counts?.isWaiting && this.#followed?.mayPass() !== false) this.#requests?.release();
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

  #run(request: unknown, { admission, address }: AdmittedCaller): void {
    if (this.#ended) return;
    const { name } = this.#method;
    const deadline = this.deadlineMonotonicMs;
    this.#context = new EndpointContext(name, this.#start, this.#reply, deadline, admission, address);
    if (this.#limited?.state !== undefined) this.#context.headers = rateLimitMetadata(this.#limited.state);
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
      this.#send(this.#method.encode(response));
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
    return this.#send(this.#method.encode(next.value));
  }

  #send(message: Uint8Array): boolean {
    if (this.#limited !== undefined) this.#context?.sendHeaders(NO_METADATA);
    return this.#reply.send(message);
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Ends the call although its endpoint may still be running. */
  #abort(error: StatusError): void {
    if (this.#ended) return;
    this.#endWith(error);
    this.#context?.abort(error);
    this.#requests?.fail(error);
    this.#closeResponses();
  }

  #endWith(error: StatusError): void {
    const { trailers = NO_METADATA } = this.#context ?? {};
    if (!(error instanceof LimitedError)) this.#end(toStatus(error, trailers));
    else this.#end(toStatus(error, [...trailers, ...refusalMetadata(error)]), error.state.limit);
  }

  #end(status: Status, limit?: string): void {
    this.#ended = true;
    this.#limited?.end();
    this.#waiting?.tryCancel();
    this.#environment.deadlines.delete(this);
    this.#followed?.end();
    this.#method.running?.delete(this);
    if (this.#limited !== undefined && limit === undefined) this.#context?.sendHeaders(NO_METADATA);
    this.#reply.end(status);
    this.#wake?.();
    const { endpoint } = this.#method;
    if (this.#start.admission === undefined && endpoint !== undefined) this.#report(status.code, endpoint, limit);
  }

  #report(code: Code, endpoint: Endpoint, limit: string | undefined): void {
    const { caller, namespace, clientAddress } = this.#context ?? {};
    const milliseconds = performance.now() - this.#arrived;
    this.#environment.onEnd?.(
      { code, milliseconds, metadata: this.#start.metadata, caller, namespace, clientAddress, limit },
      endpoint,
    );
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
