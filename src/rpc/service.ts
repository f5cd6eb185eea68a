/**
 * How a service is written: a ts-proto definition and one function for each endpoint. The same service runs behind
 * every kind of server and in process.
 *
 *     const helloworld: Service = {
 *       name: "helloworld",
 *       parts: [part("helloworld.Helloworld", HelloworldService, { call: ({ name }) => ({ … }) })],
 *     };
 */
import type { Caller } from "../access/admission.js";
import type { Metadata } from "./metadata.js";

/** What a function knows of the call it answers. */
export interface Context {
  /** Who calls; undefined for nobody. */
  readonly caller: Caller | undefined;
  readonly namespace: string;
  /** Whether this process itself calls (SYSTEM), which may do what any enrolled caller may. */
  readonly system: boolean;
  /** Canonical name of the endpoint, `helloworld:Helloworld.Call`. */
  readonly endpoint: string;
  readonly metadata: Metadata;
  /** When the call must have ended, in milliseconds of `Date.now()`. */
  readonly deadline: number | undefined;
  /** Aborted when the caller has gone or the deadline has passed. */
  readonly signal: AbortSignal;
  /** The address of the outermost client, as far as it can be believed. */
  readonly clientAddress: string;
  /** Sends response headers ahead of the first message; no effect once headers have gone. */
  sendHeaders(metadata: Metadata): void;
  /** What is sent along with the status, be it OK or not. */
  setTrailers(metadata: Metadata): void;
}

/** One method of a ts-proto definition (`outputServices=grpc-js`). */
export interface MethodDefinition<Request, Response> {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (value: Request) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => Request;
  readonly responseSerialize: (value: Response) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

// biome-ignore lint/suspicious/noExplicitAny: the one place where definitions of all messages meet.
export type ServiceDefinition = Readonly<Record<string, MethodDefinition<any, any>>>;

type Answer<T> = T | Promise<T>;

/** The function that an endpoint of a definition asks for. Whatever it throws becomes a status (StatusError.from). */
export type Handler<M> =
  M extends MethodDefinition<infer Request, infer Response>
    ? M extends { requestStream: true; responseStream: true }
      ? (requests: AsyncIterable<Request>, context: Context) => AsyncIterable<Response>
      : M extends { requestStream: true }
        ? (requests: AsyncIterable<Request>, context: Context) => Answer<Response>
        : M extends { responseStream: true }
          ? (request: Request, context: Context) => AsyncIterable<Response>
          : (request: Request, context: Context) => Answer<Response>
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

/** Pairs a definition with its implementation, types checked. */
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
  readonly parts: readonly Part[];
  /** google.protobuf.FileDescriptorSet with all imports, that has every part. */
  readonly descriptors: Uint8Array;
}
