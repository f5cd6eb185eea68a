/** Makes own services ready to be served by this process, with what their calls share. */
import { descriptorsOf } from "../../src/contract/own-files.js";
import type { Clients } from "../../src/kit/clients.js";
import type { ListNamespaces } from "../../src/kit/namespace-data.js";
import { createLazyService } from "../../src/kit/service.js";
import { installationStore } from "../../src/kit/shared-store.js";
import type { ProcessContext } from "../../src/process/context.js";
import type { Service } from "../../src/rpc/service.js";
import { KEEPING, OWN_SERVICES } from "./own-services.js";

/** How own services are made. */
export interface OpenServicesOptions {
  /** Makes the clients of a service, when it first calls another. */
  readonly clientsOf: (service: string) => Clients;
  /** Asks the authority of the installation. */
  readonly list: ListNamespaces;
  /** The service of a process that has joined; undefined for the process that has the authority. */
  readonly joined?: string | undefined;
  /** Whether this start sets the installation up. */
  readonly isNew?: boolean;
}

/**
 * Makes services whose code is loaded for their first call. Those that keep anything open one store before they register, so
 * that no two keep their data in different ones.
 * @param names keys of OWN_SERVICES
 */
export function openServices(
  { config, log, budget, shutdown }: ProcessContext,
  names: readonly string[],
  { clientsOf, list, joined, isNew }: OpenServicesOptions,
): Service[] {
  const { serviceStore: url, data: dataFolder } = config;
  const store = installationStore({ url, dataFolder, services: names, joined, isNew, list, log, budget });
  shutdown.add(() => store.close());
  return names.map((service) => {
    const load = OWN_SERVICES[service];
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
