/**
 * A service on the kit: the model of src/rpc/service.ts, whose handlers get a Call. Beside the
 * context it has what they may use: log, store, clients of other services.
 */
import type { ClientDefinition, ServiceDefinition } from "../rpc/definition.js";
import type * as model from "../rpc/service.js";
import type { Client } from "./client.js";
import type { Store } from "./store.js";

/** Writes lines of the service's log, as JSON with the given members. */
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

/** The call that a handler answers. What a handler does not ask for is not made. */
export interface Call extends model.Context {
  /** Names the request and the endpoint in each line. */
  readonly log: Log;
  /**
   * A collection of what this service keeps for the namespace of the call (see store.ts).
   * @param collection lower-case letters, digits and `-`
   */
  store<T = unknown>(collection: string): Store<T>;
  /**
   * Runs a search: reads of the store whose number grows with what is kept, such as one of every page of a collection. Few run at
   * once in a process, and callers take turns. It may keep 4 MiB of what it reads. Nothing in it may wait for another search.
   * @throws {StatusError} (rejects) RESOURCE_EXHAUSTED while too many searches of the caller wait, or memory is short; ABORTED
   * where the call ended before its turn
   */
  search<T>(act: () => Promise<T>): Promise<T>;
  /**
   * Calls another service for the caller of this call (see client.ts).
   * @param definition as ts-proto generates it
   * @param service the name under which it is registered
   */
  client<D extends ClientDefinition>(definition: D, service: string): Client<D>;
}

/** The handler of a method, by the method's kind. */
export type Handler<M> = model.MethodHandler<M, Call>;

/** A handler for each method of a definition. What it throws that is no StatusError, the caller sees as INTERNAL. */
export type Implementation<D> = model.ServiceImplementation<D, Call>;

/** One gRPC service of a service. */
export type Part = model.ServicePart<Call>;

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
