/** Prepares built-in services to be served by this process, with what their calls share. */
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import type { Clients } from "../../src/kit/clients.js";
import { createLazyService } from "../../src/kit/service.js";
import type { SharedStore } from "../../src/kit/shared-store.js";
import type { Logger } from "../../src/log.js";
import type { Service } from "../../src/rpc/service.js";
import { BUILT_IN_SERVICES, KEEPING } from "./built-in-services.js";

/** Options for built-in services. */
export interface OpenServicesOptions {
  readonly store: SharedStore;
  /** Creates the clients of a service, when the service makes its first call. */
  readonly clientsOf: (service: string) => Clients;
  readonly log: Logger;
}

/**
 * Creates services whose code is loaded at their first call. Services that store something open one
 * shared store before they register, so that all of them use the same store.
 * @param names keys of BUILT_IN_SERVICES
 */
export function openServices(names: readonly string[], { store, clientsOf, log }: OpenServicesOptions): Service[] {
  return names.map((service) => {
    const load = BUILT_IN_SERVICES[service];
    if (load === undefined) throw new Error(`there is no service ${service}`);
    let clients: Clients | undefined;
    const environment = {
      service,
      log,
      store,
      clients: () => {
        clients ??= clientsOf(service);
        return clients;
      },
    };
    const kept = KEEPING.has(service) ? store.open : undefined;
    return createLazyService(load, { descriptors: descriptorsOf(service), environment, store: kept });
  });
}
