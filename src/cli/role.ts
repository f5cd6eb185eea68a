/** Runs a role from its start to its stop: settings, log, banner, signals. */
import { homedir } from "node:os";
import packageJson from "../../package.json" with { type: "json" };
import { type Config, type Flags, formatAddress, loadConfig } from "../config.js";
import { createLog, type Logger } from "../log.js";
import { StoreError } from "../store.js";
import { banner, type Line } from "./banner.js";
import { CommandError, EXIT } from "./exit.js";
import type { Io } from "./io.js";
import type { Running } from "./server.js";

/** What distinguishes a role. */
export interface Role {
  /** What it is, after `Portico 1.2.3`. */
  readonly title: string;
  readonly start: (config: Config, log: Logger) => Promise<Running>;
  /** Whether the store and the settings of the authority are of interest. */
  readonly hasStore: boolean;
}

/**
 * Runs until SIGINT or SIGTERM.
 * @returns the exit code.
 * @throws {ConfigError|CommandError} when it cannot start.
 */
export async function runRole({ title, start, hasStore }: Role, flags: Flags, io: Io): Promise<number> {
  const config = loadConfig(flags, io.env);
  const log = createLog(config.logLevel);
  const running = await started(start(config, log));
  const lines = linesOf(running, config, hasStore, io.env);
  const { firstStart } = running;
  const password = firstStart && { password: firstStart.password, file: firstStart.passwordFile };
  const commands = running.http && hasStore ? tries(formatAddress(running.http)) : [];
  io.stdout.write(banner({ title: `Portico ${packageJson.version} · ${title}`, lines, password, commands }));
  await aborted(io.signal);
  log.info("stopping");
  await running.stop();
  log.flush();
  return EXIT.ok;
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
  { http, grpc, admin, ready }: Running,
  config: Config,
  hasStore: boolean,
  env: NodeJS.ProcessEnv,
): Line[] {
  const authority = formatAddress(config.authority);
  return [
    ...(http ? [["HTTP", `http://${formatAddress(http)}`] as const] : []),
    ...(grpc ? [["gRPC", formatAddress(grpc)] as const] : []),
    ["Metrics", `http://${formatAddress(admin)}/metrics`],
    hasStore
      ? ["Data", shorten(config.data, env)]
      : ["Authority", ready ? authority : `${authority}, which does not answer yet: refusing calls until it does`],
  ];
}

function shorten(path: string, env: NodeJS.ProcessEnv): string {
  const home = env.HOME || homedir();
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

function tries(http: string): string[] {
  const url = http === formatAddress({ host: "127.0.0.1", port: 8080 }) ? "" : ` --url http://${http}`;
  const program = "npx portico";
  return [`curl 'http://${http}/helloworld/call?name=Ada'`, `${program} login${url}`, `${program} auth list rules`];
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
