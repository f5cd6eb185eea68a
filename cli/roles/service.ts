/**
 * `portico service <name>`: one built-in service alone. It is registered for as long as it runs.
 */
import type { Flags } from "../../src/config/config.js";
import { Clients } from "../../src/kit/clients.js";
import { listNamespacesOf } from "../../src/kit/namespace-data.js";
import { installationStore } from "../../src/kit/shared-store.js";
import { instanceOf, keepGrpcHealth, openGrpcPort } from "../../src/process/grpc-port.js";
import { joinAuthority, waitForAuthority } from "../../src/process/join.js";
import { openTransport, type Process } from "../../src/process/process.js";
import { openCallQueue } from "../../src/process/refusals.js";
import { keepRegistered } from "../../src/process/service.js";
import { openTracing } from "../../src/process/tracing.js";
import type { Service } from "../../src/rpc/service.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { openAdminPort } from "./admin-port.js";
import { BUILT_IN_SERVICES } from "./built-in-services.js";
import { countStoreErrors } from "./measures.js";
import { openServices } from "./open-services.js";
import { healthOf } from "./readiness.js";
import { runRole } from "./run.js";
import { type Opened, processOf } from "./start.js";

/**
 * Runs until the process is stopped.
 * @returns the exit code.
 * @throws {CommandError} when there is no service of that name.
 */
export function runService(name: string, flags: Flags, io: Io): Promise<number> {
  if (!Object.hasOwn(BUILT_IN_SERVICES, name)) {
    throw new CommandError(
      `There is no service ${name}; there are: ${Object.keys(BUILT_IN_SERVICES).join(", ")}`,
      EXIT.usage,
    );
  }
  const start = processOf("service", (opening) => openService(opening, name));
  return runRole({ title: `service ${name}`, start, hasStore: false }, flags, io);
}

/** Opens all parts of a service, in order. The process closes them in reverse order. */
async function openService(opening: Process, name: string): Promise<Opened> {
  const { config, log, metrics, budget, closed, closeWithProcess, closeLastWithProcess } = opening;
  const { data: dataFolder, serviceStore: url, serviceQuota: quota } = config;
  const tracer = openTracing(name, opening);
  const transport = await openTransport({ config, log, budget, closed });
  const joined = closeWithProcess(await joinAuthority(name, { config, log }, transport));
  const { channel, metadata, guard, authorities } = joined;
  const list = listNamespacesOf(joined);
  const onError = countStoreErrors("services", metrics);
  const store = closeWithProcess(
    installationStore({ url, dataFolder, services: [name], joined: name, list, log, budget, quota, onError }),
  );
  const clientsOf = () => closeWithProcess(new Clients({ channel, metadata, connect: transport.connect }));
  const services = openServices([name], { store, clientsOf, log });
  const { callQueue } = closeWithProcess(openCallQueue({ log, metrics }));
  const grpc = closeWithProcess(await openGrpcPort({ ...opening, services, guard, callQueue, transport, tracer }));
  closeWithProcess(keepGrpcHealth(grpc.dispatcher, guard));
  const [service] = services as [Service];
  const registered = closeWithProcess(keepRegistered(service, instanceOf(service, grpc, config), joined, log));
  const { health, notReady } = healthOf({ guard, authorities });
  const admin = closeLastWithProcess(await openAdminPort({ guard, health }, opening));
  await waitForAuthority(Promise.all([guard.ready(), registered.ready()]));
  return { grpc: grpc.target, admin: admin.address, notReady };
}
