/** `portico server`: everything in one process. Calls between its parts use in-process channels. */

import { forwardTo } from "../../gateway/built-in/forward.js";
import { OAuthAuthority } from "../../gateway/built-in/oauth/authority.js";
import { RefusalReporter } from "../../gateway/built-in/refusals.js";
import { Usage } from "../../gateway/built-in/usage.js";
import type { Authority } from "../../services/auth/authority.js";
import type { Registry } from "../../services/registry/registry.js";
import { OpenGuard, SYSTEM } from "../../src/access/guard.js";
import { type HttpAddress, parseGrpcTarget } from "../../src/address/address.js";
import { type Config, type Flags, SETTINGS } from "../../src/config/config.js";
import { ConfigError } from "../../src/config/setting.js";
import type { Clients } from "../../src/kit/clients.js";
import { listNamespacesOf } from "../../src/kit/namespace-data.js";
import { installationStore } from "../../src/kit/shared-store.js";
import { externalConnector } from "../../src/process/external-channel.js";
import { type GrpcPort, keepGrpcHealth, openGrpcPort } from "../../src/process/grpc-port.js";
import { openTransport, type Process } from "../../src/process/process.js";
import { openCallQueue } from "../../src/process/refusals.js";
import { openTracing } from "../../src/process/tracing.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { readInstallation } from "../../src/store/installation.js";
import type { Io } from "../terminal/io.js";
import { openAdminPort } from "./admin-port.js";
import { accessTo, joinOwn, openOwnAuthority, openRegistry, type StoreOptions } from "./authority.js";
import { clientsWithin } from "./built-in-clients.js";
import { BUILT_IN_SERVICES } from "./built-in-services.js";
import { addressOf, openCatalog, openHttpPort, type RegistrySource } from "./gateway.js";
import { countStoreErrors } from "./measures.js";
import { openServices } from "./open-services.js";
import { healthOf } from "./readiness.js";
import { runRole } from "./run.js";
import { type Opened, processOf } from "./start.js";
import { tryPorts } from "./try-ports.js";

/**
 * Runs until the process is stopped.
 * @returns the exit code.
 */
export function runServer(flags: Flags & StoreOptions, io: Io): Promise<number> {
  const start = processOf("server", (opening) => openServer(opening, flags));
  return runRole({ title: "everything in one process", start, hasStore: true }, flags, io);
}

/** A server, with further parts for a command that runs it in its own process. */
export interface OpenServer extends Opened {
  readonly http: HttpAddress;
  /** Handles calls of this process to any of its services. */
  readonly dispatcher: GrpcPort["dispatcher"];
  readonly enrol: Authority["enrol"];
}

/** Opens all parts of a server, in order. The process closes them in reverse order. */
export async function openServer(opening: Process, { acceptTime }: StoreOptions): Promise<OpenServer> {
  const { config, log, metrics, budget, closed, closeWithProcess, closeLastWithProcess } = opening;
  const { data: dataFolder, serviceStore: url, serviceQuota: quota } = config;
  const names = builtInServicesOf(config);
  const tracer = openTracing("portico", opening);
  const transport = await openTransport({ config, log, budget, closed });
  const isNew = readInstallation(dataFolder) === undefined;
  if (isNew) await tryPorts(["http", "grpc", "admin"], config);
  const authority = closeWithProcess(
    await openOwnAuthority(
      { acceptTime, registry: (): Registry => registry },
      { config, log, metrics, closeWithProcess },
    ),
  );
  const access = accessTo(authority, { config, log });
  const guard = closeWithProcess(new OpenGuard({ ...access, log }));
  // The guard must be ready before the port is open. Gateways that know the address from an earlier
  // run send calls as soon as they are connected.
  await guard.ready();
  const list = listNamespacesOf(access);
  const onError = countStoreErrors("services", metrics);
  // A start that was killed before it showed the password may have been killed before it made this.
  const isMade = !isNew && authority.firstStart === undefined;
  const kept = closeWithProcess(
    installationStore({ url, dataFolder, services: names, isNew: !isMade, list, log, budget, quota, onError }),
  );
  const services = openServices(names, { store: kept, clientsOf: (service) => clientsOf(service), log });
  const listening = [config.grpc, config.http, config.admin].filter((address) => address !== undefined);
  const registry = closeWithProcess(
    await openRegistry({ authority, guard, transport, services, listening }, { config, log, budget }),
  );
  const served = [authority.service, registry.service, ...services];
  // The stores are opened before the port too: a store that cannot be used ends the start.
  for (const service of served) await service.store?.();
  const grpc = closeWithProcess(await openGrpcPort({ ...opening, services: served, guard, transport, tracer }));
  const { dispatcher } = grpc;
  closeWithProcess(registry); // Handed over again, so that it is closed before the port: its streams would never end by themselves.
  const clientsOf = (service: string): Clients => {
    const channel = closeWithProcess(new InProcessChannel(dispatcher));
    return closeWithProcess(clientsWithin(service, dispatcher, channel, transport.connect));
  };
  const instances = await joinOwn(served, { grpc, registry }, { config, log });
  closeWithProcess(keepGrpcHealth(dispatcher, guard));
  const connect = connectorOf(instances, dispatcher, externalConnector({ ...config, transport, log }));
  const source = { channel: new InProcessChannel(dispatcher), admission: SYSTEM, connect, log } as const;
  const catalog = closeWithProcess(openCatalog(source, { config, log, budget }));
  const { firstStart, errors, enrol } = authority;
  const { health, notReady } = healthOf({ guard, catalog, errors });
  const usage = closeWithProcess(new Usage(source));
  const refusals = closeWithProcess(new RefusalReporter({ ...source, authorities: () => [source] }));
  const { callQueue } = closeWithProcess(openCallQueue({ byService: () => catalog.refused(), log, metrics }));
  const parts = { catalog, guard, health, usage, refusals, callQueue, tracer, authority: new OAuthAuthority(source) };
  const http = closeWithProcess(await openHttpPort(parts, opening));
  const admin = closeLastWithProcess(await openAdminPort({ guard, health, catalog, authority }, opening));
  dispatcher.forward = forwardTo(catalog.routes, guard);
  const addresses = { http: addressOf(http, config), grpc: grpc.target, admin: admin.address };
  return { ...addresses, notReady, dispatcher, firstStart, enrol };
}

/** Connects to the instances of this process without a socket. */
function connectorOf(
  instances: Awaited<ReturnType<typeof joinOwn>>,
  dispatcher: GrpcPort["dispatcher"],
  connectTo: ReturnType<typeof externalConnector>,
): RegistrySource["connect"] {
  // Another process may register with the same address, but it cannot know an ID in advance.
  const local = new Set(instances.map(({ service, id }) => `${service} ${id}`));
  return (address, instance, options) =>
    local.has(`${instance.service} ${instance.id}`)
      ? new InProcessChannel(dispatcher)
      : connectTo(parseGrpcTarget(address), instance, options);
}

/** @throws {ConfigError} when a service is named that is not built in */
function builtInServicesOf({ ownServices }: Config): readonly string[] {
  const all = Object.keys(BUILT_IN_SERVICES);
  if (ownServices === "*") return all;
  const unknown = ownServices.find((name) => !all.includes(name));
  if (unknown === undefined) return ownServices;
  const { variable } = SETTINGS.ownServices;
  throw new ConfigError(`${variable} names ${unknown}, which is no built-in service: ${all.join(", ")}`);
}
