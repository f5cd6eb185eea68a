/**
 * Runs a service in its own process, which joins Portico:
 *
 *     await serve(GreeterService, { … }, { name: "greeter" })
 */

import { readFileSync } from "node:fs";
import { formatGrpcTarget } from "../address/address.js";
import { loadConfig, SETTINGS } from "../config/config.js";
import { ConfigError } from "../config/setting.js";
import { isMetadataNames, METADATA_NAMES } from "../contract/metadata-names.js";
import { BINDING_PREFIX, NAME } from "../contract/names.js";
import { createLog } from "../log.js";
import { instanceOf, keepGrpcHealth, openGrpcPort } from "../process/grpc-port.js";
import { joinAuthority, waitForAuthority } from "../process/join.js";
import { ListenError } from "../process/listen.js";
import { openTransport, Process } from "../process/process.js";
import { openCallQueue } from "../process/refusals.js";
import { keepRegistered } from "../process/service.js";
import { openTracing } from "../process/tracing.js";
import type { ServiceDefinition } from "../rpc/definition.js";
import { StoreError } from "../store/store.js";

import { type Implementation, type Part, part } from "./call.js";
import { Clients } from "./clients.js";
import { descriptorsOf } from "./loaded-definition.js";
import { listNamespacesOf } from "./namespace-data.js";
import type { Schedule } from "./schedule.js";
import { Scheduler } from "./scheduler.js";
import { createService } from "./service.js";
import { installationStore } from "./shared-store.js";

/** How a service is served. */
export interface ServeOptions {
  /** The name that callers use, `greeter`: lower-case letters, digits and `-`. */
  readonly name: string;
  /**
   * The contract with its comments, which callers see: a google.protobuf.FileDescriptorSet, or the
   * file with it. Optional for a definition of @grpc/proto-loader, which has its contract without
   * the comments.
   */
  readonly descriptors?: Uint8Array | string | URL | undefined;
  /**
   * How the `google.api.http` annotations are served. The prefix, such as `/api`, stands before
   * each path. Without a prefix, paths below `/v1/` need a valid token.
   */
  readonly bindings?: { readonly prefix: string } | undefined;
  /**
   * Request headers that handlers get in `call.metadata`, and metadata of handlers
   * (`call.sendHeaders`, `call.setTrailers`) that callers get as headers. Names are in lower case,
   * `["x-tenant"]`. Values of names that end in `-bin` are bytes. `*` means all names except those
   * that HTTP, Portico and gRPC use.
   */
  readonly metadata?: readonly string[] | undefined;
  /** Functions that run at planned times (see `schedule`), by their names. */
  readonly schedules?: { readonly [name: string]: Schedule } | undefined;
  /**
   * Settings of `portico service`, as text: `{ authority: "10.0.0.5:8081" }`. They take precedence
   * over the environment.
   */
  readonly settings?: { readonly [name: string]: string } | undefined;
}

/** A running service. */
export interface Served {
  /** The address where it listens, `127.0.0.1:40123`. */
  readonly address: string;
  /** Deregisters the service, waits for the running calls, and closes everything. */
  close(): Promise<void>;
}

/**
 * Serves one gRPC service. Resolves when it is served. Calls are refused with UNAVAILABLE until the
 * authority and the registry have responded; the service retries until they do. At SIGTERM and
 * SIGINT it closes, and the process exits.
 * @throws {Error} (rejects) if it cannot start; the message says why and what to do
 */
export async function serve<D extends ServiceDefinition>(
  definition: D,
  implementation: Implementation<D>,
  options: ServeOptions,
): Promise<Served>;
/** Serves several gRPC services under one name. */
export async function serve(parts: readonly Part[], options: ServeOptions): Promise<Served>;
export async function serve(
  what: ServiceDefinition | readonly Part[],
  ...rest: [Implementation<ServiceDefinition>, ServeOptions] | [ServeOptions]
): Promise<Served> {
  const options = rest.at(-1) as ServeOptions;
  const parts = Array.isArray(what)
    ? what
    : [part(what as ServiceDefinition, rest[0] as Implementation<ServiceDefinition>)];
  return serveParts(parts, options);
}

async function serveParts(parts: readonly Part[], options: ServeOptions): Promise<Served> {
  const { name, descriptors, settings, bindings, metadata, schedules = {} } = options;
  if (!NAME.test(name)) throw new TypeError(`name ${JSON.stringify(name)}: must be lower-case letters, digits and -`);
  const unknown = Object.keys(settings ?? {}).find((key) => !Object.hasOwn(SETTINGS, key));
  if (unknown !== undefined) throw new TypeError(`settings: there is no setting ${unknown}`);
  if (bindings !== undefined && !BINDING_PREFIX.test(bindings.prefix)) {
    throw new TypeError(`bindings.prefix ${JSON.stringify(bindings.prefix)}: must be a path such as /api`);
  }
  if (metadata !== undefined && !isMetadataNames(metadata)) throw new TypeError(METADATA_NAMES);
  const unnamed = Object.keys(schedules).find((key) => !NAME.test(key));
  if (unnamed !== undefined)
    throw new TypeError(`schedules: the name ${JSON.stringify(unnamed)} must be lower-case letters, digits and -`);
  const hasSchedules = Object.keys(schedules).length > 0;
  const grpc = settings?.grpc ?? process.env.PORTICO_GRPC ?? "127.0.0.1:0";
  const config = loadConfig({ ...settings, grpc });
  const log = createLog(config.logLevel);
  const serving = new Process(config, log, "service");
  const { budget, metrics, closeWithProcess } = serving;
  try {
    const tracer = openTracing(name, serving);
    const transport = await openTransport(serving);
    const joined = closeWithProcess(await joinAuthority(name, { config, log }, transport));
    const { data: dataFolder, serviceStore: url, serviceQuota: quota } = config;
    const list = listNamespacesOf(joined);
    const store = closeWithProcess(
      installationStore({ url, dataFolder, services: [name], joined: name, list, log, budget, quota }),
    );
    const { guard, channel, metadata: enrolled } = joined;
    const clients = closeWithProcess(new Clients({ channel, metadata: enrolled, connect: transport.connect }));
    const service = createService(parts, {
      descriptors: readContract(descriptors) ?? descriptorsOf(parts),
      environment: { service: name, log, store, clients: () => clients },
      // Portico knows only at the first write whether handlers store anything. If the settings name
      // a store, it assumes that they do. Schedules always do.
      store: url === "sqlite:" && !hasSchedules ? async () => ({ name: await store.check() }) : store.open,
      bindingPrefix: bindings?.prefix,
      metadata,
    });
    const { callQueue } = closeWithProcess(openCallQueue({ log, metrics }));
    const port = closeWithProcess(
      await openGrpcPort({ ...serving, services: [service], guard, callQueue, transport, tracer }),
    );
    closeWithProcess(keepGrpcHealth(port.dispatcher, guard));
    const registered = closeWithProcess(keepRegistered(service, instanceOf(service, port, config), joined, log));
    await waitForAuthority(Promise.all([guard.ready(), registered.ready()]));
    if (hasSchedules) closeWithProcess(new Scheduler(schedules, { service: name, store, list, log }));
    const close = closeOnce(() => serving.stop({ noticeMs: 0, drainMs: config.drain }));
    return { address: formatGrpcTarget(port.target), close };
  } catch (error) {
    await serving.abandonStart();
    throw withoutStack(error);
  }
}

/** An error at the start is for the operator, so Node should print only its message. */
function withoutStack(error: unknown): unknown {
  const isForOperator = [ConfigError, ListenError, StoreError].some((type) => error instanceof type);
  if (isForOperator) (error as Error).stack = (error as Error).message;
  return error;
}

function readContract(descriptors: ServeOptions["descriptors"]): Uint8Array | undefined {
  return descriptors === undefined || descriptors instanceof Uint8Array ? descriptors : readFileSync(descriptors);
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Closes at the first call or signal. After a signal, the process exits. */
function closeOnce(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined;
  const onSignal = (): void => {
    void closeNow().finally(() => process.exit(0));
  };
  const closeNow = (): Promise<void> => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    closing ??= close();
    return closing;
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return closeNow;
}
