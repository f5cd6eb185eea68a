/** A service in a process of its own, joined to the authority and the registry of another. */
import type { OpenGuard } from "../access/guard.js";
import type { Registration } from "../rpc/registration.js";
import type { Service } from "../rpc/service.js";
import type { ProcessContext } from "./context.js";
import { type GrpcPort, instanceOf, keepGrpcHealth, openGrpcPort } from "./grpc-port.js";
import type { Joined } from "./join.js";
import { openOverload } from "./refusals.js";
import { registerWithEach } from "./register.js";

/** A service that runs. */
export interface ServiceProcess {
  readonly guard: OpenGuard;
  readonly grpc: GrpcPort;
  readonly registration: Registration;
}

/**
 * Opens the gRPC port with the service, behind a guard, and keeps it registered with each authority until the process stops.
 * @throws {ListenError} when the port cannot be listened on.
 */
export async function openServiceProcess(
  context: ProcessContext,
  { authorities, metadata, guard }: Joined,
  service: Service,
): Promise<ServiceProcess> {
  const { config, shutdown } = context;
  const grpc = await openGrpcPort(context, [service], guard, openOverload(context));
  keepGrpcHealth(shutdown, grpc.dispatcher, guard);
  const instance = instanceOf(service, grpc, config);
  const registration = registerWithEach({ authorities, metadata, instance, ready: guard.ready() });
  shutdown.add(() => registration.close());
  return { guard, grpc, registration };
}
