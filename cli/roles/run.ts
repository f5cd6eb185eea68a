/** Runs a role from its start to its stop: settings, log, banner, signals. */

import { passwordShown } from "../../services/auth/bootstrap.js";
import { RefusedError } from "../../services/auth/log/changelog/refusals.js";
import { type Config, type Flags, loadConfig, SETTINGS } from "../../src/config/config.js";
import { ConfigError } from "../../src/config/setting.js";
import { StoreError } from "../../src/store/store.js";

import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { banner, readiness } from "./banner.js";
import { openRoleLog } from "./log.js";
import type { StartRole } from "./start.js";
import { aborted } from "./stop.js";

/** The differences between roles. */
export interface Role {
  /** The title after `Portico 1.2.3`. */
  readonly title: string;
  readonly start: StartRole;
  /** Whether the store is in the process of this role. */
  readonly hasStore: boolean;
  /** Whether the role can run in several processes. */
  readonly hasWorkers?: true;
}

/**
 * Runs until SIGINT or SIGTERM. Soon after it has returned or thrown, the process exits, even if
 * something is still open.
 * @returns the exit code.
 * @throws {ConfigError|CommandError} when it cannot start.
 */
export async function runRole({ title, start, hasStore, hasWorkers }: Role, flags: Flags, io: Io): Promise<number> {
  const config = loadRoleConfig(flags, io);
  if (config.workers > 1 && !hasWorkers) throw onlyGateways(config.workers);
  const { log, show } = openRoleLog(config.logLevel, io);
  const running = await start(config, log, io.signal).catch((error) => {
    show();
    exitSoon();
    // The operator can repair a store that cannot be used, or correct a clock that prevents a start
    // from writing. So these errors are reported like wrong settings.
    throw error instanceof StoreError || error instanceof RefusedError ? new CommandError(error.message) : error;
  });
  // The banner is for people. A process that serves must continue if its reader has ended, or if
  // the disk is full.
  io.stdout.removeAllListeners("error").on("error", () => undefined);
  const notReady = running.notReady();
  io.stdout.write(banner({ title, running, config, hasStore, env: io.env }), (error) => {
    if (!error && running.firstStart !== undefined) passwordShown(config.data);
  });
  show();
  const stopWatching = onChange(running.notReady, notReady, (why) => io.stdout.write(`${readiness(why)}\n\n`));
  await aborted(io.signal);
  stopWatching();
  log.info("stopping");
  await running.stop().finally(exitSoon);
  return EXIT.ok;
}

/**
 * The settings of a role. The notice before a stop is for load balancers, so a process on a
 * terminal does not wait for it.
 * @throws {ConfigError}
 */
export function loadRoleConfig(flags: Flags, { env, stdin, stdout }: Io): Config {
  const config = loadConfig(flags, env);
  const isTerminal = stdin.isTTY === true || stdout.isTTY === true;
  return { ...config, drainNotice: isTerminal ? 0 : Math.min(config.drainNotice, config.drain / 2) };
}

/** How long a process that has nothing more to do may continue, in milliseconds. */
const EXIT_MS = 250;

/** Ends the process soon, even if something is open that would keep it running. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), EXIT_MS).unref();
}

function onlyGateways(workers: number): ConfigError {
  return new ConfigError(
    `${SETTINGS.workers.variable} is ${workers}: only a gateway alone has workers. Run portico gateway --workers ` +
      `${workers} beside this, with another HTTP port in ${SETTINGS.http.variable}`,
  );
}

/** The interval in which the readiness of the process is read, in milliseconds. */
const READINESS_INTERVAL_MS = 500;

/**
 * Reads `state` again and again, and calls the listener when the value has changed. The returned
 * function stops that.
 */
export function onChange<T>(state: () => T, initial: T, listener: (now: T) => void): () => void {
  let last = initial;
  const timer = setInterval(() => {
    const now = state();
    if (now === last) return;
    last = now;
    listener(now);
  }, READINESS_INTERVAL_MS);
  return () => clearInterval(timer);
}
