/** Runs a role from its start to its stop: settings, log, banner, signals. */
import { homedir } from "node:os";
import { basename, resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { type Address, formatAddress, formatGrpcTarget } from "../../src/address.js";
import { type Config, ConfigError, type Flags, loadConfig, SETTINGS } from "../../src/config.js";
import type { Logger } from "../../src/log.js";
import { StoreError } from "../../src/store/store.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { banner, type Line, readiness } from "./banner.js";
import { openRoleLog } from "./log.js";
import type { Running } from "./server.js";

/** What distinguishes a role. */
export interface Role {
  /** What it is, after `Portico 1.2.3`. */
  readonly title: string;
  /** Rejects, with everything closed, when it cannot start or the signal is aborted before it has. */
  readonly start: (config: Config, log: Logger, signal: AbortSignal) => Promise<Running>;
  /** Whether the store and the settings of the authority are of interest. */
  readonly hasStore: boolean;
  /** Whether it can run in several processes. */
  readonly hasWorkers?: true;
}

/**
 * Runs until SIGINT or SIGTERM. Soon after it has returned or thrown the process exits, whatever may still be open.
 * @returns the exit code.
 * @throws {ConfigError|CommandError} when it cannot start.
 */
export async function runRole({ title, start, hasStore, hasWorkers }: Role, flags: Flags, io: Io): Promise<number> {
  const config = loadRoleConfig(flags, io);
  if (config.workers > 1 && !hasWorkers) throw onlyGateways(config.workers);
  const { log, show } = openRoleLog(config.logLevel, io);
  const running = await started(start(config, log, io.signal)).catch((error) => {
    show();
    exitSoon();
    throw error;
  });
  const lines = linesOf(running, config, hasStore, io.env);
  const { firstStart } = running;
  const notReady = running.notReady();
  const password = firstStart && { password: firstStart.password, file: firstStart.passwordFile };
  const commands = running.http && hasStore ? tries(formatAddress(running.http)) : [];
  io.stdout.write(banner({ title: `Portico ${packageJson.version} · ${title}`, lines, password, commands, notReady }));
  show();
  const stopTelling = onChange(running.notReady, notReady, (why) => io.stdout.write(`${readiness(why)}\n\n`));
  await aborted(io.signal);
  stopTelling();
  log.info("stopping");
  await running.stop().finally(exitSoon);
  log.flush();
  return EXIT.ok;
}

/** The settings of a role. The notice before a stop is for balancers: a person at a terminal does not wait for it. */
export function loadRoleConfig(flags: Flags, { env, stdin, stdout }: Io): Config {
  const config = loadConfig(flags, env);
  const isTerminal = stdin.isTTY === true || stdout.isTTY === true;
  return { ...config, drainNotice: isTerminal ? 0 : Math.min(config.drainNotice, config.drain / 2) };
}

/** How long a process may go on that has nothing more to do, in milliseconds. */
const EXIT_MS = 250;

/** Ends the process also where something was left open that would keep it. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), EXIT_MS).unref();
}

function onlyGateways(workers: number): ConfigError {
  return new ConfigError(
    `${SETTINGS.workers.variable} is ${workers}: only a gateway alone has workers. Run portico gateway --workers ` +
      `${workers} beside this, with another HTTP port in ${SETTINGS.http.variable}`,
  );
}

/** A store that cannot be used is the operator's to mend, as a wrong setting is. */
async function started(start: Promise<Running>): Promise<Running> {
  try {
    return await start;
  } catch (error) {
    if (error instanceof StoreError) throw new CommandError(error.message);
    throw error;
  }
}

function linesOf(
  { http, grpc, admin, workers = [] }: Running,
  config: Config,
  hasStore: boolean,
  env: NodeJS.ProcessEnv,
): Line[] {
  return [
    ...(http ? pagesOf(`http://${formatAddress(http)}`) : []),
    ...(grpc ? [["gRPC", formatGrpcTarget(grpc)] as const] : []),
    ...(admin ? [["Metrics", metricsOf(admin)] as const] : []),
    ...workers.map(({ pid, admin }, index) => [`Worker ${index + 1}`, `${metricsOf(admin)}, process ${pid}`] as const),
    hasStore ? ["Data", shorten(config.data, env)] : ["Authority", formatGrpcTarget(config.authority)],
  ];
}

function pagesOf(url: string): Line[] {
  return [
    ["HTTP", url],
    ["Explore", `${url}/explore`],
    ["Console", `${url}/console`],
  ];
}

function metricsOf(admin: Address): string {
  return `http://${formatAddress(admin)}/metrics`;
}

function shorten(path: string, env: NodeJS.ProcessEnv): string {
  const home = env.HOME || homedir();
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

function tries(http: string): string[] {
  const url = http === formatAddress({ host: "127.0.0.1", port: 8080 }) ? "" : ` --url http://${http}`;
  const program = programName(process.argv[1] ?? "portico");
  return [`curl 'http://${http}/helloworld/call?name=Ada'`, `${program} login${url}`, `${program} auth list rules`];
}

/** What to type for this program: its name where it was found by that, else its whole path, which works in any folder. */
function programName(path: string): string {
  if (basename(path) === "portico") return "portico";
  const whole = resolve(path);
  return /^[\w./+-]+$/.test(whole) ? whole : `'${whole.replaceAll("'", "'\\''")}'`;
}

/** How often it is looked whether the process is ready, in milliseconds. */
const READINESS_INTERVAL = 500;

/** Tells whenever what `state` gives has changed; the returned function ends that. */
export function onChange<T>(state: () => T, initial: T, tell: (now: T) => void): () => void {
  let told = initial;
  const timer = setInterval(() => {
    const now = state();
    if (now === told) return;
    told = now;
    tell(now);
  }, READINESS_INTERVAL);
  return () => clearInterval(timer);
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
