/** Reports why a port cannot be opened. */
import { formatAddress } from "../address/address.js";
import { type Config, SETTINGS } from "../config/config.js";

/** A port that cannot be opened. The message has the reason and the name of the setting. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}

/**
 * Calls `open`, which listens at the address of a setting.
 * @throws {ListenError} with the name of the setting, if it cannot listen there
 */
export async function listening<T>(key: "http" | "grpc" | "admin", config: Config, open: () => Promise<T>): Promise<T> {
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
