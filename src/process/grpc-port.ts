/** The gRPC port of a process: what it serves, what is registered about it, and its health. */
import { randomUUID } from "node:crypto";
import type { Guard, OpenGuard } from "../access/guard.js";
import { type Address, formatGrpcTarget, type GrpcTarget } from "../address/address.js";
import { calledWith } from "../call/caller.js";
import { first, requestIdOf } from "../call/metadata.js";
import { accessLogOf, accessLogShare } from "../config/access-log.js";
import type { Config } from "../config/config.js";
import type { RoleName } from "../config/setting.js";
import { Code } from "../errors.js";
import { Instance } from "../gen/portico/registry/v1/registry.js";
import type { Logger } from "../log.js";
import type { Metrics } from "../metrics.js";
import type { CallQueue } from "../overload/call-queue.js";
import { Dispatcher, type DispatcherOptions } from "../rpc/dispatch.js";
import { grpcServiceOf, type Service } from "../rpc/service.js";
import type { Transport } from "../rpc/transport.js";
import { parseTraceparent } from "../telemetry/trace-context.js";
import type { Tracer } from "../telemetry/tracer.js";
import { asBuffer } from "../wire/buffer.js";
import { listening } from "./listen.js";
import { messageLimits, type ProcessPart } from "./process.js";

/** How often gRPC health is updated, in milliseconds. */
const HEALTH_INTERVAL_MS = 500;

/** An open gRPC port, and the dispatcher of its calls. */
export interface GrpcPort extends ProcessPart {
  readonly dispatcher: Dispatcher;
  /** How other processes reach it, unless PORTICO_ADVERTISE sets another address. */
  readonly target: GrpcTarget;
}

export interface GrpcPortOptions {
  readonly services: readonly Service[];
  readonly guard: Guard;
  /**
   * The queue by which calls are refused in an overload. An authority has none: requests of guards,
   * gateways and services are never refused because of other requests.
   */
  readonly callQueue?: CallQueue;
  readonly transport: Pick<Transport, "serve">;
  readonly tracer?: Tracer | undefined;
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The role of the process, for its lines in the access log. */
  readonly role?: RoleName | undefined;
}

/**
 * Opens the gRPC port.
 * @throws {ListenError} if it cannot listen
 */
export async function openGrpcPort(options: GrpcPortOptions): Promise<GrpcPort> {
  const { services, guard, callQueue, transport, tracer, config, log, metrics } = options;
  const onEnd = recordCall(options);
  const dispatcher = new Dispatcher({ services, guard, limits: messageLimits(config), log, onEnd, callQueue, tracer });
  const server = await listening("grpc", config, () => transport.serve(dispatcher, config.grpc));
  metrics.add("portico_connections", () => [["grpc", server.connections]]);
  return { dispatcher, target: withTls(server.address, config), close: (drainMs) => server.close(drainMs) };
}

/** Counts and logs each gRPC call, as the gateway does for HTTP requests. */
function recordCall(options: GrpcPortOptions): NonNullable<DispatcherOptions["onEnd"]> {
  const { config, log, role, metrics } = options;
  const accessLog = accessLogOf(log, role, config.grpc);
  return ({ code, milliseconds, metadata, caller, namespace, clientAddress, limit }, endpoint) => {
    metrics.grpcCall(endpoint, code, milliseconds / 1000);
    if (limit !== undefined) metrics.limitRefused(limit);
    if (!log.isLevelEnabled("info")) return;
    const sample = accessLogShare(config, code !== Code.OK);
    if (sample === 0) return;
    accessLog.info({
      requestId: requestIdOf(metadata),
      trace_id: parseTraceparent(first(metadata, "traceparent"))?.traceId,
      endpoint: endpoint.name,
      code: Code[code] ?? code,
      ms: Math.round(milliseconds * 1000) / 1000,
      account: caller?.account,
      key: caller && (calledWith(caller) || undefined),
      address: clientAddress,
      namespace,
      limit,
      sample: sample < 1 ? sample : undefined,
    });
  };
}

function withTls(address: Address, { tlsCert }: Config): GrpcTarget {
  return tlsCert === undefined ? address : { ...address, tls: true };
}

/** What is registered about a service that this process serves, except for its store. */
export function instanceOf(service: Service, { target }: GrpcPort, config: Config): Instance {
  const advertised = config.advertise === undefined ? target : withTls(config.advertise, config);
  return Instance.fromPartial({
    service: service.name,
    id: randomUUID(),
    addresses: [formatGrpcTarget(advertised)],
    // The same object if possible: the registry recognizes by its identity descriptors that it has
    // read before.
    descriptors: asBuffer(service.descriptors),
    grpcServices: service.parts.map(grpcServiceOf),
    reflected: true,
    bindingPrefix: service.bindingPrefix ?? "",
    metadata: [...(service.metadata ?? [])],
  });
}

/** Keeps gRPC health equal to `/readyz`: a process whose guard cannot decide is not serving. */
export function keepGrpcHealth({ health }: Dispatcher, guard: OpenGuard): ProcessPart {
  let stopping = false;
  const update = () => {
    health.serving = !stopping && guard.state === "ready";
  };
  const timer = setInterval(update, HEALTH_INTERVAL_MS);
  update();
  return {
    leave() {
      stopping = true;
      update();
    },
    close: () => clearInterval(timer),
  };
}
