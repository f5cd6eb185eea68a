/** `portico gateway`, in one process or in several. */
import cluster from "node:cluster";
import type { Config, Flags } from "../../src/config.js";
import type { Logger } from "../../src/log.js";
import type { Io } from "../terminal/io.js";
import { runRole } from "./run.js";
import type { Running } from "./server.js";
import { runWorker, startWorkers } from "./workers.js";

export function run(flags: Flags, io: Io): Promise<number> {
  if (cluster.isWorker) return runWorker(start, flags, io);
  const startAll: typeof start = (config, log, signal) =>
    config.workers > 1 ? startWorkers(config, flags, log, signal) : start(config, log, signal);
  return runRole({ title: "gateway", start: startAll, hasStore: false, hasWorkers: true }, flags, io);
}

/** Loaded only where it runs: the process that looks after workers needs none of it. */
async function start(config: Config, log: Logger, signal: AbortSignal): Promise<Running> {
  return (await import("./server.js")).startGateway(config, log, signal);
}
