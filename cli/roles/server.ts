/** `portico server`: everything in one process. Calls between its parts go through in-process channels. */

import { forwardTo } from "../../gateway/own/forward.js";
import type { Authority } from "../../services/auth/authority.js";
import { SYSTEM } from "../../src/access/guard.js";
import { type Address, parseGrpcTarget } from "../../src/address/address.js";
import { type Config, ConfigError, type Flags, SETTINGS } from "../../src/config/config.js";
import type { Clients } from "../../src/kit/clients.js";
import type { ProcessContext } from "../../src/process/context.js";
import type { GrpcPort } from "../../src/process/grpc-port.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { readInstallation } from "../../src/store/installation.js";
import type { Io } from "../terminal/io.js";
import { openCore, type StoreOptions } from "./authority.js";
import { openGateway } from "./gateway.js";
import { openServices } from "./open-services.js";
import { clientsWithin } from "./own-clients.js";
import { OWN_SERVICES } from "./own-services.js";
import { runRole } from "./run.js";
import { processOf, type Running } from "./start.js";

/**
 * Runs until the process is told to stop.
 * @returns the exit code.
 */
export function runServer(flags: Flags & StoreOptions, io: Io): Promise<number> {
  const start = processOf((context) => openServer(context, flags));
  return runRole({ title: "everything in one process", start, hasStore: true }, flags, io);
}

/** A server, and what else a command may do with it that runs it in its own process. */
export interface OpenServer extends Omit<Running, "stop"> {
  readonly http: Address;
  /** Answers calls of this process to any of its services. */
  readonly dispatcher: GrpcPort["dispatcher"];
  readonly enrol: Authority["enrol"];
}

/** Opens all parts of a server. */
export async function openServer(context: ProcessContext, options: StoreOptions): Promise<OpenServer> {
  const { log, transport } = context;
  const clientsOf = (service: string): Clients => clientsWithin(service, context, core.grpc.dispatcher);
  const names = ownServicesOf(context.config);
  const isNew = readInstallation(context.config.data) === undefined;
  const core = await openCore(context, (list) => openServices(context, names, { clientsOf, list, isNew }), options);
  const { guard, grpc, isLocal, firstStart, faults, enrol } = core;
  const { routes, ...gateway } = await openGateway(context, {
    guard,
    faults,
    registry: {
      channel: new InProcessChannel(grpc.dispatcher),
      admission: SYSTEM,
      connect: (address, instance, options) =>
        isLocal(instance)
          ? new InProcessChannel(grpc.dispatcher)
          : transport.connect(parseGrpcTarget(address), options),
      log,
    },
  });
  grpc.dispatcher.forward = forwardTo(routes);
  return { ...gateway, grpc: grpc.target, dispatcher: grpc.dispatcher, firstStart, enrol };
}

/** @throws {ConfigError} when a service is named that is not Portico's own */
function ownServicesOf({ ownServices }: Config): readonly string[] {
  const all = Object.keys(OWN_SERVICES);
  if (ownServices === "*") return all;
  const unknown = ownServices.find((name) => !all.includes(name));
  if (unknown === undefined) return ownServices;
  const { variable } = SETTINGS.ownServices;
  throw new ConfigError(`${variable} names ${unknown}, which is not one of Portico's own: ${all.join(", ")}`);
}
