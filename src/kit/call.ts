/** What a handler is told of the call that it answers, and what it may use: log, store, clients of other services. */
import type { Logger } from "pino";
import { requestIdOf } from "../rpc/metadata.js";
import type { Context, ServiceDefinition } from "../rpc/service.js";
import type { ServiceStore } from "../store/service-store.js";
import type { Client } from "./client.js";
import { CollectionStore, type Store } from "./store.js";

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
  readonly metadata: Context["metadata"];
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
   * Calls another service for the caller of this call (see client.ts).
   * @param definition as ts-proto generates it
   * @param service the name under which it is registered
   */
  client<D extends ServiceDefinition>(definition: D, service: string): Client<D>;
  /** Sends response headers ahead of the first message; no effect once headers have gone. */
  sendHeaders(metadata: Context["metadata"]): void;
  /** Sets the trailers, which are sent with the status, OK or not. */
  setTrailers(metadata: Context["metadata"]): void;
}

/** What all calls of a service share. */
export interface Environment {
  readonly service: string;
  readonly log: Logger;
  /** Opens the store when it is first used. */
  readonly openStore: () => Promise<ServiceStore>;
  /** Makes clients of other services, for the call with this context. */
  readonly clientOf: <D extends ServiceDefinition>(definition: D, service: string, context: Context) => Client<D>;
}

/** A call, over the context that src/rpc has made of it. */
export class ServiceCall implements Call {
  readonly #context: Context;
  readonly #environment: Environment;
  #log: Logger | undefined;

  constructor(context: Context, environment: Environment) {
    this.#context = context;
    this.#environment = environment;
  }

  get caller(): Caller | undefined {
    return this.#context.caller;
  }

  get namespace(): string {
    return this.#context.namespace;
  }

  get endpoint(): string {
    return this.#context.endpoint;
  }

  get metadata(): Context["metadata"] {
    return this.#context.metadata;
  }

  get deadline(): number | undefined {
    return this.#context.deadline;
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }

  get clientAddress(): string {
    return this.#context.clientAddress;
  }

  get log(): Logger {
    const { metadata, endpoint } = this.#context;
    this.#log ??= this.#environment.log.child({ requestId: requestIdOf(metadata), endpoint });
    return this.#log;
  }

  store<T>(collection: string): Store<T> {
    const { service, openStore } = this.#environment;
    return new CollectionStore<T>({
      open: openStore,
      service,
      namespace: this.namespace,
      collection,
      onFailure: (err) => this.log.error({ err }, "the store of services failed"),
    });
  }

  client<D extends ServiceDefinition>(definition: D, service: string): Client<D> {
    return this.#environment.clientOf(definition, service, this.#context);
  }

  sendHeaders(metadata: Context["metadata"]): void {
    this.#context.sendHeaders(metadata);
  }

  setTrailers(metadata: Context["metadata"]): void {
    this.#context.setTrailers(metadata);
  }
}
