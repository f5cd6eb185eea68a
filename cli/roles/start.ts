/** Starts a process: opens its parts, and closes them again where one cannot be opened. */
import { setFlagsFromString } from "node:v8";
import type { Authority } from "../../services/auth/authority.js";
import type { Address, GrpcTarget } from "../../src/address/address.js";
import type { Config } from "../../src/config/config.js";
import type { Logger } from "../../src/log.js";
import { ListenError } from "../../src/process/listen.js";
import { Process } from "../../src/process/process.js";
import { CommandError } from "../terminal/exit.js";
import { unlessStopped } from "./stop.js";

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

/** What runs once the parts of a process are open. */
export type Opened = Omit<Running, "stop">;

/**
 * Starts a process.
 * @throws {CommandError} also when told to stop before it is ready. What was opened is closed then.
 */
export type StartRole = (config: Config, log: Logger, signal: AbortSignal) => Promise<Running>;

/** The start of a process whose parts `open` opens. */
export function processOf(open: (opening: Process) => Promise<Opened>): StartRole {
  return async (config, log, signal) => {
    configureGarbageCollection();
    const opening = new Process(config, log);
    try {
      const running = await unlessStopped(open(opening), signal);
      return { ...running, stop: () => opening.stop({ noticeMs: config.drainNotice, drainMs: config.drain }) };
    } catch (error) {
      await opening.abandonStart();
      throw error instanceof ListenError ? new CommandError(error.message) : error;
    }
  };
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
