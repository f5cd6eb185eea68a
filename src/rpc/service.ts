/**
 * The model of a service: definitions, as ts-proto generates them, with a handler for each method.
 * A service runs behind every transport and in process.
 *
 *     const helloworld: Service = {
 *       name: "helloworld",
 *       descriptors,
 *       parts: [part(HelloworldService, { call: ({ name }) => ({ … }) })],
 *     };
 *
 * The types of `portico/service` (src/kit) refer to these types. So the package publishes them with
 * everything that this file imports, and the imports must not need other packages.
 */
import type { Caller, CallerIdentity } from "../call/caller.js";
import type { Metadata } from "../call/metadata.js";
import type { ServedMethodDefinition, ServiceDefinition } from "./definition.js";

/** The information about a call that every handler gets. */
export interface Context {
  /** Undefined for a call without a token. */
  readonly caller: CallerIdentity | undefined;
  /** The namespace of the call; `default` when the call names none. */
  readonly namespace: string;
  /** Canonical name of the endpoint, `helloworld:Helloworld.Call`. */
  readonly endpoint: string;
  /** Pairs of lower-case name and value. */
  readonly metadata: Metadata;
  /** When the call must have ended, in milliseconds of `Date.now()`. */
  readonly deadline: number | undefined;
  /** Aborted when the caller is gone or the deadline has passed. */
  readonly signal: AbortSignal;
  /**
   * The address of the outermost client, if a trusted peer has forwarded it; otherwise the address
   * of the peer.
   */
  readonly clientAddress: string;
  /** Sends response headers before the first message. No effect once headers are sent. */
  sendHeaders(metadata: Metadata): void;
  /** Sets the trailers, which are sent with the status, whether it is OK or not. */
  setTrailers(metadata: Metadata): void;
}

/** What the handlers of built-in services get in addition. */
export interface BuiltInContext extends Context {
  readonly caller: Caller | undefined;
  /**
   * Distinguishes the namespace from earlier ones with the same name. Empty or undefined for a
   * namespace without such an ID.
   */
  readonly namespaceId?: string | undefined;
  /**
   * Whether this process itself calls (SYSTEM). Such a call may do what any enrolled caller may do.
   */
  readonly system: boolean;
  /** The deadline in milliseconds of `performance.now()`. */
  readonly deadlineMonotonicMs: number | undefined;
}

type MaybePromise<T> = T | Promise<T>;

/**
 * The handler of a method, according to the kind of the method, and the context that the handler
 * gets. TypeScript does not know the kind of a method in a definition that was created at run time,
 * for example by @grpc/proto-loader. An error that the handler throws becomes a status
 * (StatusError.from).
 */
export type MethodHandler<M, C extends Context = BuiltInContext> =
  M extends ServedMethodDefinition<infer Request, infer Response>
    ? boolean extends M["requestStream"]
      ? // biome-ignore lint/suspicious/noExplicitAny: the types of the messages are not known either.
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

/**
 * One gRPC service of a service. Its code is loaded for its first call. Its contract is in the
 * service's descriptors.
 */
export interface LazyPart {
  /** Full name, `helloworld.Helloworld`. */
  readonly grpcService: string;
  /** Called again after it has failed. */
  readonly load: () => Promise<ServicePart>;
}

/** Pairs a definition with its implementation, and checks the implementation's types. */
export function part<D extends ServiceDefinition, C extends Context = BuiltInContext>(
  definition: D,
  implementation: ServiceImplementation<D, C>,
): ServicePart<C> {
  return { definition, implementation };
}

/**
 * The full name of a gRPC service: `helloworld.Helloworld` when its methods have paths such as
 * `/helloworld.Helloworld/Call`.
 */
export function grpcServiceOf(part: ServicePart<never> | LazyPart): string {
  if ("load" in part) return part.grpcService;
  const [, name = ""] = Object.values(part.definition)[0]?.path.split("/") ?? [];
  return name;
}

/** A service with its parts. A part has its code, or a function that loads it. */
export interface Service {
  /** The name that callers use, `helloworld`. */
  readonly name: string;
  readonly parts: readonly (ServicePart | LazyPart)[];
  /** A google.protobuf.FileDescriptorSet with all parts and all imports. */
  readonly descriptors: Uint8Array;
  /**
   * Where the service stores its callers' data; undefined when it stores none. A process that has
   * joined knows this only after the authority has responded. The ID is missing while the service
   * does not know yet whether it stores data.
   * @throws {Error} (rejects) when the service cannot store data there
   */
  readonly store?: (() => Promise<{ readonly id?: string; readonly name: string }>) | undefined;
  /** The prefix of the paths in its `google.api.http` annotations, such as `/api`. */
  readonly bindingPrefix?: string | undefined;
  /**
   * Names of headers and metadata that the gateway passes between callers and the service, in lower
   * case.
   */
  readonly metadata?: readonly string[] | undefined;
}
