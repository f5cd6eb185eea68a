/**
 * A process, and the parts that it closes. A role opens its parts one after the other, gives each
 * part what it needs, and hands it to the process (`closeWithProcess`). The process closes its
 * parts in the opposite order: when it stops, and when a start fails.
 */
import { totalmem } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { followCertificates } from "../config/certificates.js";
import type { Config } from "../config/config.js";
import type { RoleName } from "../config/setting.js";
import type { Logger } from "../log.js";
import { MemoryBudget } from "../memory/memory-budget.js";
import { Metrics } from "../metrics.js";
import { loadTransport } from "../rpc/load-transport.js";
import type { Transport } from "../rpc/transport.js";
import { waitAtMost } from "../within.js";

/** A component that a process opens and closes. */
export interface ProcessPart {
  /** Called when the process begins to stop, before any part is closed. */
  leave?(): void;
  /** Closes the part. `drainMs` is what is left of the time in which calls may finish. */
  close(drainMs: number): unknown;
}

/** How long closing may take after the time to drain, in milliseconds. */
const CLOSE_MS = 3_000;
/** The same time after a failed start, when no calls are served yet. */
const FAILED_START_MS = 500;

/** If closing a part throws or hangs, the process still closes the others and ends. */
export class Process {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics = new Metrics();
  /** The budget for bodies and messages on all ports. */
  readonly budget: MemoryBudget;
  readonly #parts: ProcessPart[] = [];
  readonly #closed = new AbortController();
  #closing = false;

  /** The role, if the process serves one. */
  readonly role: RoleName | undefined;

  constructor(config: Config, log: Logger, role?: RoleName) {
    this.role = role;
    const { maxBody, trustedProxies, workers } = config;
    this.config = config;
    this.log = log;
    this.budget = new MemoryBudget({ maxBody, memory: availableMemory() / workers, trustedProxies });
  }

  /** Aborted when all parts are closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /**
   * Closes the part when the process stops. If closing has already begun, for example after a
   * failed start, the part is closed at once.
   */
  readonly closeWithProcess = <T extends ProcessPart>(part: T): T => {
    if (this.#closing) void this.#close(part, 0);
    else this.#parts.push(part);
    return part;
  };

  /** Closes the part after all others when the process stops. */
  readonly closeLastWithProcess = <T extends ProcessPart>(part: T): T => {
    if (this.#closing) void this.#close(part, 0);
    else this.#parts.unshift(part);
    return part;
  };

  /**
   * Stops in order: lets the parts leave, continues to serve for `noticeMs`, and then closes
   * everything.
   * @param drainMs total time, including the notice; calls that are still in flight then are ended
   */
  async stop({ noticeMs, drainMs }: { readonly noticeMs: number; readonly drainMs: number }): Promise<void> {
    const until = performance.now() + drainMs;
    for (const part of this.#parts) part.leave?.();
    if (noticeMs > 0) await wait(noticeMs);
    await this.#closeAll(until, until + CLOSE_MS);
  }

  /** Closes everything after a failed start, within half a second. */
  abandonStart(): Promise<void> {
    const now = performance.now();
    return this.#closeAll(now, now + FAILED_START_MS);
  }

  async #closeAll(drainUntil: number, giveUpAt: number): Promise<void> {
    this.#closing = true;
    for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop()) {
      const now = performance.now();
      const closed = this.#close(part, Math.max(0, drainUntil - now));
      await waitAtMost(Math.max(0, giveUpAt - now), closed);
    }
    this.#closed.abort();
  }

  async #close(part: ProcessPart, drainMs: number): Promise<void> {
    try {
      await part.close(drainMs);
    } catch (err) {
      this.log.error({ err }, "a part could not be closed");
    }
  }
}

/** Makes the gRPC transport, for calls to and from other processes. */
export function openTransport({
  config,
  log,
  budget,
  closed,
}: Pick<Process, "config" | "log" | "budget" | "closed">): Promise<Transport> {
  const certificates = followCertificates(config, { log, signal: closed });
  return loadTransport(config.transport, messageLimits(config), certificates, budget);
}

/**
 * Bytes that this process and its siblings may use: the limit of the container (cgroup), or else
 * the computer's memory.
 */
function availableMemory(): number {
  return Math.min(process.constrainedMemory() || Infinity, totalmem());
}

/** In bytes. */
const MIN_GRPC_MESSAGE = 4 * 1024 ** 2;

/**
 * The limits of gRPC messages: at least 4 MiB even if `maxBody` is less, because the registry sends
 * descriptors.
 */
export function messageLimits(config: Config): Config {
  return { ...config, maxBody: Math.max(config.maxBody, MIN_GRPC_MESSAGE) };
}
