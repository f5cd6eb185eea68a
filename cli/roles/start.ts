/** Starts a process: makes what all its parts share, opens them, and closes them again where one cannot be opened. */
import { setFlagsFromString } from "node:v8";
import type { Authority } from "../../services/auth/authority.js";
import type { Address, GrpcTarget } from "../../src/address.js";
import { readCertificates } from "../../src/certificates.js";
import type { Config } from "../../src/config.js";
import type { Logger } from "../../src/log.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { Metrics } from "../../src/metrics.js";
import { loadTransport } from "../../src/rpc/load-transport.js";
import type { Transport } from "../../src/rpc/transport.js";
import { Shutdown, unlessStopped } from "./shutdown.js";

/** A process that runs: its addresses, and how to stop it. */
export interface Running {
  readonly http?: Address;
  readonly grpc?: GrpcTarget;
  /** The admin port of this process; one that has only workers has none. */
  readonly admin?: Address;
  readonly workers?: readonly WorkerProcess[];
  /** The first password; undefined where the store was there before. */
  readonly firstStart?: Authority["firstStart"];
  /** Why calls are refused now, such as an authority that cannot be reached; undefined where they are not. */
  notReady(): string | undefined;
  /**
   * Is not ready from now on, but takes calls for the time of the notice; then accepts nothing new, finishes what is in
   * flight, and closes everything.
   */
  stop(): Promise<void>;
}

/** One of several processes of a gateway. */
export interface WorkerProcess {
  readonly pid: number;
  readonly admin: Address;
}

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

/** Opens the parts of a process. */
type Open = (context: ProcessContext) => Promise<Omit<Running, "stop">>;

/**
 * Starts a process.
 * @throws {CommandError} also when told to stop before it is ready. What was opened is closed then.
 */
export type Start = (config: Config, log: Logger, signal: AbortSignal) => Promise<Running>;

/** The start of a process with these parts. */
export function processOf(open: Open): Start {
  return async (config, log, signal) => {
    configureGarbageCollection();
    const shutdown = new Shutdown(log);
    try {
      const running = await unlessStopped(openWith(open, { config, log, shutdown }), signal);
      return { ...running, stop: () => shutdown.run({ noticeMs: config.drainNotice, drainMs: config.drain }) };
    } catch (error) {
      await shutdown.abandonStart();
      throw error;
    }
  };
}

async function openWith(open: Open, own: Pick<ProcessContext, "config" | "log" | "shutdown">) {
  const { config } = own;
  const budget = new MemoryBudget({ maxBody: config.maxBody, trustedProxies: config.trustedProxies });
  const transport = await loadTransport(config.transport, messageLimits(config), readCertificates(config), budget);
  return open({ ...own, metrics: new Metrics(), budget, transport });
}

/**
 * Sets two options of V8; see docs/performance.md, "Memory".
 *
 * - Buffers are freed by the thread that finds them unused. By default another thread frees them, and gets no processor
 *   while calls keep all of them busy.
 * - New objects are never allocated in the old generation. By default they are, where objects of the same allocation
 *   site have lived long; there they stay until a full collection, with all that they refer to, such as a call and its buffers.
 */
function configureGarbageCollection(): void {
  setFlagsFromString("--no-concurrent-array-buffer-sweeping");
  setFlagsFromString("--no-allocation-site-pretenuring");
}

/** In bytes. */
const MIN_GRPC_MESSAGE = 4 * 1024 ** 2;

/** The limits of gRPC messages: at least 4 MiB, whatever bodies callers may send, because the registry sends descriptors. */
export function messageLimits(config: Config): Config {
  return { ...config, maxBody: Math.max(config.maxBody, MIN_GRPC_MESSAGE) };
}
