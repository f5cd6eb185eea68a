/** Reports why a port cannot be opened. */
import { formatHttpAddress } from "../address/address.js";
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
    const wanted = config[key];
    const address = formatHttpAddress(wanted);
    // The message of a gRPC server already contains the address.
    const { message } = ((error as Error).cause ?? error) as Error;
    const what = message.includes("EADDRINUSE") ? `${address} is in use` : `cannot listen on ${address}: ${message}`;
    const { variable } = SETTINGS[key];
    const other = `another address in ${variable}${"path" in wanted ? "" : " (port 0 takes a free one)"}`;
    throw new ListenError(`${what}; name ${other}`);
  }
}
