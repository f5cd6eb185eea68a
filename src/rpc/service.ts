/**
 * The model of a service: definitions, as ts-proto generates them, with a handler for each method.
 * It runs behind every transport and in process.
 *
 *     const helloworld: Service = {
 *       name: "helloworld",
 *       descriptors,
 *       parts: [part(HelloworldService, { call: ({ name }) => ({ … }) })],
 *     };
 *
 * The types of `portico/service` (src/kit) refer to these. So the package publishes them with what
 * this file imports, which must not need other packages.
 */
import type { Caller, CallerIdentity } from "../call/caller.js";
import type { Metadata } from "../call/metadata.js";
import type { ServedMethodDefinition, ServiceDefinition } from "./definition.js";

/** What every handler is told of the call that it answers. */
export interface Context {
  /** Undefined for a call without a token. */
  readonly caller: CallerIdentity | undefined;
  /** The namespace of the call, `default` where it asks for none. */
  readonly namespace: string;
  /** Canonical name of the endpoint, `helloworld:Helloworld.Call`. */
  readonly endpoint: string;
  /** Pairs of lower-case name and value. */
  readonly metadata: Metadata;
  /** When the call must have ended, in milliseconds of `Date.now()`. */
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

/** What the handlers of Portico itself are told beside it. */
export interface BuiltInContext extends Context {
  readonly caller: Caller | undefined;
  /** Tells the namespace from others of the same name; empty or undefined for one without such an identity. */
  readonly namespaceId?: string | undefined;
  /** Whether this process itself calls (SYSTEM); it may do what any enrolled caller may. */
  readonly system: boolean;
  /** The deadline in milliseconds of `performance.now()`. */
  readonly deadlineMonotonicMs: number | undefined;
}

type MaybePromise<T> = T | Promise<T>;

/**
 * The handler of a method, by the method's kind, with the context that it gets. A method of a
 * definition that was made while the program runs, as @grpc/proto-loader does, has a kind that
 * TypeScript does not know. An error that the handler throws becomes a status (StatusError.from).
 */
export type MethodHandler<M, C extends Context = BuiltInContext> =
  M extends ServedMethodDefinition<infer Request, infer Response>
    ? boolean extends M["requestStream"]
      ? // biome-ignore lint/suspicious/noExplicitAny: nothing is known of the messages either.
        (request: any, context: C) => any
      : M extends { requestStream: true; responseStream: true }
        ? (requests: AsyncIterable<Request>, context: C) => AsyncIterable<Response>
        : M extends { requestStream: true }
          ? (requests: AsyncIterable<Request>, context: C) => MaybePromise<Response>
          : M extends { responseStream: true }
            ? (request: Request, context: C) => AsyncIterable<Response>
            : (request: Request, context: C) => MaybePromise<Response>
    : never;

/** A handler for each method of a definition. */
export type ServiceImplementation<D, C extends Context = BuiltInContext> = {
  readonly [M in keyof D]: MethodHandler<D[M], C>;
};

/** One gRPC service of a service. */
export interface ServicePart<C extends Context = BuiltInContext> {
  readonly definition: ServiceDefinition;
  // biome-ignore lint/suspicious/noExplicitAny: `part` has checked the types.
  readonly implementation: Readonly<Record<string, (request: any, context: C) => any>>;
}

/** One gRPC service of a service, whose code is loaded for its first call. Its contract is in the service's descriptors. */
export interface LazyPart {
  /** Full name, `helloworld.Helloworld`. */
  readonly grpcService: string;
  /** Called again where it has failed. */
  readonly load: () => Promise<ServicePart>;
}

/** Pairs a definition with its implementation, whose types are checked. */
export function part<D extends ServiceDefinition, C extends Context = BuiltInContext>(
  definition: D,
  implementation: ServiceImplementation<D, C>,
): ServicePart<C> {
  return { definition, implementation };
}

/** Full name, `helloworld.Helloworld` of a method with the path `/helloworld.Helloworld/Call`. */
export function grpcServiceOf(part: ServicePart<never> | LazyPart): string {
  if ("load" in part) return part.grpcService;
  const [, name = ""] = Object.values(part.definition)[0]?.path.split("/") ?? [];
  return name;
}

/** A service, with the code of its parts or what loads it. */
export interface Service {
  /** The name callers use, `helloworld`. */
  readonly name: string;
  readonly parts: readonly (ServicePart | LazyPart)[];
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
