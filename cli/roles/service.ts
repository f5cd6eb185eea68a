/** `portico service <name>`: one of Portico's own services alone, which registers for as long as it runs. */
import { Health } from "../../gateway/own/health.js";
import type { Flags } from "../../src/config.js";
import { register } from "../../src/rpc/registration.js";
import type { Service } from "../../src/rpc/service.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { joinAuthority } from "./join.js";
import { openServices } from "./open-services.js";
import { OWN_SERVICES } from "./own-services.js";
import { instanceOf, openAdminPort, openGrpcPort } from "./ports.js";
import { keepGrpcHealth, waitForAuthority, whyNotReady } from "./readiness.js";
import { runRole } from "./run.js";
import { type ProcessContext, processOf, type Running } from "./start.js";

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
  const { config, shutdown } = context;
  const [service] = openServices(context, [name]) as [Service];
  const { channel, metadata, guard, log } = joinAuthority(context, service.name);
  const grpc = await openGrpcPort(context, [service], guard);
  keepGrpcHealth(shutdown, grpc.dispatcher, guard);
  const registration = register({ channel, metadata, log, instance: instanceOf(service, grpc, config) });
  shutdown.add(() => registration.close());
  const health = new Health({ guard: () => guard.state === "ready" });
  const admin = await openAdminPort(context, health);
  await waitForAuthority(guard.ready());
  return { grpc: grpc.target, admin, notReady: () => whyNotReady(health.missing, guard, config.authority) };
}
