/**
 * Several gateways on one HTTP port, to use more than one core. The first process, the primary, only looks after the
 * others: it starts them, says where they are, replaces those that die, and stops them. Each worker is a whole gateway
 * with a lease, a catalog and an admin port of its own, so that what holds for one gateway holds for each.
 *
 * They share the listening socket and each takes connections from it itself (SCHED_NONE of node:cluster): handing
 * connections out from the primary would triple what a new one costs.
 */
import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { type Address, formatAddress } from "../../src/address.js";
import { type Config, ConfigError, type Flags, flagName } from "../../src/config.js";
import type { Logger } from "../../src/log.js";
import { CommandError, EXIT, type Exit } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { openRoleLog } from "./log.js";
import { aborted, exitSoon, loadRoleConfig, onChange } from "./run.js";
import type { Running, WorkerPlace } from "./server.js";

type Start = (config: Config, log: Logger, signal: AbortSignal) => Promise<Running>;

/** Before a worker that died is replaced, in milliseconds: at first, doubled each time, and at most. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;
/** A worker that ran for so long did not die of its start; in milliseconds. */
const WELL = 60_000;
/** What a worker may take to stop beyond the time to drain, before it is killed, in milliseconds. */
const STOP_TIME = 5_000;
/** The same where another worker could not start, in milliseconds. */
const FAILED_START_TIME = 500;

/** What a worker tells the primary first: where it is reached, or why it cannot be. */
type Told = ({ readonly http: Address; readonly admin: Address } & Readiness) | Failure;

/** What a worker tells the primary also later, when it changes. */
interface Readiness {
  readonly notReady?: string | undefined;
}

interface Failure {
  readonly failure: string;
  readonly exit: Exit;
}

/** What the primary tells a worker. A signal would be a second one where the whole group of processes gets it. */
const STOP = "stop";

/**
 * Starts as many workers as the settings say.
 * @throws {CommandError} when one of them cannot start; then none is left.
 */
export async function startWorkers(config: Config, flags: Flags, log: Logger, signal: AbortSignal): Promise<Running> {
  const workers = new Workers(config, flags, log);
  const stopped = aborted(signal).then(() => Promise.reject(new CommandError("Stopped before it was ready")));
  try {
    return await Promise.race([workers.start(), stopped]);
  } catch (error) {
    await workers.stop(FAILED_START_TIME);
    throw error;
  }
}

/** Runs a worker until the primary or a signal stops it; gives its exit code. */
export async function runWorker(start: Start, flags: Flags, io: Io): Promise<number> {
  const stopping = new AbortController();
  process.on("message", (message) => message === STOP && stopping.abort());
  try {
    const config = loadRoleConfig(flags, io);
    const { log: whole, show } = openRoleLog(config.logLevel, io);
    const log = whole.child({ worker: process.pid });
    const signal = AbortSignal.any([stopping.signal, io.signal]);
    const { http, admin, notReady, stop } = await start(config, log, signal);
    const first = notReady();
    tell({ http: http!, admin: admin!, notReady: first });
    show();
    const stopTelling = onChange(notReady, first, (why) => tell({ notReady: why }));
    await aborted(signal);
    stopTelling();
    await stop();
    log.flush();
    return EXIT.ok;
  } catch (error) {
    const told = failureOf(error);
    tell(told);
    return told.exit;
  } finally {
    cluster.worker?.disconnect();
    exitSoon();
  }
}

function tell(told: Told | Readiness): void {
  process.send?.(told);
}

function failureOf(error: unknown): Failure {
  if (error instanceof CommandError) return { failure: error.message, exit: error.exit };
  if (error instanceof ConfigError) return { failure: error.message, exit: EXIT.usage };
  return { failure: `Portico itself is at fault: ${error instanceof Error ? error.stack : error}`, exit: EXIT.failed };
}

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
    const workers = await Promise.all(Array.from({ length: this.#config.workers }, (_, index) => this.#first(index)));
    const { http } = workers[0]!;
    const notReady = () => [...this.#notReady.values()].find((why) => why !== undefined);
    return { http, workers, notReady, stop: () => this.stop(this.#config.drain + STOP_TIME) };
  }

  /** Has each stop in good order; one that takes longer than `patienceMs` is killed. */
  async stop(patienceMs: number): Promise<void> {
    this.#stopping.abort();
    const exits = [...this.#living].map((worker) => {
      worker.send(STOP, () => {}); // One that is dying does not hear it.
      const late = setTimeout(() => worker.process.kill("SIGKILL"), patienceMs);
      return once(worker, "exit").then(() => clearTimeout(late));
    });
    await Promise.all(exits);
  }

  /** Starts a worker for the first time, and replaces it from then on. */
  async #first(index: number): Promise<WorkerPlace & { http: Address }> {
    const worker = this.#fork(index);
    const told = await toldBy(worker);
    if ("failure" in told) throw new CommandError(told.failure, told.exit);
    void this.#keep(worker, index);
    return { ...told, pid: worker.process.pid! };
  }

  async #keep(worker: Worker, index: number): Promise<void> {
    for (let failures = 0; ; failures++) {
      const since = performance.now();
      if (!worker.isDead()) await once(worker, "exit");
      if (this.#stopping.signal.aborted) return;
      if (performance.now() - since > WELL) failures = 0;
      const pauseMs = Math.min(FIRST_PAUSE * 2 ** failures, LONGEST_PAUSE);
      const { pid, exitCode, signalCode } = worker.process;
      this.#log.error({ worker: pid, exitCode, signal: signalCode, pauseMs }, "a worker ended and is replaced");
      await wait(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
      if (this.#stopping.signal.aborted) return;
      worker = this.#fork(index);
      const told = await toldBy(worker);
      const next = worker.process.pid;
      if ("failure" in told) this.#log.error({ worker: next, reason: told.failure }, "a worker cannot start");
      else this.#log.warn({ worker: next, metrics: formatAddress(told.admin) }, `a worker took the place of ${pid}`);
    }
  }

  #fork(index: number): Worker {
    const { host, port } = this.#config.admin;
    // With port 0 each has a free one.
    const admin = formatAddress({ host, port: port === 0 ? 0 : port + index });
    const args = Object.entries({ ...this.#flags, admin }).map(([key, value]) => `--${flagName(key)}=${value}`);
    cluster.setupPrimary({ exec: process.argv[1]!, args: ["gateway", ...args] });
    const worker = cluster.fork();
    this.#living.add(worker);
    worker.on("message", ({ notReady }: Readiness) => this.#notReady.set(worker, notReady));
    worker.once("exit", () => {
      this.#living.delete(worker);
      this.#notReady.delete(worker);
    });
    return worker;
  }
}

async function toldBy(worker: Worker): Promise<Told> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    return await Promise.race([
      once(worker, "message", { signal }).then(([told]) => told as Told),
      once(worker, "exit", { signal }).then(([code, killer]) => died(code, killer)),
    ]);
  } finally {
    settled.abort();
  }
}

function died(code: number | null, killer: NodeJS.Signals | null): Failure {
  return { failure: `a worker ended (${killer ?? `exit code ${code}`}) before it was ready`, exit: EXIT.failed };
}
