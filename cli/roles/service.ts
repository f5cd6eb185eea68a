/** `portico service <name>`: one of Portico's own services alone, which registers for as long as it runs. */
import { Health } from "../../gateway/own/health.js";
import type { Flags } from "../../src/config/config.js";
import { clientsOf } from "../../src/kit/clients.js";
import { listNamespacesOf } from "../../src/kit/namespace-data.js";
import type { ProcessContext } from "../../src/process/context.js";
import { joinAuthority, waitForAuthority } from "../../src/process/join.js";
import { openServiceProcess } from "../../src/process/service.js";
import type { Service } from "../../src/rpc/service.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { openAdminPort } from "./admin-port.js";
import { openServices } from "./open-services.js";
import { OWN_SERVICES } from "./own-services.js";
import { whyNotReady } from "./readiness.js";
import { runRole } from "./run.js";
import { processOf, type Running } from "./start.js";

/**
 * Runs until the process is told to stop.
 * @returns the exit code.
 * @throws {CommandError} when there is no service of that name.
 */
export function runService(name: string, flags: Flags, io: Io): Promise<number> {
  if (!Object.hasOwn(OWN_SERVICES, name)) {
    throw new CommandError(
      `There is no service ${name}; there are: ${Object.keys(OWN_SERVICES).join(", ")}`,
      EXIT.usage,
    );
  }
  const start = processOf((context) => openService(context, name));
  return runRole({ title: `service ${name}`, start, hasStore: false }, flags, io);
}

async function openService(context: ProcessContext, name: string): Promise<Omit<Running, "stop">> {
  const joined = await joinAuthority(context, name);
  const clients = () => clientsOf(context, joined);
  const list = listNamespacesOf(joined);
  const [service] = openServices(context, [name], { clientsOf: clients, list, joined: name }) as [Service];
  const { guard, grpc, registration, stored } = await openServiceProcess(context, joined, service);
  const notReady = () => whyNotReady(health.missing, { guard }, joined.authorities.all);
  const health: Health = new Health({ guard: () => guard.state === "ready" }, { why: notReady });
  const admin = await openAdminPort(context, health);
  await waitForAuthority(Promise.all([guard.ready(), stored, registration.registered()]));
  return { grpc: grpc.target, admin, notReady };
}
