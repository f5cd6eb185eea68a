/** The call that handlers get, on top of the context that src/rpc has created. */
import type { Logger } from "pino";
import type { CallerIdentity } from "../call/caller.js";
import { type Metadata, requestIdOf } from "../call/metadata.js";
import type { ClientDefinition } from "../rpc/definition.js";
import type { BuiltInContext } from "../rpc/service.js";
import type { Call } from "./call.js";
import type { Client } from "./client.js";
import type { Clients } from "./clients.js";
import { CollectionStore } from "./collection-store.js";
import type { SharedStore } from "./shared-store.js";
import type { Store } from "./store.js";
import type { CallReads } from "./store-reads.js";

/** What all calls of a service share. */
export interface Environment {
  readonly service: string;
  readonly log: Logger;
  /** The store, opened at its first use. */
  readonly store: Pick<SharedStore, "open" | "reads" | "feeds" | "quota">;
  /** Returns the clients of other services. They are created at the first use. */
  readonly clients: () => Clients;
}

/** A call, on top of the context that src/rpc has created. */
export class ServiceCall implements Call {
  readonly #context: BuiltInContext;
  readonly #environment: Environment;
  #log: Logger | undefined;
  #reads: CallReads | undefined;

  constructor(context: BuiltInContext, environment: Environment) {
    this.#context = context;
    this.#environment = environment;
  }

  get caller(): CallerIdentity | undefined {
    return this.#context.caller;
  }

  get namespace(): string {
    return this.#context.namespace;
  }

  get endpoint(): string {
    return this.#context.endpoint;
  }

  get metadata(): Metadata {
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
    const { service, store } = this.#environment;
    return new CollectionStore<T>({
      open: store.open,
      reads: this.#readsOf(),
      feeds: store.feeds,
      quota: store.quota,
      signal: this.signal,
      service,
      namespace: this.namespace,
      namespaceId: this.#context.namespaceId,
      collection,
      onFailure: (err) => this.log.error({ err }, "the store of services failed"),
    });
  }

  search<T>(act: () => Promise<T>): Promise<T> {
    return this.#readsOf().search(act);
  }

  client<D extends ClientDefinition>(definition: D, service: string): Client<D> {
    return this.#environment.clients().clientOf(definition, service, this.#context);
  }

  sendHeaders(metadata: Metadata): void {
    this.#context.sendHeaders(metadata);
  }

  setTrailers(metadata: Metadata): void {
    this.#context.setTrailers(metadata);
  }

  #readsOf(): CallReads {
    this.#reads ??= this.#environment.store.reads.of(this.#context);
    return this.#reads;
  }
}
