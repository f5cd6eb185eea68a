/** The context that a handler gets with each call that the dispatcher opened. */
import { type Admission, SYSTEM } from "../call/admission.js";
import { type Metadata, NO_METADATA } from "../call/metadata.js";
import { DEFAULT_NAMESPACE } from "../contract/names.js";
import { toWallClock } from "../time.js";
import { type CallResponder, type CallStart, sentMetadata } from "./channel.js";
import type { BuiltInContext } from "./service.js";

/** Creates an AbortController only when the endpoint reads `signal`. */
export class EndpointContext implements BuiltInContext {
  readonly caller: BuiltInContext["caller"];
  readonly namespace: string;
  readonly namespaceId: string | undefined;
  readonly system: boolean;
  readonly endpoint: string;
  readonly deadlineMonotonicMs: number | undefined;
  readonly clientAddress: string;
  /** The trailers that the endpoint has set by `setTrailers`. */
  trailers: Metadata = NO_METADATA;
  /** Headers of the dispatcher, which it sends before the headers of the endpoint. */
  headers: Metadata = NO_METADATA;
  readonly #start: CallStart;
  readonly #reply: CallResponder;
  #metadata: Metadata | undefined;
  #controller: AbortController | undefined;
  #aborted: Error | undefined;

  /**
   * @param endpoint canonical name
   * @param deadline in milliseconds of `performance.now()`; Infinity for none
   */
  constructor(
    endpoint: string,
    start: CallStart,
    reply: CallResponder,
    deadline: number,
    admission: Admission | typeof SYSTEM | undefined,
    clientAddress: string,
  ) {
    const proof = admission === SYSTEM ? undefined : admission;
    this.caller = proof?.caller;
    this.namespace = proof?.namespace ?? DEFAULT_NAMESPACE;
    this.namespaceId = proof?.namespaceId;
    this.system = admission === SYSTEM;
    this.endpoint = endpoint;
    this.deadlineMonotonicMs = deadline === Number.POSITIVE_INFINITY ? undefined : deadline;
    this.clientAddress = clientAddress;
    this.#start = start;
    this.#reply = reply;
  }

  get deadline(): number | undefined {
    const { deadlineMonotonicMs } = this;
    return deadlineMonotonicMs === undefined ? undefined : toWallClock(deadlineMonotonicMs);
  }

  get metadata(): Metadata {
    this.#metadata ??= sentMetadata(this.#start);
    return this.#metadata;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  /** Aborts `signal`: the call has ended before its endpoint returned a result. */
  abort(reason: Error): void {
    this.#aborted = reason;
    this.#controller?.abort(reason);
  }

  sendHeaders(metadata: Metadata): void {
    this.#reply.sendHeaders(this.headers === NO_METADATA ? metadata : [...this.headers, ...metadata]);
  }

  setTrailers(metadata: Metadata): void {
    this.trailers = metadata;
  }
}
