/**
 * A service as it is written: a ts-proto definition and one function for each endpoint. It runs behind every transport and
 * in process.
 *
 *     const helloworld: Service = {
 *       name: "helloworld",
 *       parts: [part("helloworld.Helloworld", HelloworldService, { call: ({ name }) => ({ … }) })],
 *     };
 */

import { type Admission, type Caller, SYSTEM } from "../access/admission.js";
import { DEFAULT_NAMESPACE } from "../contract/names.js";
import { type CallStart, type Reply, sentMetadata } from "./channel.js";
import type { MethodDefinition, ServiceDefinition } from "./definition.js";
import { type Metadata, NO_METADATA } from "./metadata.js";

/** The call that a function answers, as the function sees it. */
export interface Context {
  /** Undefined for a call without a token. */
  readonly caller: Caller | undefined;
  readonly namespace: string;
  /** Tells the namespace from others of the same name; empty or undefined for one without such an identity. */
  readonly namespaceId?: string | undefined;
  /** Whether this process itself calls (SYSTEM); it may do what any enrolled caller may. */
  readonly system: boolean;
  /** Canonical name of the endpoint, `helloworld:Helloworld.Call`. */
  readonly endpoint: string;
  readonly metadata: Metadata;
  /** When the call must have ended, in milliseconds of `performance.now()`. */
  readonly deadline: number | undefined;
  /** Aborted when the caller has gone or the deadline has passed. */
  readonly signal: AbortSignal;
  /** The address of the outermost client, as far as a trusted peer has forwarded it; else that of the peer. */
  readonly clientAddress: string;
  /** Sends response headers ahead of the first message; no effect once headers have gone. */
  sendHeaders(metadata: Metadata): void;
  /** Sets the trailers, which are sent with the status, OK or not. */
  setTrailers(metadata: Metadata): void;
}

type MaybePromise<T> = T | Promise<T>;

/** The function that answers an endpoint of a definition. An error that it throws becomes a status (StatusError.from). */
export type Handler<M> =
  M extends MethodDefinition<infer Request, infer Response>
    ? M extends { requestStream: true; responseStream: true }
      ? (requests: AsyncIterable<Request>, context: Context) => AsyncIterable<Response>
      : M extends { requestStream: true }
        ? (requests: AsyncIterable<Request>, context: Context) => MaybePromise<Response>
        : M extends { responseStream: true }
          ? (request: Request, context: Context) => AsyncIterable<Response>
          : (request: Request, context: Context) => MaybePromise<Response>
    : never;

export type Implementation<D> = { readonly [M in keyof D]: Handler<D[M]> };

/** One gRPC service of a service. */
export interface Part {
  /** Full name, `helloworld.Helloworld`. */
  readonly grpcService: string;
  readonly definition: ServiceDefinition;
  // biome-ignore lint/suspicious/noExplicitAny: as above; `part` has checked the types.
  readonly implementation: Readonly<Record<string, (request: any, context: Context) => any>>;
}

/** One gRPC service of a service, whose code is loaded for its first call. Its contract is in the service's descriptors. */
export interface LazyPart {
  /** Full name, `helloworld.Helloworld`. */
  readonly grpcService: string;
  /** Called again where it has failed. */
  readonly load: () => Promise<Part>;
}

/** Pairs a definition with its implementation, whose types are checked. */
export function part<D extends ServiceDefinition>(
  grpcService: string,
  definition: D,
  implementation: Implementation<D>,
): Part {
  return { grpcService, definition, implementation };
}

export interface Service {
  /** The name callers use, `helloworld`. */
  readonly name: string;
  readonly parts: readonly (Part | LazyPart)[];
  /** A google.protobuf.FileDescriptorSet with all parts and all imports. */
  readonly descriptors: Uint8Array;
  /**
   * Gives where it keeps what callers give it, which a process that has joined knows once the authority has answered; undefined
   * where it keeps nothing. Without an ID where it is not known yet whether it does.
   * @throws {Error} (rejects) where it cannot keep anything there
   */
  readonly store?: (() => Promise<{ readonly id?: string; readonly name: string }>) | undefined;
  /** What stands before the paths of its `google.api.http` annotations, such as `/api`. */
  readonly bindingPrefix?: string | undefined;
  /** Names of headers and metadata that pass between its callers and it, in lower case. */
  readonly metadata?: readonly string[] | undefined;
}

/** The context of one call. An AbortController is made only for an endpoint that asks for `signal`. */
export class EndpointContext implements Context {
  readonly caller: Context["caller"];
  readonly namespace: string;
  readonly namespaceId: string | undefined;
  readonly system: boolean;
  readonly endpoint: string;
  readonly deadline: number | undefined;
  readonly clientAddress: string;
  /** What the endpoint has set by `setTrailers`. */
  trailers: Metadata = NO_METADATA;
  readonly #start: CallStart;
  readonly #reply: Reply;
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
    reply: Reply,
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
    this.deadline = deadline === Number.POSITIVE_INFINITY ? undefined : deadline;
    this.clientAddress = clientAddress;
    this.#start = start;
    this.#reply = reply;
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
