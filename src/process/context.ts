/** What all parts of a process share. */
import { followCertificates } from "../certificates.js";
import type { Config } from "../config.js";
import type { Logger } from "../log.js";
import { MemoryBudget } from "../memory-budget.js";
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
  const budget = new MemoryBudget({ maxBody: config.maxBody, trustedProxies: config.trustedProxies });
  const transport = await loadTransport(config.transport, messageLimits(config), certificates, budget);
  return { ...own, metrics: new Metrics(), budget, transport };
}

/** In bytes. */
const MIN_GRPC_MESSAGE = 4 * 1024 ** 2;

/** The limits of gRPC messages: at least 4 MiB, whatever bodies callers may send, because the registry sends descriptors. */
export function messageLimits(config: Config): Config {
  return { ...config, maxBody: Math.max(config.maxBody, MIN_GRPC_MESSAGE) };
}
