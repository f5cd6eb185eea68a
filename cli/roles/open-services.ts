/** Makes own services ready to be served by this process, with what their calls share. */
import { descriptorsOf } from "../../src/contract/own-files.js";
import type { Clients } from "../../src/kit/clients.js";
import { createLazyService } from "../../src/kit/service.js";
import { openStoreIn } from "../../src/kit/shared-store.js";
import type { ProcessContext } from "../../src/process/context.js";
import type { Service } from "../../src/rpc/service.js";
import { OWN_SERVICES } from "./own-services.js";

/**
 * @param names keys of OWN_SERVICES
 * @param clientsOf makes the clients of a service, when it first calls another
 */
export function openServices(
  { config, log, shutdown }: ProcessContext,
  names: readonly string[],
  clientsOf: (service: string) => Clients,
): Service[] {
  const store = openStoreIn(config.data, config.serviceStore, (message) => log.warn(message));
  shutdown.add(() => store.close());
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
    return createLazyService(load, { descriptors: descriptorsOf(service), environment });
  });
}
