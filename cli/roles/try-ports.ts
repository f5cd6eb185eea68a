/** Finds out whether the ports of a process are free, before it writes anything. */
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { findDeadSocket } from "../../gateway/node/unix-socket.js";
import type { Config } from "../../src/config/config.js";
import { listening } from "../../src/process/listen.js";

/**
 * Listens on all ports for a moment, so that a start on a port in use fails early.
 * @throws {ListenError} when it cannot listen.
 */
export async function tryPorts(keys: readonly ("http" | "grpc" | "admin")[], config: Config): Promise<void> {
  const open: Server[] = [];
  try {
    for (const key of keys) {
      const address = config[key];
      if ("path" in address) {
        await listening(key, config, () => findDeadSocket(address.path));
        continue;
      }
      const server = createServer();
      await listening(key, config, () => once(server.listen({ ...address, exclusive: true }), "listening"));
      open.push(server);
    }
  } finally {
    await Promise.all(open.map((server) => once(server.close(), "close")));
  }
}
