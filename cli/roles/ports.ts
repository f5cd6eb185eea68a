/** The ports of a process: gRPC, admin, and how a failure to listen is reported. The HTTP port is the gateway's. */
import { randomUUID } from "node:crypto";
import { listen } from "../../gateway/node/listen.js";
import { createAdminHandler } from "../../gateway/own/admin.js";
import type { Health } from "../../gateway/own/health.js";
import { Hosts } from "../../gateway/stages/cors.js";
import type { Guard } from "../../src/access/guard.js";
import { type Address, formatAddress, formatGrpcTarget, type GrpcTarget } from "../../src/address.js";
import { asBuffer } from "../../src/buffer.js";
import { type Config, SETTINGS } from "../../src/config.js";
import { Code } from "../../src/errors.js";
import { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import type { Logger } from "../../src/log.js";
import type { Metrics } from "../../src/metrics.js";
import { Dispatcher, type DispatcherOptions } from "../../src/rpc/dispatch.js";
import { requestIdOf } from "../../src/rpc/metadata.js";
import type { Service } from "../../src/rpc/service.js";
import { CommandError } from "../terminal/exit.js";
import { messageLimits, type ProcessContext } from "./start.js";

/** A gRPC port that is open, and what answers the calls on it. */
export interface GrpcPort {
  readonly dispatcher: Dispatcher;
  /** How other processes reach it, unless PORTICO_ADVERTISE names another address. */
  readonly target: GrpcTarget;
}

/**
 * Opens the gRPC port.
 * @throws {CommandError} when it cannot listen.
 */
export async function openGrpcPort(
  { config, log, metrics, transport, shutdown }: ProcessContext,
  services: readonly Service[],
  guard: Guard,
): Promise<GrpcPort> {
  const onEnd = recordCall(metrics, log);
  const dispatcher = new Dispatcher({ services, guard, limits: messageLimits(config), log, onEnd });
  const server = await listening("grpc", config, () => transport.serve(dispatcher, config.grpc));
  shutdown.add((drainMs) => server.close(drainMs));
  return { dispatcher, target: withTls(server.address, config) };
}

/** Counts and logs each call that came over gRPC, as the gateway does for calls over HTTP. */
function recordCall(metrics: Metrics, log: Logger): NonNullable<DispatcherOptions["onEnd"]> {
  return ({ code, milliseconds, metadata, caller, namespace }, endpoint) => {
    metrics.grpcCall(endpoint, code, milliseconds / 1000);
    if (!log.isLevelEnabled("info")) return;
    log.info({
      requestId: requestIdOf(metadata),
      endpoint: endpoint.name,
      code: Code[code],
      ms: Math.round(milliseconds * 1000) / 1000,
      account: caller?.account,
      namespace,
    });
  };
}

function withTls(address: Address, { tlsCert }: Config): GrpcTarget {
  return tlsCert === undefined ? address : { ...address, tls: true };
}

/** What the registry is told of a service that this process serves. */
export function instanceOf(service: Service, { target }: GrpcPort, config: Config): Instance {
  const advertised = config.advertise === undefined ? target : withTls(config.advertise, config);
  return Instance.fromPartial({
    service: service.name,
    id: randomUUID(),
    addresses: [formatGrpcTarget(advertised)],
    // The same object where possible: by its identity the registry knows what it has read before.
    descriptors: asBuffer(service.descriptors),
    grpcServices: service.parts.map((part) => part.grpcService),
    reflected: true,
  });
}

/**
 * Opens the admin port: metrics and health, until the process ends.
 * @throws {CommandError} when it cannot listen.
 */
export async function openAdminPort(
  { config, metrics, budget, shutdown }: ProcessContext,
  health: Health,
): Promise<Address> {
  // Worker processes share a port that they listen on, unless told otherwise: then port 0 is a free one for each.
  const address = { ...config.admin, exclusive: true };
  const hosts = await Hosts.of(config.admin, config.httpHosts);
  const handler = createAdminHandler({ metrics, health, hosts });
  const server = await listening("admin", config, () => listen(handler, address, { ...config, budget }));
  shutdown.addLast(() => server.close(0));
  shutdown.onBegin(() => health.leave());
  return server.address;
}

/**
 * Opens what listens at a setting's address.
 * @throws {CommandError} naming the setting, when the address cannot be listened on.
 */
export async function listening<T>(key: "http" | "grpc" | "admin", config: Config, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const address = formatAddress(config[key]);
    const { message } = error as Error;
    const what = message.includes("EADDRINUSE") ? `${address} is in use` : `cannot listen on ${address}: ${message}`;
    throw new CommandError(`${what}; name another address in ${SETTINGS[key].variable} (port 0 takes a free one)`);
  }
}
