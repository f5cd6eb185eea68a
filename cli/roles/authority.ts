/** `portico authority`: the store, the authority and the registry, on the gRPC port. `portico server` has the same parts. */
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Health } from "../../gateway/own/health.js";
import { type Authority, openAuthority } from "../../services/auth/authority.js";
import { createRegistry } from "../../services/registry/registry.js";
import type { AuthorityAccess } from "../../src/access/follow/authority-access.js";
import { type Guard, OpenGuard, SYSTEM } from "../../src/access/guard.js";
import { formatAddress } from "../../src/address/address.js";
import type { Flags } from "../../src/config/config.js";
import { Code, StatusError } from "../../src/errors.js";
import { type ListNamespaces, listNamespacesOf } from "../../src/kit/namespace-data.js";
import { messageLimits, type ProcessContext } from "../../src/process/context.js";
import { type GrpcPort, instanceOf, keepGrpcHealth, openGrpcPort } from "../../src/process/grpc-port.js";
import { addStore } from "../../src/process/service.js";
import { Dispatcher } from "../../src/rpc/dispatch.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { grpcServiceOf, type Service } from "../../src/rpc/service.js";
import { openStore } from "../../src/store/open.js";
import type { Io } from "../terminal/io.js";
import { openAdminPort } from "./admin-port.js";
import { followServices } from "./follow-services.js";
import { OWN_SERVICES } from "./own-services.js";
import { whyNotReady } from "./readiness.js";
import { runRole } from "./run.js";
import { processOf, type Running } from "./start.js";

/** How long a start waits for the contracts of services that join by configuration, in milliseconds. */
const CONFIGURED_WAIT_MS = 1_000;

/** Options of the command line that are no settings: they hold for one start. */
export interface StoreOptions {
  /** Whether the machine's clock is right, whatever the store says. */
  readonly acceptTime?: boolean;
}

/**
 * Runs until the process is told to stop.
 * @returns the exit code.
 */
export function runAuthority(flags: Flags & StoreOptions, io: Io): Promise<number> {
  const start = processOf((context) => openAuthorityProcess(context, flags));
  return runRole({ title: "authority", start, hasStore: true }, flags, io);
}

async function openAuthorityProcess(context: ProcessContext, options: StoreOptions): Promise<Omit<Running, "stop">> {
  const { guard, grpc, firstStart, faults } = await openCore(context, () => [], options);
  const why = (): string | undefined => whyNotReady(health.missing, { guard });
  const health: Health = new Health({ guard: () => guard.state === "ready" }, { why, faults });
  const admin = await openAdminPort(context, health);
  return { grpc: grpc.target, admin, firstStart, notReady: why };
}

/** The authority and the registry of this process, and what follows them. */
export interface Core {
  readonly guard: OpenGuard;
  /** Answers calls to every service of this process. */
  readonly grpc: GrpcPort;
  /** Whether an instance is of this process. Another may give the same address, but cannot know an ID beforehand. */
  readonly isLocal: (instance: { readonly service: string; readonly id: string }) => boolean;
  readonly firstStart: Authority["firstStart"];
  readonly faults: Authority["faults"];
  readonly enrol: Authority["enrol"];
}

/**
 * Opens the store, the authority, the registry, and the gRPC port.
 * @param more gives the services that the same process serves, which may ask the authority
 * @throws {CommandError|StoreError}
 */
export async function openCore(
  context: ProcessContext,
  more: (list: ListNamespaces) => readonly Service[],
  { acceptTime }: StoreOptions,
): Promise<Core> {
  const { config, log, transport, shutdown, budget } = context;
  const store = await openStore(config.store, config.data, { warn: (message) => log.warn(message) });
  shutdown.add(() => store.close());
  const { data: dataFolder, adminPassword, maxRules, lease: leaseMs } = config;
  const services = Object.keys(OWN_SERVICES);
  const name = `${hostname()} ${formatAddress(config.grpc)}`;
  const given = { store, dataFolder, services, adminPassword, maxRules, leaseMs, name, log, acceptTime };
  // The registry is opened later: until then nobody deletes an enrolment.
  const joinsOtherwise = (service: string): boolean => registry.joinsOtherwise(service);
  const audit = { retentionMs: config.auditRetention, maxBytes: config.auditMax };
  const authority = await openAuthority({ ...given, audit, joinsOtherwise });
  context.metrics.changesRefused = () => authority.refused();
  context.metrics.recordsDropped = () => authority.droppedRecords();
  shutdown.onBegin(() => authority.announceStop());
  shutdown.add(() => authority.close());
  const { guard, asked } = await openOwnGuard(context, authority);
  const own = more(listNamespacesOf(asked));
  // Before services of others join.
  await claimNames(authority, [authority.service, ...own]);
  const { services: foreign } = config;
  const authorities = (): number => authority.count();
  const { grpcNames: owners } = authority;
  const { connect } = transport;
  const registry = createRegistry({ guard, foreign, owners, connect, log, budget, authorities });
  shutdown.add(() => registry.close());
  shutdown.add(followServices({ file: config.configFile, registry, log }));
  // Before the port is open, too: gateways then find these services from their first look on.
  await Promise.race([registry.tried(), sleep(CONFIGURED_WAIT_MS, undefined, { ref: false })]);
  const served = [authority.service, registry.service, ...own];
  // Before the port is open, too: a store that cannot be used ends the start.
  for (const service of served) await service.store?.();
  const grpc = await openGrpcPort(context, served, guard);
  // Before the port: its streams would never end by themselves.
  shutdown.add(() => registry.close());
  const instances = served.map((service) => instanceOf(service, grpc, config));
  for (const [index, instance] of instances.entries()) await addStore(instance, served[index]!);
  for (const instance of instances) await registry.add(instance);
  const names = instances.map(({ service }) => service);
  log.info({ services: names.join(", ") }, `the ${names.length} services of this process joined`);
  const localIds = new Set(instances.map(({ service, id }) => `${service} ${id}`));
  keepGrpcHealth(shutdown, grpc.dispatcher, guard);
  const isLocal: Core["isLocal"] = ({ service, id }) => localIds.has(`${service} ${id}`);
  const { firstStart, faults, enrol } = authority;
  return { guard, grpc, isLocal, firstStart, faults, enrol };
}

/** Opens the guard of the authority's process. It can decide when this resolves. */
async function openOwnGuard(
  { config, log, shutdown }: ProcessContext,
  { service }: Authority,
): Promise<{ guard: OpenGuard; asked: Pick<AuthorityAccess, "channel" | "admission"> }> {
  // The guard asks the authority, and calls on the gRPC port pass the guard. So the guard has a dispatcher of its own.
  const toAuthority = new Dispatcher({ services: [service], guard: REFUSE_ALL, limits: messageLimits(config), log });
  const asked = { channel: new InProcessChannel(toAuthority), admission: SYSTEM } as const;
  const guard = new OpenGuard({ ...asked, log });
  shutdown.add(() => guard.close());
  // Before the port is open: gateways that know its address from before call as soon as they are connected.
  await guard.ready();
  return { guard, asked };
}

/** What this process serves has its own gRPC names, unless others had them at an earlier start. */
async function claimNames({ grpcNames }: Authority, own: readonly Service[]): Promise<void> {
  for (const { name, parts } of own) {
    const names = parts.map(grpcServiceOf);
    await grpcNames.claim(name, names);
  }
}

/** For a dispatcher that only this process calls, with an admission of its own. */
const REFUSE_ALL: Guard = {
  admit(_credentials, endpoint) {
    throw new StatusError(Code.UNAUTHENTICATED, `Unauthorized call made to ${endpoint.name}`);
  },
  allows: () => false,
  follow: () => ({ mayPass: () => true, end: () => {} }),
};
