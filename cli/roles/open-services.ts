/** Makes own services ready to be served by this process, with what their calls share. */
import { descriptorsOf } from "../../src/contract/own-files.js";
import type { Clients } from "../../src/kit/clients.js";
import type { ListNamespaces } from "../../src/kit/namespace-data.js";
import { createLazyService } from "../../src/kit/service.js";
import { openStoreIn } from "../../src/kit/shared-store.js";
import type { ProcessContext } from "../../src/process/context.js";
import type { Service } from "../../src/rpc/service.js";
import { KEEPING, OWN_SERVICES } from "./own-services.js";

/**
 * Opens the store of those that keep anything: an instance registers with it, so that no two keep their data in different ones.
 * @param names keys of OWN_SERVICES
 * @param clientsOf makes the clients of a service, when it first calls another
 * @param list as for `openStoreIn`
 * @throws {StoreError} (rejects) where the store cannot be used
 */
export async function openServices(
  { config, log, shutdown }: ProcessContext,
  names: readonly string[],
  clientsOf: (service: string) => Clients,
  list?: ListNamespaces,
): Promise<Service[]> {
  const store = openStoreIn(config.data, config.serviceStore, { warn: (message) => log.warn(message), list });
  shutdown.add(() => store.close());
  const { id, name } = names.some((service) => KEEPING.has(service)) ? await store.open() : { id: "", name: "" };
  return names.map((service) => {
    const load = OWN_SERVICES[service];
    if (load === undefined) throw new Error(`there is no service ${service}`);
    let clients: Clients | undefined;
    const environment = {
      service,
      log,
      openStore: store.open,
      clients: () => {
        clients ??= clientsOf(service);
        return clients;
      },
    };
    const kept = KEEPING.has(service) ? { id, name } : undefined;
    return createLazyService(load, { descriptors: descriptorsOf(service), environment, store: kept });
  });
}
