/**
 * Composes the process. `portico server` runs every part in one; `portico authority`, `portico gateway` and
 * `portico service <name>` run the parts alone. This is the one place that knows services and gateway both.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { type CatalogOptions, createCatalog } from "../../gateway/catalog/catalog.js";
import { createHandler } from "../../gateway/handler.js";
import { listen } from "../../gateway/node/listen.js";
import { ServedDocuments } from "../../gateway/openapi/served.js";
import { createAdminHandler } from "../../gateway/own/admin.js";
import { Health } from "../../gateway/own/health.js";
import { Pages } from "../../gateway/own/pages.js";
import { Usage } from "../../gateway/own/usage.js";
import { Hosts } from "../../gateway/stages/hosts.js";
import { type Authority, openAuthority } from "../../services/auth/authority.js";
import { helloworld } from "../../services/helloworld/helloworld.js";
import { readConnection } from "../../services/registry/connection-contract.js";
import { createRegistry, type Registry } from "../../services/registry/registry.js";
import { type Guard, type OpenGuard, openGuard, SYSTEM } from "../../src/access/guard.js";
import { type Address, formatAddress, formatGrpcTarget, type GrpcTarget, parseGrpcTarget } from "../../src/address.js";
import { readCertificates } from "../../src/certificates.js";
import { type Config, ConfigError, type Flags, SETTINGS } from "../../src/config.js";
import { Code, StatusError } from "../../src/errors.js";
import { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import type { Logger } from "../../src/log.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { Metrics } from "../../src/metrics.js";
import type { Channel } from "../../src/rpc/channel.js";
import { Dispatcher, type DispatcherOptions } from "../../src/rpc/dispatch.js";
import type { GrpcServer } from "../../src/rpc/grpc-js/server.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { first, type Metadata } from "../../src/rpc/metadata.js";
import { register } from "../../src/rpc/registration.js";
import type { Service } from "../../src/rpc/service.js";
import { loadTransport, type Transport } from "../../src/rpc/transport.js";
import { openStore } from "../../src/store/store.js";
import { CommandError } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { whyNotReady } from "./readiness.js";
import { aborted, type Role, runRole } from "./run.js";
import { Opened } from "./shutdown.js";

/** The services that `portico server` runs itself, and `portico service <name>` runs alone. */
export const SERVICES: ReadonlyMap<string, Service> = new Map([[helloworld.name, helloworld]]);

/** One of several processes of a role. */
export interface WorkerPlace {
  readonly pid: number;
  readonly admin: Address;
}

/** What runs, and where. */
export interface Running {
  readonly http?: Address;
  readonly grpc?: GrpcTarget;
  /** Of this process; one that has only workers has none. */
  readonly admin?: Address;
  readonly workers?: readonly WorkerPlace[];
  readonly firstStart?: Authority["firstStart"];
  /** Why calls are refused now, such as an authority that cannot be reached; undefined where they are not. */
  notReady(): string | undefined;
  /**
   * Is not ready from now on, but takes calls for the time of the notice; then accepts nothing new, finishes what is in
   * flight, and leaves.
   */
  stop(): Promise<void>;
}

/** `portico server`: everything in one process; calls between the parts go through in-process channels. */
export function startServer(
  config: Config,
  log: Logger,
  signal: AbortSignal,
  options: StoreOptions = {},
): Promise<Running> {
  return starting(config, log, signal, async (opened) => {
    const core = await openCore(opened, config, log, { ...options, own: [...SERVICES.values()] });
    const { guard, dispatcher, grpc, transport, budget } = core;
    const registry: CatalogOptions = {
      channel: core.channel,
      admission: SYSTEM,
      connect: (address, instance, options) =>
        core.isLocal(instance)
          ? new InProcessChannel(dispatcher)
          : transport.connect(parseGrpcTarget(address), options),
      readContract: readConnection,
      log,
    };
    const { http, health } = await openDoor(opened, config, { registry, guard, metrics: core.metrics, log, budget });
    const admin = await openAdmin(opened, config, core.metrics, health, budget);
    const notReady = () => whyNotReady(health.missing, guard);
    return { http, grpc: reachedAt(grpc.address, config), admin, firstStart: core.firstStart, notReady };
  });
}

/** `portico authority`: the authority and the registry. */
export function startAuthority(
  config: Config,
  log: Logger,
  signal: AbortSignal,
  options: StoreOptions = {},
): Promise<Running> {
  return starting(config, log, signal, async (opened) => {
    const { guard, grpc, metrics, firstStart, budget } = await openCore(opened, config, log, { ...options, own: [] });
    const health = new Health({ guard: () => guard.state === "ready" });
    const admin = await openAdmin(opened, config, metrics, health, budget);
    return {
      grpc: reachedAt(grpc.address, config),
      admin,
      firstStart,
      notReady: () => whyNotReady(health.missing, guard),
    };
  });
}

/** `portico gateway`: the front door alone. */
export function startGateway(config: Config, log: Logger, signal: AbortSignal): Promise<Running> {
  return starting(config, log, signal, async (opened) => {
    const enrolment = enrolmentOf("gateway", config);
    const budget = budgetOf(config);
    const transport = await transportOf(config, budget);
    const { guard, ...mesh } = joinMesh(opened, config, transport, enrolment, log);
    const metrics = new Metrics();
    const registry: CatalogOptions = {
      ...mesh,
      connect: (address, _instance, options) => transport.connect(parseGrpcTarget(address), options),
      readContract: readConnection,
    };
    const { http, health } = await openDoor(opened, config, { registry, guard, enrolment, metrics, log, budget });
    const admin = await openAdmin(opened, config, metrics, health, budget);
    return { http, admin, notReady: () => whyNotReady(health.missing, guard, config.authority) };
  });
}

/** `portico service <name>`: one service alone, which registers for as long as it runs. */
export function startService(service: Service, config: Config, log: Logger, signal: AbortSignal): Promise<Running> {
  return starting(config, log, signal, async (opened) => {
    const budget = budgetOf(config);
    const transport = await transportOf(config, budget);
    const { guard, ...mesh } = joinMesh(opened, config, transport, enrolmentOf(service.name, config), log);
    const metrics = new Metrics();
    const onEnd = recorder(metrics, log);
    const dispatcher = new Dispatcher({ services: [service], guard, limits: messageLimits(config), log, onEnd });
    const grpc = await bound("grpc", config, () => transport.serve(dispatcher, config.grpc));
    opened.own((drainMs) => grpc.close(drainMs));
    tellHealth(opened, dispatcher, guard);
    const registration = register({ ...mesh, instance: instanceOf(service, grpc, config) });
    opened.own(() => registration.close());
    const health = new Health({ guard: () => guard.state === "ready" });
    const admin = await openAdmin(opened, config, metrics, health, budget);
    await soon(guard.ready());
    const notReady = () => whyNotReady(health.missing, guard, config.authority);
    return { grpc: reachedAt(grpc.address, config), admin, notReady };
  });
}

/**
 * Has V8 give buffers back as soon as it finds them unused. It leaves that to another thread, which gets no processor while
 * calls keep all of them busy: then buffers take twice the memory.
 *
 * Nor may it put new objects among the old ones because others of their kind have lived long: there they stay until
 * everything is collected, with all they refer to, which is a whole call, and a call takes half as long again.
 */
function setCollection(): void {
  setFlagsFromString("--no-concurrent-array-buffer-sweeping");
  setFlagsFromString("--no-allocation-site-pretenuring");
}

/**
 * Opens parts; closes again what was opened when one of them cannot be, or the process is told to stop meanwhile.
 * @throws {CommandError} also when told to stop.
 */
async function starting(
  { drain: drainMs, drainNotice: noticeMs }: Config,
  log: Logger,
  signal: AbortSignal,
  open: (opened: Opened) => Promise<Omit<Running, "stop">>,
): Promise<Running> {
  setCollection();
  const opened = new Opened(log);
  const stopped = aborted(signal).then(() => Promise.reject(new CommandError("Stopped before it was ready")));
  try {
    return { ...(await Promise.race([open(opened), stopped])), stop: () => opened.leave({ noticeMs, drainMs }) };
  } catch (error) {
    await opened.abandon();
    throw error;
  }
}

interface Core {
  readonly guard: OpenGuard;
  readonly dispatcher: Dispatcher;
  /** To every service of this process. */
  readonly channel: Channel;
  /** Whether an instance is of this process. Another may give the same address; nobody can know an id beforehand. */
  readonly isLocal: (instance: { readonly service: string; readonly id: string }) => boolean;
  readonly grpc: GrpcServer;
  /** To other processes. */
  readonly transport: Transport;
  readonly metrics: Metrics;
  readonly firstStart: Authority["firstStart"];
  readonly budget: MemoryBudget;
}

/** What only the command line says of one start. */
export interface StoreOptions {
  /** Whether the machine's clock is right, whatever the store says. */
  readonly acceptTime?: boolean;
}

/** The authority, the registry, and services of the same process, on the gRPC port. */
async function openCore(
  opened: Opened,
  config: Config,
  log: Logger,
  { own, acceptTime }: StoreOptions & { readonly own: readonly Service[] },
): Promise<Core> {
  const store = await openStore(config.store, config.data);
  opened.own(() => store.close());
  const { data: dataFolder, adminPassword, maxRules, lease: leaseMs } = config;
  const authority = await openAuthority({ store, dataFolder, adminPassword, maxRules, leaseMs, log, acceptTime });
  opened.own(() => authority.close());
  // The guard asks the authority, and every other way to the authority leads past the guard: hence a way of its own.
  const inside = new Dispatcher({ services: [authority.service], guard: NO_DOOR, limits: messageLimits(config), log });
  const guard = openGuard({ channel: new InProcessChannel(inside), admission: SYSTEM, log });
  opened.own(() => guard.close());
  const budget = budgetOf(config);
  const transport = await transportOf(config, budget);
  const registry = createRegistry({ guard, foreign: config.services, connect: transport.connect, log });
  opened.own(() => registry.close());
  const services = [authority.service, registry.service, ...own];
  const metrics = new Metrics();
  const dispatcher = new Dispatcher({
    services,
    guard,
    limits: messageLimits(config),
    log,
    onEnd: recorder(metrics, log),
  });
  const grpc = await bound("grpc", config, () => transport.serve(dispatcher, config.grpc));
  opened.own((drainMs) => {
    registry.close(); // Its streams would never end by themselves.
    return grpc.close(drainMs);
  });
  const local = new Set(services.map((service) => addTo(registry, instanceOf(service, grpc, config))));
  await guard.ready();
  tellHealth(opened, dispatcher, guard);
  const channel = new InProcessChannel(dispatcher);
  const isLocal = (instance: { service: string; id: string }) => local.has(nameOf(instance));
  return { guard, dispatcher, channel, isLocal, grpc, transport, metrics, firstStart: authority.firstStart, budget };
}

interface DoorOptions {
  /** How to follow the registry, and to reach what is registered. */
  readonly registry: CatalogOptions;
  readonly guard: OpenGuard;
  /** The gateway's enrolment token, where the authority is another process. */
  readonly enrolment?: string;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly budget: MemoryBudget;
}

/** The catalog that follows the registry, the handler, and the HTTP port. */
async function openDoor(
  opened: Opened,
  config: Config,
  { registry, guard, enrolment, metrics, log, budget }: DoorOptions,
): Promise<{ http: Address; health: Health }> {
  const { omitZeros } = config;
  const catalog = createCatalog({ ...registry, omitZeros, maxMessage: messageLimits(config).maxBody });
  opened.own(() => catalog.close());
  const health = new Health({ guard: () => guard.state === "ready", catalog: () => catalog.ready });
  // Beside the bundle, where scripts/build-web.mjs puts them.
  const pages = new Pages({ folder: join(import.meta.dirname, "console") });
  const documents = new ServedDocuments({ catalog, guard, omitZeros: config.omitZeros });
  const usage = new Usage(registry);
  opened.own(() => usage.close());
  const own = [health, documents, pages];
  const hosts = await Hosts.of(config.http, config.httpHosts);
  const handler = createHandler({ catalog, guard, own, hosts, config, enrolment, log, metrics, usage });
  // Callers would else be refused by a gateway that has just started while another answers beside it.
  await soon(Promise.all([guard.ready(), catalog.arrived]));
  const door = await bound("http", config, () => listen(handler, config.http, { ...config, budget }));
  opened.onLeave(() => door.leave());
  opened.own((drainMs) => door.close(drainMs));
  return { http: door.address, health };
}

/** The registry sends descriptors, whatever bodies callers may send. */
function messageLimits(config: Config): Config {
  return { ...config, maxBody: Math.max(config.maxBody, LEAST_MESSAGE) };
}

/** In bytes. */
const LEAST_MESSAGE = 4 * 1024 ** 2;

/** How often gRPC health is brought up to date, in milliseconds. */
const HEALTH_INTERVAL = 500;

/** gRPC health says what `/readyz` says: a process whose guard cannot decide does not serve. */
function tellHealth(opened: Opened, dispatcher: Dispatcher, guard: OpenGuard): void {
  let leaving = false;
  const tell = () => {
    dispatcher.health.serving = !leaving && guard.state === "ready";
  };
  const timer = setInterval(tell, HEALTH_INTERVAL);
  opened.own(() => clearInterval(timer));
  opened.onLeave(() => {
    leaving = true;
    tell();
  });
  tell();
}

/** Counts and logs each call that came over gRPC, as the gateway does with what comes over HTTP. */
function recorder(metrics: Metrics, log: Logger): NonNullable<DispatcherOptions["onEnd"]> {
  return ({ code, milliseconds, metadata, caller, namespace }, endpoint) => {
    metrics.grpcCall(endpoint, code, milliseconds / 1000);
    if (!log.isLevelEnabled("info")) return;
    log.info({
      requestId: first(metadata, "x-request-id"),
      endpoint: endpoint.name,
      code: Code[code],
      ms: Math.round(milliseconds * 1000) / 1000,
      account: caller?.account,
      namespace,
    });
  };
}

/** Lets nobody in: only the process itself calls here. */
const NO_DOOR: Guard = {
  admit(_credentials, endpoint) {
    throw new StatusError(Code.UNAUTHENTICATED, `Unauthorized call made to ${endpoint.name}`);
  },
  allows: () => false,
  follow: () => () => {},
};

/** Adds an instance of this process; gives its name. */
function addTo(registry: Registry, instance: Instance): string {
  registry.add(instance);
  return nameOf(instance);
}

function nameOf({ service, id }: { readonly service: string; readonly id: string }): string {
  return `${service} ${id}`;
}

function instanceOf(service: Service, grpc: GrpcServer, config: Config): Instance {
  return Instance.fromPartial({
    service: service.name,
    id: randomUUID(),
    addresses: [formatGrpcTarget(reachedAt(config.advertise ?? grpc.address, config))],
    descriptors: bufferOf(service.descriptors),
    grpcServices: service.parts.map((part) => part.grpcService),
    reflected: true,
  });
}

/** How others reach this process's gRPC port. */
function reachedAt(address: Address, { tlsCert }: Config): GrpcTarget {
  return tlsCert === undefined ? address : { ...address, tls: true };
}

/** The same bytes, and where it can be the same object, by which the registry knows what it has read. */
function bufferOf(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** How soon a lost authority is connected to again, in milliseconds: within a lease, so that its restart fails no call. */
const AUTHORITY_RECONNECT_MS = 200;

/** The authority and registry of another process, a guard that follows it, and a log that names its address. */
function joinMesh(opened: Opened, config: Config, transport: Transport, enrolment: string, to: Logger) {
  const log = to.child({ authority: formatGrpcTarget(config.authority) });
  const channel = transport.connect(config.authority, { maxReconnectMs: AUTHORITY_RECONNECT_MS });
  opened.own(() => channel.close());
  const metadata: Metadata = [["authorization", `Bearer ${enrolment}`]];
  const guard = openGuard({ channel, metadata, log });
  opened.own(() => guard.close());
  return { channel, metadata, guard, log };
}

/** @throws {ConfigError} when there is no enrolment token. */
function enrolmentOf(name: string, config: Config): string {
  if (config.enrolment !== undefined) return config.enrolment;
  const file = join(config.data, "enrolment", name);
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new ConfigError(
      `no enrolment token: PORTICO_ENROLMENT is not set, and ${file} cannot be read (${(error as Error).message}). ` +
        `Create one where the authority runs: portico auth create enrolment ${name}`,
    );
  }
}

function transportOf(config: Config, budget: MemoryBudget): Promise<Transport> {
  return loadTransport(config.transport, messageLimits(config), readCertificates(config), budget);
}

/** One for the process. */
function budgetOf(config: Config): MemoryBudget {
  return new MemoryBudget({ maxBody: config.maxBody, trustedProxies: config.trustedProxies });
}

/** How long a start waits for the authority before it goes on without, in milliseconds. */
const PATIENCE = 3_000;

async function soon(needed: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, PATIENCE);
  });
  await Promise.race([needed, late]);
  clearTimeout(timer);
}

async function openAdmin(
  opened: Opened,
  config: Config,
  metrics: Metrics,
  health: Health,
  budget: MemoryBudget,
): Promise<Address> {
  // Workers share what they listen on, unless told otherwise: then port 0 is a free one for each.
  const address = { ...config.admin, exclusive: true };
  const hosts = await Hosts.of(config.admin, config.httpHosts);
  const handler = createAdminHandler({ metrics, health, hosts });
  const admin = await bound("admin", config, () => listen(handler, address, { ...config, budget }));
  // It tells until the end how the process does.
  opened.ownLast(() => admin.close(0));
  opened.onLeave(() => health.leave());
  return admin.address;
}

/** Opens what listens at a setting's address; a failure names the setting. */
async function bound<T>(key: "http" | "grpc" | "admin", config: Config, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const address = formatAddress(config[key]);
    const { message } = error as Error;
    const what = message.includes("EADDRINUSE") ? `${address} is in use` : `cannot listen on ${address}: ${message}`;
    throw new CommandError(`${what}; name another address in ${SETTINGS[key].variable} (port 0 takes a free one)`);
  }
}

export function run(flags: Flags & StoreOptions, io: Io): Promise<number> {
  const start: Role["start"] = (config, log, signal) => startServer(config, log, signal, flags);
  return runRole({ title: "everything in one process", start, hasStore: true }, flags, io);
}
