/** What an endpoint's function is told of the call it answers, and how it sends headers and trailers (see service.ts). */
import { type Admission, SYSTEM } from "../access/admission.js";
import { DEFAULT_NAMESPACE } from "../contract/names.js";
import type { CallStart } from "./channel.js";
import { type Metadata, NO_METADATA } from "./metadata.js";
import type { Reply } from "./server-call.js";
import type { Context } from "./service.js";

/** The context of one call. An AbortController is made only for an endpoint that asks for `signal`. */
export class EndpointContext implements Context {
  readonly caller: Context["caller"];
  readonly namespace: string;
  readonly system: boolean;
  readonly endpoint: string;
  readonly metadata: Metadata;
  readonly deadline: number | undefined;
  readonly clientAddress: string;
  /** What the endpoint has set by `setTrailers`. */
  trailers: Metadata = NO_METADATA;
  readonly #reply: Reply;
  #controller: AbortController | undefined;
  #aborted: Error | undefined;

  /**
   * @param endpoint canonical name
   * @param deadline in milliseconds of `Date.now()`; Infinity for none
   */
  constructor(
    endpoint: string,
    start: CallStart,
    reply: Reply,
    deadline: number,
    admission: Admission | typeof SYSTEM | undefined,
    clientAddress: string,
  ) {
    const proof = admission === SYSTEM ? undefined : admission;
    this.caller = proof?.caller;
    this.namespace = proof?.namespace ?? DEFAULT_NAMESPACE;
    this.system = admission === SYSTEM;
    this.endpoint = endpoint;
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

  /** The call ends before the endpoint has answered. */
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
