/** A server of grpc-js, which knows nothing of Portico, for services that join by configuration. */
import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js";
import type { Test } from "tap";
import { type ExternalService, parseExternalService } from "../../src/config/configured-services.js";

/** Serves on a free port until the test ends. @returns the port */
export async function serveByGrpcJs(
  t: Pick<Test, "teardown">,
  definition: ServiceDefinition,
  implementation: UntypedServiceImplementation,
): Promise<number> {
  const server = new Server();
  server.addService(definition, implementation);
  t.teardown(() => server.forceShutdown());
  return new Promise((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  );
}

/** A service at a port of this machine, as the configuration file names it, with these options. */
export function configured(
  name: string,
  port: number,
  descriptors: Buffer | undefined,
  options: Record<string, unknown>,
): ExternalService {
  return { ...parseExternalService({ name, target: `127.0.0.1:${port}`, ...options }, "."), descriptors };
}
