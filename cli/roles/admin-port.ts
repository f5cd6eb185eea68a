/** The admin port of a process. */

import { createAdminHandler } from "../../gateway/built-in/admin.js";
import type { HealthRoutes } from "../../gateway/built-in/health.js";
import { listen } from "../../gateway/node/listen.js";
import { Hosts } from "../../gateway/stages/cors.js";
import type { Address } from "../../src/address/address.js";
import { listening } from "../../src/process/listen.js";
import type { Process, ProcessPart } from "../../src/process/process.js";

/**
 * Opens the admin port: metrics and health. The process closes it last.
 * @throws {ListenError} when it cannot listen.
 */
export async function openAdminPort(
  health: HealthRoutes,
  { config, metrics, budget }: Pick<Process, "config" | "metrics" | "budget">,
): Promise<ProcessPart & { readonly address: Address }> {
  // By default, worker processes share a port that they listen on. With `exclusive`, port 0 is a
  // different free port for each.
  const address = { ...config.admin, exclusive: true };
  const hosts = await Hosts.of(config.admin, config.httpHosts);
  const handler = createAdminHandler({ metrics, health, hosts });
  const server = await listening("admin", config, () => listen(handler, address, { ...config, budget }));
  return { address: server.address, leave: () => health.leave(), close: () => server.close(0) };
}
