/** How a failure to listen is reported. */
import { formatAddress } from "../address/address.js";
import { type Config, SETTINGS } from "../config/config.js";

/** A port that cannot be opened. The message says why, and names the setting. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}

/**
 * Opens what listens at a setting's address.
 * @throws {ListenError} naming the setting, when the address cannot be listened on.
 */
export async function listening<T>(key: "http" | "grpc" | "admin", config: Config, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const address = formatAddress(config[key]);
    // That of a gRPC server names the address already.
    const { message } = ((error as Error).cause ?? error) as Error;
    const what = message.includes("EADDRINUSE") ? `${address} is in use` : `cannot listen on ${address}: ${message}`;
    throw new ListenError(`${what}; name another address in ${SETTINGS[key].variable} (port 0 takes a free one)`);
  }
}
