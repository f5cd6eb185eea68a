/**
 * `portico dev`: runs the gateway and every service below a folder, and reloads a service when its
 * files are saved. Runs until it is stopped.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type FSWatcher, watch } from "chokidar";
import type { Config, Flags } from "../../src/config/config.js";
import { createLog } from "../../src/log.js";
import { exitSoon, loadRoleConfig } from "../roles/run.js";
import { aborted } from "../roles/stop.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { type DevGateway, openDevGateway } from "./dev-gateway.js";
import { DevService, type DevServiceOptions } from "./dev-service.js";
import { findServices, isIgnored } from "./folders.js";
import { Printer } from "./printer.js";
import { findTools } from "./tools.js";

/**
 * How often to look for services, in milliseconds, while there is none, or while the tools of one
 * are not installed.
 */
const LOOK_MS = 1_000;

/** A free port. */
const ANY_PORT = "127.0.0.1:0";

/**
 * @param folder the services are below it.
 * @returns the exit code.
 * @throws {ConfigError|CommandError} when the gateway cannot start.
 */
export async function runDev(folder: string, flags: Flags, io: Io): Promise<number> {
  const root = resolve(folder);
  if (!existsSync(root)) throw new CommandError(`There is no folder ${root}`, EXIT.usage);
  const config = devConfig(root, flags, io);
  const printer = new Printer(io, root);
  const shown = io.env.PORTICO_LOG_LEVEL ? config.logLevel : "warn";
  // The lines of requests have the level info, and some say what the developer must set.
  const log = createLog(shown === "warn" ? "info" : shown, { write: (line) => printer.log(line, shown) });
  const gateway = await openDevGateway(config, log, io.signal).catch((error) => {
    exitSoon();
    throw error;
  });
  printer.banner(gateway.url, config.data);
  const services = new Services(root, config, { gateway, printer, env: io.env });
  const watcher = watch(root, { ignored: (path) => path !== root && isIgnored(path), ignoreInitial: true });
  watcher.on("all", (event, file) => void (event !== "addDir" && event !== "unlinkDir" && services.onChange(file)));
  await services.start();
  await aborted(io.signal);
  await close(watcher, services, gateway).finally(exitSoon);
  return EXIT.ok;
}

async function close(watcher: FSWatcher, services: Services, gateway: DevGateway): Promise<void> {
  await watcher.close();
  await services.close();
  await gateway.close();
}

/**
 * The settings of the gateway. Its data is in the folder `.portico` of `root`, and its
 * configuration file is `portico.json` of `root`. Its gRPC and admin ports are free ports, so that
 * it can run next to another Portico.
 */
function devConfig(root: string, flags: Flags, io: Io): Config {
  const { env } = io;
  const file = join(root, "portico.json");
  const own = {
    data: env.PORTICO_DATA ?? join(root, ".portico"),
    grpc: env.PORTICO_GRPC ?? ANY_PORT,
    admin: env.PORTICO_ADMIN ?? ANY_PORT,
    ...(existsSync(file) && !env.PORTICO_CONFIG ? { config: file } : {}),
  };
  const config = loadRoleConfig({ ...own, ...flags }, io);
  if (own.data === join(root, ".portico")) hide(own.data);
  return flags.config || env.PORTICO_CONFIG ? config : { ...config, configFile: file };
}

/** Creates a folder that git ignores. */
function hide(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, ".gitignore");
  if (!existsSync(file)) writeFileSync(file, "*\n");
}

/** Options that are the same for all services. */
type Common = Pick<DevServiceOptions, "gateway" | "printer" | "env">;

/** The services below a folder. */
class Services {
  readonly #root: string;
  readonly #config: Config;
  readonly #common: Common;
  /** By folder. */
  readonly #services = new Map<string, DevService>();
  /** Folders whose tools were missing at the last look. */
  readonly #unusable = new Set<string>();
  readonly #looking: NodeJS.Timeout;

  constructor(root: string, config: Config, { gateway, printer, env }: Common) {
    this.#root = root;
    this.#config = config;
    // Each service uses a free port, and joins with the enrolment token in the data folder.
    const own = {
      PORTICO_AUTHORITY: gateway.grpc,
      PORTICO_DATA: config.data,
      PORTICO_GRPC: ANY_PORT,
      PORTICO_ADMIN: ANY_PORT,
    };
    this.#common = { gateway, printer, env: { ...env, ...own } };
    this.#looking = setInterval(() => void (this.#isLacking() && this.#find()), LOOK_MS);
  }

  /** Resolves when each service serves, or its problems were shown. */
  async start(): Promise<void> {
    await this.#find();
    const { printer } = this.#common;
    if (this.#isLacking() && this.#unusable.size === 0 && this.#config.services.length === 0)
      printer.say("There is no service here. Make one: portico new greeter");
  }

  onChange(file: string): void {
    for (const service of this.#services.values()) if (service.includes(file)) service.onChange();
    if (/(?:main\.ts|\.proto|package(?:-lock)?\.json)$/.test(file)) void this.#find();
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    await Promise.all([...this.#services.values()].map((service) => service.close()));
  }

  #isLacking(): boolean {
    return this.#services.size === 0 || this.#unusable.size > 0;
  }

  /** Starts the services that were not found before. */
  async #find(): Promise<void> {
    const { printer } = this.#common;
    const found = findServices(this.#root).filter((folder) => !this.#services.has(folder));
    const started = found.map(async (folder) => {
      try {
        const service = new DevService({ ...this.#common, folder, tools: findTools(folder) });
        this.#services.set(folder, service);
        this.#unusable.delete(folder);
        await service.start();
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        if (!this.#unusable.has(folder)) printer.failure(error.message, []);
        this.#unusable.add(folder);
      }
    });
    await Promise.all(started);
  }
}
