/** One gRPC service of a service, on the kit: its definition and one handler for each method. */
import type { MethodDefinition, ServiceDefinition } from "../rpc/definition.js";
import type { Call } from "./call.js";

type MaybePromise<T> = T | Promise<T>;

/**
 * The handler of a method, by the method's kind. A method of a definition that was made while the program runs, as
 * @grpc/proto-loader does, has a kind that TypeScript does not know.
 */
export type Handler<M> =
  M extends MethodDefinition<infer Request, infer Response>
    ? boolean extends M["requestStream"]
      ? // biome-ignore lint/suspicious/noExplicitAny: nothing is known of the messages either.
        (request: any, call: Call) => any
      : M extends { requestStream: true; responseStream: true }
        ? (requests: AsyncIterable<Request>, call: Call) => AsyncIterable<Response>
        : M extends { requestStream: true }
          ? (requests: AsyncIterable<Request>, call: Call) => MaybePromise<Response>
          : M extends { responseStream: true }
            ? (request: Request, call: Call) => AsyncIterable<Response>
            : (request: Request, call: Call) => MaybePromise<Response>
    : never;

/** A handler for each method of a definition. What it throws that is no StatusError, the caller sees as INTERNAL. */
export type Implementation<D> = { readonly [M in keyof D]: Handler<D[M]> };

/** One gRPC service of a service. */
export interface Part {
  readonly definition: ServiceDefinition;
  // biome-ignore lint/suspicious/noExplicitAny: `part` has checked the types.
  readonly implementation: Readonly<Record<string, (request: any, call: Call) => any>>;
}

/**
 * Pairs a definition with its implementation, whose types are checked.
 * @param definition as ts-proto generates it (`outputServices=grpc-js`), or @grpc/proto-loader loads it
 */
export function part<D extends ServiceDefinition>(definition: D, implementation: Implementation<D>): Part {
  return { definition: byMethod(definition), implementation };
}

/** @grpc/proto-loader names methods as the `.proto` does, and gives `originalName` in lower camel case. */
function byMethod(definition: ServiceDefinition): ServiceDefinition {
  const nameOf = (key: string, method: object) => ("originalName" in method ? String(method.originalName) : key);
  return Object.fromEntries(Object.entries(definition).map(([key, method]) => [nameOf(key, method), method]));
}
