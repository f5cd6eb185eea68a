/**
 * `portico gateway`, in one process or in several that share one HTTP port, to use more than one
 * core. With several, the first process, the primary, only manages the others: it starts them,
 * prints their addresses, replaces those that die, and stops them. Each worker is a complete
 * gateway with its own lease, catalog and admin port. So everything that is true for one gateway is
 * true for each worker.
 *
 * The workers share the listening socket, and each accepts connections from it (SCHED_NONE of
 * node:cluster). If the primary distributed the connections, new connections would be expensive:
 * see docs/performance.md.
 */
import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { findDeadSocket, removeDeadSocket, SOCKET_UMASK } from "../../gateway/node/unix-socket.js";
import { type Address, formatAddress, type HttpAddress } from "../../src/address/address.js";
import { type Config, type Flags, flagName } from "../../src/config/config.js";
import { ConfigError } from "../../src/config/setting.js";
import type { Logger } from "../../src/log.js";
import { ListenError, listening } from "../../src/process/listen.js";
import { CommandError, EXIT, type Exit } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { openRoleLog } from "./log.js";
import { exitSoon, loadRoleConfig, onChange, runRole } from "./run.js";
import type { Running, StartRole, WorkerProcess } from "./start.js";
import { aborted, unlessStopped } from "./stop.js";

/**
 * The wait before a worker that died is replaced, in milliseconds. It doubles each time, up to the
 * maximum.
 */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;
/**
 * A worker that ran for this long, in milliseconds, did not die because of its start. So it is
 * replaced soon.
 */
const STABLE_MS = 60_000;
/**
 * Time that a worker may take to stop in addition to the time to drain, in milliseconds. Then it is
 * killed.
 */
const STOP_MS = 5_000;
/** Time that a worker may take to stop when another worker could not start, in milliseconds. */
const FAILED_START_MS = 500;

/** The first message of a worker to the primary: its addresses, or why it could not start. */
type StartMessage = ({ readonly http: HttpAddress; readonly admin: Address } & ReadinessMessage) | FailureMessage;

/** Further messages of a worker, when its readiness changes. */
interface ReadinessMessage {
  readonly notReady?: string | undefined;
}

interface FailureMessage {
  readonly failure: string;
  readonly exit: Exit;
}

/**
 * The message of the primary that stops a worker. It is a message and not a signal: if the whole
 * process group gets a signal, the primary's signal would be a second one, which ends a process at
 * once.
 */
const STOP = "stop";

/**
 * Runs until the process is stopped.
 * @returns the exit code.
 */
export function runGateway(flags: Flags, io: Io): Promise<number> {
  if (cluster.isWorker) return runWorker(flags, io);
  const start: StartRole = (config, log, signal) =>
    config.workers > 1 ? startWorkers(config, flags, log, signal) : startGateway(config, log, signal);
  return runRole({ title: "gateway", start, hasStore: false, hasWorkers: true }, flags, io);
}

/** Loads the gateway's code only in a process that runs a gateway: the primary does not need it. */
const startGateway: StartRole = async (...args) => (await import("./gateway.js")).startGateway(...args);

/**
 * Starts as many workers as the settings say.
 * @throws {CommandError} when one of them cannot start. Then all are stopped.
 */
async function startWorkers(config: Config, flags: Flags, log: Logger, signal: AbortSignal): Promise<Running> {
  const workers = new Workers(config, flags, log);
  try {
    return await unlessStopped(workers.start(), signal);
  } catch (error) {
    await workers.stop(FAILED_START_MS);
    throw error instanceof ListenError ? new CommandError(error.message) : error;
  }
}

/** Runs a worker until the primary or a signal stops it. Returns its exit code. */
async function runWorker(flags: Flags, io: Io): Promise<number> {
  const stopping = new AbortController();
  process.on("message", (message) => message === STOP && stopping.abort());
  try {
    const config = loadRoleConfig(flags, io);
    const { log: roleLog, show } = openRoleLog(config.logLevel, io);
    const log = roleLog.child({ worker: process.pid });
    const signal = AbortSignal.any([stopping.signal, io.signal]);
    const { http, admin, notReady, stop } = await startGateway(config, log, signal);
    const first = notReady();
    send({ http: http!, admin: admin!, notReady: first });
    show();
    const stopWatching = onChange(notReady, first, (why) => send({ notReady: why }));
    await aborted(signal);
    stopWatching();
    await stop();
    return EXIT.ok;
  } catch (error) {
    const message = toFailure(error);
    send(message);
    return message.exit;
  } finally {
    cluster.worker?.disconnect();
    exitSoon();
  }
}

function send(message: StartMessage | ReadinessMessage): void {
  process.send?.(message);
}

function toFailure(error: unknown): FailureMessage {
  if (error instanceof CommandError) return { failure: error.message, exit: error.exit };
  if (error instanceof ConfigError) return { failure: error.message, exit: EXIT.usage };
  return { failure: `Portico itself is at fault: ${error instanceof Error ? error.stack : error}`, exit: EXIT.failed };
}

/** The workers, as the primary sees them. */
class Workers {
  readonly #config: Config;
  readonly #flags: Flags;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #living = new Set<Worker>();
  readonly #notReady = new Map<Worker, string | undefined>();

  constructor(config: Config, flags: Flags, log: Logger) {
    this.#config = config;
    this.#flags = flags;
    this.#log = log;
    cluster.schedulingPolicy = cluster.SCHED_NONE;
  }

  async start(): Promise<Running> {
    await this.#prepareSocket();
    const indices = Array.from({ length: this.#config.workers }, (_, index) => index);
    const workers = await Promise.all(indices.map((index) => this.#startFirst(index)));
    const { http } = workers[0]!;
    const notReady = () => [...this.#notReady.values()].find((why) => why !== undefined);
    return { http, workers, notReady, stop: () => this.stop(this.#config.drain + STOP_MS) };
  }

  /** This process opens the port's Unix socket when the first worker listens, and removes it. */
  async #prepareSocket(): Promise<void> {
    const { http } = this.#config;
    if (!("path" in http)) return;
    removeDeadSocket(await listening("http", this.#config, () => findDeadSocket(http.path)));
    process.umask(SOCKET_UMASK);
  }

  /** Stops each worker. A worker that takes longer than `timeoutMs` is killed. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping.abort();
    const exits = [...this.#living].map((worker) => {
      worker.send(STOP, () => {}); // A worker that is dying does not receive it.
      const late = setTimeout(() => worker.process.kill("SIGKILL"), timeoutMs);
      return once(worker, "exit").then(() => clearTimeout(late));
    });
    await Promise.all(exits);
  }

  /** Starts a worker. From then on it is replaced whenever it dies. */
  async #startFirst(index: number): Promise<WorkerProcess & { http: HttpAddress }> {
    const worker = this.#fork(index);
    const message = await firstMessage(worker);
    if ("failure" in message) throw new CommandError(message.failure, message.exit);
    void this.#keepReplaced(worker, index);
    return { ...message, pid: worker.process.pid! };
  }

  async #keepReplaced(worker: Worker, index: number): Promise<void> {
    for (let failures = 0; ; failures++) {
      const since = performance.now();
      if (!worker.isDead()) await once(worker, "exit");
      if (this.#stopping.signal.aborted) return;
      if (performance.now() - since > STABLE_MS) failures = 0;
      const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS);
      const { pid, exitCode, signalCode } = worker.process;
      this.#log.error({ worker: pid, exitCode, signal: signalCode, pauseMs }, "a worker ended and is replaced");
      await wait(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
      if (this.#stopping.signal.aborted) return;
      worker = this.#fork(index);
      const message = await firstMessage(worker);
      const next = worker.process.pid;
      if ("failure" in message) this.#log.error({ worker: next, reason: message.failure }, "a worker cannot start");
      else this.#log.warn({ worker: next, metrics: formatAddress(message.admin) }, `a worker took the place of ${pid}`);
    }
  }

  #fork(index: number): Worker {
    const { host, port } = this.#config.admin;
    // With port 0, each worker gets a free port.
    const admin = formatAddress({ host, port: port === 0 ? 0 : port + index });
    const args = Object.entries({ ...this.#flags, admin }).map(([key, value]) => `--${flagName(key)}=${value}`);
    cluster.setupPrimary({ exec: process.argv[1]!, args: ["gateway", ...args] });
    const worker = cluster.fork();
    this.#living.add(worker);
    worker.on("message", ({ notReady }: ReadinessMessage) => this.#notReady.set(worker, notReady));
    worker.once("exit", () => {
      this.#living.delete(worker);
      this.#notReady.delete(worker);
    });
    return worker;
  }
}

async function firstMessage(worker: Worker): Promise<StartMessage> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    return await Promise.race([
      once(worker, "message", { signal }).then(([message]) => message as StartMessage),
      once(worker, "exit", { signal }).then(([code, killer]) => endedEarly(code, killer)),
    ]);
  } finally {
    settled.abort();
  }
}

function endedEarly(code: number | null, killer: NodeJS.Signals | null): FailureMessage {
  return { failure: `a worker ended (${killer ?? `exit code ${code}`}) before it was ready`, exit: EXIT.failed };
}
