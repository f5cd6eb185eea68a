/** Reports why a port cannot be opened. */
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { formatAddress } from "../address/address.js";
import { type Config, SETTINGS } from "../config/config.js";

/** A port that cannot be opened. The message has the reason and the name of the setting. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}

type Port = "http" | "grpc" | "admin";

/**
 * Listens on all ports for a moment, so that a start on a port in use fails before it writes
 * anything.
 * @throws {ListenError} when it cannot listen
 */
export async function tryPorts(keys: readonly Port[], config: Config): Promise<void> {
  const open: Server[] = [];
  try {
    for (const key of keys) {
      const server = createServer();
      await listening(key, config, () => once(server.listen({ ...config[key], exclusive: true }), "listening"));
      open.push(server);
    }
  } finally {
    await Promise.all(open.map((server) => once(server.close(), "close")));
  }
}

/**
 * Calls `open`, which listens at the address of a setting.
 * @throws {ListenError} with the name of the setting, if it cannot listen there
 */
export async function listening<T>(key: Port, config: Config, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const address = formatAddress(config[key]);
    // The message of a gRPC server already contains the address.
    const { message } = ((error as Error).cause ?? error) as Error;
    const what = message.includes("EADDRINUSE") ? `${address} is in use` : `cannot listen on ${address}: ${message}`;
    throw new ListenError(`${what}; name another address in ${SETTINGS[key].variable} (port 0 takes a free one)`);
  }
}
