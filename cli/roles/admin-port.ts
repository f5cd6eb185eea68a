/** The admin port of a process. */
import { listen } from "../../gateway/node/listen.js";
import { createAdminHandler } from "../../gateway/own/admin.js";
import type { Health } from "../../gateway/own/health.js";
import { Hosts } from "../../gateway/stages/cors.js";
import type { Address } from "../../src/address/address.js";
import type { ProcessContext } from "../../src/process/context.js";
import { listening } from "../../src/process/listen.js";

/**
 * Opens the admin port: metrics and health, until the process ends.
 * @throws {ListenError} when it cannot listen.
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
