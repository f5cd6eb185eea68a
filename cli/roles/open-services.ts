/** Makes own services ready to be served by this process, with what their calls share. */
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import type { Clients } from "../../src/kit/clients.js";
import { createLazyService } from "../../src/kit/service.js";
import type { SharedStore } from "../../src/kit/shared-store.js";
import type { Logger } from "../../src/log.js";
import type { Service } from "../../src/rpc/service.js";
import { BUILT_IN_SERVICES, KEEPING } from "./built-in-services.js";

/** How own services are made. */
export interface OpenServicesOptions {
  readonly store: SharedStore;
  /** Makes the clients of a service, when it first calls another. */
  readonly clientsOf: (service: string) => Clients;
  readonly log: Logger;
}

/**
 * Makes services whose code is loaded for their first call. Those that keep anything open one store before they register, so
 * that no two keep their data in different ones.
 * @param names keys of OWN_SERVICES
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
