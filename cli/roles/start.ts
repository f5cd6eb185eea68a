/** Starts a process: opens its parts, and closes them again if one cannot be opened. */
import { setFlagsFromString } from "node:v8";
import type { Authority } from "../../services/auth/authority.js";
import type { Address, GrpcTarget, HttpAddress } from "../../src/address/address.js";
import type { Config } from "../../src/config/config.js";
import type { RoleName } from "../../src/config/setting.js";
import type { Logger } from "../../src/log.js";
import { ListenError } from "../../src/process/listen.js";
import { Process } from "../../src/process/process.js";
import { CommandError } from "../terminal/exit.js";
import { unlessStopped } from "./stop.js";

/** A running process: its addresses, and how to stop it. */
export interface Running {
  readonly http?: HttpAddress;
  readonly grpc?: GrpcTarget;
  /** The admin port of this process. A process that only manages workers has none. */
  readonly admin?: Address;
  readonly workers?: readonly WorkerProcess[];
  /** The first password, or undefined if an earlier start has shown it. */
  readonly firstStart?: Authority["firstStart"];
  /**
   * Why calls are refused now, for example because an authority cannot be reached. Undefined if
   * they are not.
   */
  notReady(): string | undefined;
  /**
   * The process is not ready from now on, but still takes calls for the time of the notice. Then it
   * accepts nothing new, finishes the calls in progress, and closes everything.
   */
  stop(): Promise<void>;
}

/** One of several processes of a gateway. */
export interface WorkerProcess {
  readonly pid: number;
  readonly admin: Address;
}

/** The state of a process once its parts are open. */
export type Opened = Omit<Running, "stop">;

/**
 * Starts a process.
 * @throws {CommandError} also when the process is stopped before it is ready. Then the opened parts
 * are closed.
 */
export type StartRole = (config: Config, log: Logger, signal: AbortSignal) => Promise<Running>;

/** The start of a process whose parts `open` opens. */
export function processOf(role: RoleName, open: (opening: Process) => Promise<Opened>): StartRole {
  return async (config, log, signal) => {
    configureGarbageCollection();
    const opening = new Process(config, log, role);
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
 * Sets two options of V8. See docs/performance.md, "Memory".
 *
 * - Buffers are freed by the thread that finds them unused. By default another thread frees them.
 *   It gets no processor while calls keep all processors busy.
 * - New objects are never allocated in the old generation. By default they are allocated there if
 *   objects of the same allocation site have lived long. They stay there until a full collection,
 *   with everything that they refer to, such as a call and its buffers.
 */
function configureGarbageCollection(): void {
  setFlagsFromString("--no-concurrent-array-buffer-sweeping");
  setFlagsFromString("--no-allocation-site-pretenuring");
}
