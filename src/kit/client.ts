/** Typed clients of other services, with a method for each method of a definition. */
import type { MethodDefinition } from "../rpc/definition.js";

/**
 * Calls one method. If the call fails, the promise rejects or the responses throw a StatusError.
 */
export type ClientMethod<M> =
  M extends MethodDefinition<infer Request, infer Response>
    ? M extends { requestStream: true; responseStream: true }
      ? (requests: AsyncIterable<Request>) => AsyncIterable<Response>
      : M extends { requestStream: true }
        ? (requests: AsyncIterable<Request>) => Promise<Response>
        : M extends { responseStream: true }
          ? (request: Request) => AsyncIterable<Response>
          : (request: Request) => Promise<Response>
    : never;

/** Calls the methods of a definition. */
export type Client<D> = { readonly [M in keyof D]: ClientMethod<D[M]> };
