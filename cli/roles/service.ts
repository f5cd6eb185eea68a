/** `portico service <name>`. */
import type { Flags } from "../../src/config.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { runRole } from "./run.js";
import { SERVICES, startService } from "./server.js";

export function run(name: string, flags: Flags, io: Io): Promise<number> {
  const service = SERVICES.get(name);
  if (service === undefined) {
    throw new CommandError(`There is no service ${name}; there are: ${[...SERVICES.keys()].join(", ")}`, EXIT.usage);
  }
  const start = startService.bind(undefined, service);
  return runRole({ title: `service ${name}`, start, hasStore: false }, flags, io);
}
