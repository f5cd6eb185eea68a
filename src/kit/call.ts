/** What a handler is told of the call that it answers, and what it may use: log, store, clients of other services. */
import type { ServiceDefinition } from "../rpc/definition.js";
import type { Metadata } from "../rpc/metadata.js";
import type { Client } from "./client.js";
import type { Store } from "./store.js";

/** The account that calls. */
export interface Caller {
  /** Its name; empty for a service that calls for itself. */
  readonly account: string;
  /** The namespace of the account. */
  readonly namespace: string;
  readonly scopes: readonly string[];
  /** The name of a service that calls for itself. */
  readonly enrolment?: string | undefined;
}

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
export interface Call {
  /** Undefined for a call without a token. */
  readonly caller: Caller | undefined;
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
  client<D extends ServiceDefinition>(definition: D, service: string): Client<D>;
  /** Sends response headers ahead of the first message; no effect once headers have gone. */
  sendHeaders(metadata: Metadata): void;
  /** Sets the trailers, which are sent with the status, OK or not. */
  setTrailers(metadata: Metadata): void;
}
