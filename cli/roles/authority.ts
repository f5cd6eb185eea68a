/**
 * `portico authority`: the store, the authority and the registry, on the gRPC port. `portico
 * server` has the same parts.
 */
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type Authority, openAuthority } from "../../services/auth/authority.js";
import { externalServiceOf } from "../../services/registry/configured-service.js";
import { createRegistry, type Registry } from "../../services/registry/registry.js";
import { type Guard, OpenGuard, SYSTEM } from "../../src/access/guard.js";
import { formatAddress, type GrpcTarget, type HttpAddress } from "../../src/address/address.js";
import { isOwnAddress } from "../../src/address/own-address.js";
import type { Flags } from "../../src/config/config.js";
import { Code, StatusError } from "../../src/errors.js";
import { externalConnector } from "../../src/process/external-channel.js";
import { type GrpcPort, instanceOf, keepGrpcHealth, openGrpcPort } from "../../src/process/grpc-port.js";
import { messageLimits, openTransport, type Process, type ProcessPart } from "../../src/process/process.js";
import { addStore } from "../../src/process/service.js";
import { checkTlsFiles, type SecretOptions, secretFilesOf } from "../../src/process/service-secrets.js";
import { openTracing } from "../../src/process/tracing.js";
import { Dispatcher } from "../../src/rpc/dispatch.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { grpcServiceOf, type Service } from "../../src/rpc/service.js";
import type { Transport } from "../../src/rpc/transport.js";
import { readInstallation } from "../../src/store/installation.js";
import { openStore } from "../../src/store/open.js";
import { watchErrors } from "../../src/store/watched-errors.js";
import type { Io } from "../terminal/io.js";
import { openAdminPort } from "./admin-port.js";
import { BUILT_IN_SERVICES } from "./built-in-services.js";
import { followServices } from "./follow-services.js";
import { countStoreErrors } from "./measures.js";
import { healthOf } from "./readiness.js";
import { runRole } from "./run.js";
import { type Opened, processOf } from "./start.js";
import { tryPorts } from "./try-ports.js";

/**
 * Maximum time that a start waits for the contracts of services that join by configuration, in
 * milliseconds.
 */
const CONFIGURED_WAIT_MS = 1_000;

/** Options of the command line that are not settings: they apply to one start. */
export interface StoreOptions {
  /** Whether this computer's clock is right, whatever the store contains. */
  readonly acceptTime?: boolean | undefined;
}

/**
 * Runs until the process is stopped.
 * @returns the exit code.
 */
export function runAuthority(flags: Flags & StoreOptions, io: Io): Promise<number> {
  const start = processOf("authority", (opening) => openAuthorityProcess(opening, flags));
  return runRole({ title: "authority", start, hasStore: true }, flags, io);
}

/** Opens all parts of an authority, in order. The process closes them in reverse order. */
export async function openAuthorityProcess(opening: Process, { acceptTime }: StoreOptions): Promise<Opened> {
  const { config, log, metrics, budget, closed, closeWithProcess, closeLastWithProcess } = opening;
  if (readInstallation(config.data) === undefined) await tryPorts(["grpc", "admin"], config);
  const tracer = openTracing("portico-authority", opening);
  const transport = await openTransport({ config, log, budget, closed });
  const authority = closeWithProcess(
    await openOwnAuthority(
      { acceptTime, registry: (): Registry => registry },
      { config, log, metrics, closeWithProcess },
    ),
  );
  const guard = closeWithProcess(new OpenGuard({ ...accessTo(authority, { config, log }), log }));
  // The guard must be ready before the port is open. Gateways that know the address from an earlier
  // run send calls as soon as they are connected.
  await guard.ready();
  const listening = [config.grpc, config.admin].filter((address) => address !== undefined);
  const registry = closeWithProcess(
    await openRegistry({ authority, guard, transport, services: [], listening }, { config, log, budget }),
  );
  const served = [authority.service, registry.service];
  const grpc = closeWithProcess(await openGrpcPort({ ...opening, services: served, guard, transport, tracer }));
  closeWithProcess(registry); // Handed over again, so that it is closed before the port: its streams would never end by themselves.
  await joinOwn(served, { grpc, registry }, { config, log });
  closeWithProcess(keepGrpcHealth(grpc.dispatcher, guard));
  const { firstStart, errors } = authority;
  const { health, notReady } = healthOf({ guard, errors });
  const admin = closeLastWithProcess(await openAdminPort({ guard, health, authority }, opening));
  return { grpc: grpc.target, admin: admin.address, firstStart, notReady };
}

/** The options for opening the authority of this process, in addition to the settings. */
interface OwnAuthorityOptions extends StoreOptions {
  /**
   * The registry of this process. It opens after the authority, and is asked when an enrolment is
   * deleted or a configuration is applied, which is not possible before.
   */
  readonly registry: () => Pick<Registry, "joinsOtherwise" | "check">;
}

/**
 * Opens the store, and the authority on it. The process closes the store when it stops.
 * @throws {ConfigError|StoreError}
 */
export async function openOwnAuthority(
  { registry, ...options }: OwnAuthorityOptions,
  { config, log, metrics, closeWithProcess }: Pick<Process, "config" | "log" | "metrics" | "closeWithProcess">,
): Promise<Authority & ProcessPart> {
  const { data: dataFolder, adminPassword, maxRules, lease: leaseMs, maxCallTime: maxCallMs } = config;
  const services = Object.keys(BUILT_IN_SERVICES);
  const name = `${hostname()} ${formatAddress(config.grpc)}`;
  const audit = { retentionMs: config.auditRetention, maxBytes: config.auditMax };
  const opened = await openStore(config.store, dataFolder, { warn: (message) => log.warn(message) });
  const store = closeWithProcess(watchErrors(opened, countStoreErrors("authority", metrics)));
  const given = {
    ...options,
    joinsOtherwise: (service: string) => registry().joinsOtherwise(service),
    checkServed: (service: Parameters<Registry["check"]>[0]) => registry().check(service),
    checkService: externalServiceOf,
    store,
    dataFolder,
    services,
    adminPassword,
    maxRules,
    leaseMs,
    maxCallMs,
    name,
    log,
    audit,
    auditLog: config.auditLog,
  };
  const authority = await openAuthority(given);
  return { ...authority, leave: () => authority.announceStop() };
}

/**
 * The access of this process to its own authority. It has a separate dispatcher, whose calls do not
 * pass the process's guard: the guard itself makes them. Calls on the gRPC port pass the guard.
 */
export function accessTo({ service }: Authority, { config, log }: Pick<Process, "config" | "log">) {
  const toAuthority = new Dispatcher({ services: [service], guard: REFUSE_ALL, limits: messageLimits(config), log });
  return { channel: new InProcessChannel(toAuthority), admission: SYSTEM } as const;
}

/** What the registry needs, in addition to the settings. */
interface RegistryParts {
  readonly authority: Authority;
  readonly guard: OpenGuard;
  readonly transport: Pick<Transport, "connect">;
  /** Built-in services that this process is about to serve. */
  readonly services: readonly Service[];
  /** The addresses at which this process is about to listen; default: none is known. */
  readonly listening?: readonly HttpAddress[];
}

/**
 * Opens the registry. The registry follows the services of the log and of the configuration file.
 * Resolves when each of them was tried once, so that gateways find them at their first look.
 */
export async function openRegistry(
  { authority, guard, transport, services, listening = [] }: RegistryParts,
  { config, log, budget }: Pick<Process, "config" | "log" | "budget">,
): Promise<Registry> {
  const { grpcNames: owners, serviceLog } = authority;
  // The services of this process get their own gRPC names before others join, unless others got
  // these names at an earlier start.
  for (const { name, parts } of [authority.service, ...services]) await owners.claim(name, parts.map(grpcServiceOf));
  const authorities = (): number => authority.count();
  // The registry logs why it cannot read a contract.
  const connectTo = externalConnector({ ...config, transport });
  const connect = (target: GrpcTarget, options: SecretOptions) => connectTo(target, { service: "", options });
  const secretFiles = (options: SecretOptions) => secretFilesOf(config.credentials, options);
  const isOwn = (target: GrpcTarget) => isOwnAddress(target, listening);
  const common = { guard, owners, connect, secretFiles, log, budget, authorities };
  const checkFiles = (options: SecretOptions) => checkTlsFiles(config.credentials, options);
  const own = { isOwn, checkTlsFiles: checkFiles };
  const registry = createRegistry({ ...common, external: config.services, serviceLog, ...own });
  const following = followServices({ file: config.configFile, registry, log });
  await Promise.race([registry.tried(), sleep(CONFIGURED_WAIT_MS, undefined, { ref: false })]);
  const close = (): void => {
    following.close(0);
    registry.close();
  };
  return { ...registry, close };
}

/**
 * Adds the services of this process to its registry.
 * @returns their instances
 */
export async function joinOwn(
  services: readonly Service[],
  { grpc, registry }: { readonly grpc: GrpcPort; readonly registry: Registry },
  { config, log }: Pick<Process, "config" | "log">,
): Promise<readonly { readonly service: string; readonly id: string }[]> {
  const instances = services.map((service) => instanceOf(service, grpc, config));
  for (const [index, instance] of instances.entries()) await addStore(instance, services[index]!);
  for (const instance of instances) await registry.add(instance);
  const names = instances.map(({ service }) => service);
  log.info({ services: names.join(", ") }, `the ${names.length} services of this process joined`);
  return instances;
}

/**
 * The guard of a dispatcher that only this process calls. These calls have the admission `SYSTEM`,
 * so the guard is not asked.
 */
const REFUSE_ALL: Guard = {
  admit(_credentials, endpoint) {
    throw new StatusError(Code.UNAUTHENTICATED, `Unauthorized call made to ${endpoint.name}`);
  },
  allows: () => false,
  count: () => undefined,
  follow: () => ({ mayPass: () => true, end: () => {} }),
};
