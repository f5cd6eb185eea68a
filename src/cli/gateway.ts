/** `portico gateway`. */
import type { Flags } from "../config.js";
import type { Io } from "./io.js";
import { runRole } from "./role.js";
import { startGateway } from "./server.js";

export function run(flags: Flags, io: Io): Promise<number> {
  return runRole({ title: "gateway", start: startGateway, hasStore: false }, flags, io);
}
