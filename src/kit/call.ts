/**
 * A service on the kit. It follows the model of src/rpc/service.ts, but its handlers get a Call:
 * the call's context, and in addition a log, a store, and clients of other services.
 */
import type { ClientDefinition, ServiceDefinition } from "../rpc/definition.js";
import type * as model from "../rpc/service.js";
import type { Client } from "./client.js";
import type { Store } from "./store.js";

/** Writes lines to the service's log, as JSON with the given members. */
export interface Log {
  debug(fields: object, message?: string): void;
  debug(message: string): void;
  info(fields: object, message?: string): void;
  info(message: string): void;
  warn(fields: object, message?: string): void;
  warn(message: string): void;
  error(fields: object, message?: string): void;
  error(message: string): void;
}

/**
 * The call that a handler serves. Log, store and clients are created only when the handler uses
 * them.
 */
export interface Call extends model.Context {
  /** Each line has the request's ID and the endpoint. */
  readonly log: Log;
  /**
   * A collection in which this service stores data for the namespace of the call (see store.ts).
   * @param collection lower-case letters, digits and `-`
   */
  store<T = unknown>(collection: string): Store<T>;
  /**
   * Runs a search: reads of the store whose number grows with the stored data, such as all pages of
   * a collection. Only a few searches run at once in a process, and callers take turns. A search
   * may keep at most 4 MiB of its results in memory. A search must not wait for another search.
   * @throws {StatusError} (rejects) RESOURCE_EXHAUSTED while too many searches of the caller wait,
   *   or memory is short; ABORTED if the call ended before its turn
   */
  search<T>(act: () => Promise<T>): Promise<T>;
  /**
   * Calls another service on behalf of the caller of this call (see client.ts).
   * @param definition as ts-proto generates it
   * @param service the name under which it is registered
   */
  client<D extends ClientDefinition>(definition: D, service: string): Client<D>;
}

/** The handler of a method, by the method's kind. */
export type Handler<M> = model.MethodHandler<M, Call>;

/**
 * A handler for each method of a definition. Callers get INTERNAL for an error that is no
 * StatusError.
 */
export type Implementation<D> = model.ServiceImplementation<D, Call>;

/** One gRPC service of a service. */
export type Part = model.ServicePart<Call>;

/**
 * Pairs a definition with its implementation, whose types are checked.
 * @param definition as ts-proto generates it (`outputServices=grpc-js`), or @grpc/proto-loader
 *   loads it
 */
export function part<D extends ServiceDefinition>(definition: D, implementation: Implementation<D>): Part {
  return { definition: byMethod(definition), implementation };
}

/**
 * Definitions of @grpc/proto-loader use the method names of the `.proto`, and have the name in
 * lower camel case in `originalName`.
 */
function byMethod(definition: ServiceDefinition): ServiceDefinition {
  const nameOf = (key: string, method: object) => ("originalName" in method ? String(method.originalName) : key);
  return Object.fromEntries(Object.entries(definition).map(([key, method]) => [nameOf(key, method), method]));
}
