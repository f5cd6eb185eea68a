/** The admin port of a process. */

import { createAdminHandler } from "../../gateway/built-in/admin.js";
import { listen } from "../../gateway/node/listen.js";
import { Hosts } from "../../gateway/stages/cors.js";
import type { Address } from "../../src/address/address.js";
import { listening } from "../../src/process/listen.js";
import type { Process, ProcessPart } from "../../src/process/process.js";
import { type MeasuredParts, measure } from "./measures.js";

/**
 * Opens the admin port: health, and metrics of the process and its parts. It closes last.
 * @throws {ListenError} when it cannot listen.
 */
export async function openAdminPort(
  parts: MeasuredParts,
  opening: Pick<Process, "config" | "metrics" | "role" | "budget">,
): Promise<ProcessPart & { readonly address: Address }> {
  const { config, metrics, budget } = opening;
  const { health } = parts;
  measure(parts, opening);
  // By default, worker processes share a port that they listen on. With `exclusive`, port 0 is a
  // different free port for each.
  const address = { ...config.admin, exclusive: true };
  const hosts = await Hosts.of(config.admin, config.httpHosts);
  const handler = createAdminHandler({ metrics, health, hosts });
  const server = await listening("admin", config, () => listen(handler, address, { ...config, budget }));
  return { address: server.address, leave: () => health.leave(), close: () => server.close(0) };
}
