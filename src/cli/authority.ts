/** `portico authority`. */
import type { Flags } from "../config.js";
import type { Io } from "./io.js";
import { runRole } from "./role.js";
import { startAuthority } from "./server.js";

export function run(flags: Flags, io: Io): Promise<number> {
  return runRole({ title: "authority", start: startAuthority, hasStore: true }, flags, io);
}
