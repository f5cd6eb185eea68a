/** What all parts of a process share. */
import { totalmem } from "node:os";
import { followCertificates } from "../config/certificates.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../log.js";
import { MemoryBudget } from "../memory/memory-budget.js";
import { Metrics } from "../metrics.js";
import { loadTransport } from "../rpc/load-transport.js";
import type { Transport } from "../rpc/transport.js";
import type { Shutdown } from "./shutdown.js";

/** What all parts of a process share. */
export interface ProcessContext {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Of the bodies and messages on all ports. */
  readonly budget: MemoryBudget;
  /** gRPC to and from other processes. */
  readonly transport: Transport;
  /** Each part that is opened adds here what closes it. */
  readonly shutdown: Shutdown;
}

/** Makes what the parts of a process share. */
export async function createContext(own: Pick<ProcessContext, "config" | "log" | "shutdown">): Promise<ProcessContext> {
  const { config, log, shutdown } = own;
  const closing = new AbortController();
  shutdown.add(() => closing.abort());
  const certificates = followCertificates(config, { log, signal: closing.signal });
  const memory = availableMemory() / config.workers;
  const budget = new MemoryBudget({ maxBody: config.maxBody, memory, trustedProxies: config.trustedProxies });
  const transport = await loadTransport(config.transport, messageLimits(config), certificates, budget);
  return { ...own, metrics: new Metrics(), budget, transport };
}

/** Bytes that this process and its siblings may take: what the container may (cgroup), else what the machine has. */
function availableMemory(): number {
  return Math.min(process.constrainedMemory() || Infinity, totalmem());
}

/** In bytes. */
const MIN_GRPC_MESSAGE = 4 * 1024 ** 2;

/** The limits of gRPC messages: at least 4 MiB, whatever bodies callers may send, because the registry sends descriptors. */
export function messageLimits(config: Config): Config {
  return { ...config, maxBody: Math.max(config.maxBody, MIN_GRPC_MESSAGE) };
}
