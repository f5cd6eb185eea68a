/** `portico authority`. */
import type { Flags } from "../../src/config.js";
import type { Io } from "../terminal/io.js";
import { type Role, runRole } from "./run.js";
import { type StoreOptions, startAuthority } from "./server.js";

export function run(flags: Flags & StoreOptions, io: Io): Promise<number> {
  const start: Role["start"] = (config, log, signal) => startAuthority(config, log, signal, flags);
  return runRole({ title: "authority", start, hasStore: true }, flags, io);
}
