/**
 * Changes the services that a configuration file names, for `portico services add --config` and its
 * neighbours. A server that runs with the file applies the change (follow-services.ts).
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checkNames } from "../../services/registry/external.js";
import { type Config, loadConfig, readServices } from "../../src/config/config.js";
import { type ExternalService, parseExternalService } from "../../src/config/configured-services.js";
import { ConfigError } from "../../src/config/setting.js";
import { makeFolder } from "../../src/folder.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { visibleLines } from "../terminal/text.js";
import { problemsIn, UnreadContractError } from "./contract-problems.js";

/** The configuration file. Its other members are preserved. */
interface File {
  services?: { name?: unknown }[];
}

/** A service as the command line gives it. */
interface GivenService {
  readonly name: string;
  readonly targets: readonly { readonly address: string; readonly weight: number }[];
  readonly descriptors: string | undefined;
  /** Its options, as members of its entry. */
  readonly members: Readonly<Record<string, unknown>>;
}

/**
 * Adds a service to the file, and prints what is not served of its contract.
 * @throws {CommandError} if it is not valid; then nothing has changed
 */
export async function addToFile(
  { name, targets: given, descriptors, members }: GivenService,
  { file: config, dryRun }: { readonly file: string; readonly dryRun: boolean },
  io: Io,
): Promise<void> {
  const targets = given.map((target) => (target.weight === 1 ? target.address : target));
  const target = targets.length === 1 && typeof targets[0] === "string" ? targets[0] : targets;
  const entry = { name, target, descriptors: descriptors && resolve(descriptors), ...members };
  const service = checkService(entry);
  // A file that does not exist yet is created, and has no settings.
  const warnings = await warningsOf(service, loadConfig(existsSync(config) ? { config } : {}, io.env));
  if (dryRun) io.stdout.write("Nothing was added: this is a dry run\n");
  else io.stdout.write(`Service added to ${await changeServices(config, (services) => [...services, entry])}\n`);
  for (const warning of warnings) io.stderr.write(`${visibleLines(warning)}\n`);
}

/**
 * Takes a service out of the file.
 * @returns the path of the file.
 * @throws {CommandError} if the file does not have it
 */
export function removeFromFile(config: string, name: string): Promise<string> {
  return changeServices(config, (services, file) => {
    const others = services.filter((service) => service.name !== name);
    if (others.length === services.length) throw new CommandError(`${file} has no service ${name}`);
    return others;
  });
}

/** @throws {CommandError} when Portico cannot serve the contract */
async function warningsOf(service: ExternalService, config: Config): Promise<string[]> {
  const { name } = service;
  try {
    return (await problemsIn(service, config)).map((error) => `Not served as ${name} declares it: ${error}`);
  } catch (error) {
    if (!(error instanceof UnreadContractError)) throw error;
    const later = `Once it can be, portico services tells what is not served`;
    return [`The contract of ${name} cannot be read now: ${error.message}. ${later}`];
  }
}

/**
 * Replaces the services of the configuration file. The file is replaced atomically. Commands that
 * do so at once take turns, so that each keeps what the others have changed.
 * @returns the path of the file.
 * @throws {CommandError} for services that are not valid. Then nothing has changed.
 */
async function changeServices(
  configFile: string,
  change: (services: readonly { name?: unknown }[], file: string) => { name?: unknown }[],
): Promise<string> {
  const isThere = existsSync(configFile);
  const path = isThere ? realpathSync(configFile) : configFile;
  const draft = `${path}.new`;
  makeFolder(dirname(path));
  await takeTurn(draft, configFile);
  try {
    const before: File = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
    const file: File = { ...before, services: change(before.services ?? [], configFile) };
    writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`);
    // A separate call, because the umask is subtracted from the mode of a new file.
    if (existsSync(path)) chmodSync(draft, statSync(path).mode);
    checkServices(draft);
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
  return configFile;
}

/** How long a command may have the turn, in milliseconds. Then it was killed. */
const TURN_MS = 2_000;

/**
 * Creates the draft of the file. As long as it exists, other commands wait.
 * @throws {CommandError} when another command has it for too long
 */
async function takeTurn(draft: string, file: string): Promise<void> {
  for (const end = performance.now() + 2 * TURN_MS; ; await sleep(20)) {
    try {
      return closeSync(openSync(draft, "wx", 0o600));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const taken = statSync(draft, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (taken < Date.now() - TURN_MS) rmSync(draft, { force: true });
    else if (performance.now() > end)
      throw new CommandError(`Another command changes ${file}. If none does, delete ${draft}, and try again`);
  }
}

/**
 * @throws {CommandError} when the arguments are not a valid service. Checked first, so that the
 * error does not mention the file.
 */
function checkService(entry: object): ExternalService {
  try {
    return parseExternalService(entry, ".");
  } catch (error) {
    throw new CommandError(`Nothing was added: ${(error as Error).message}`, EXIT.usage);
  }
}

function checkServices(file: string): void {
  try {
    checkNames(readServices(file));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new CommandError(error.message, EXIT.usage);
  }
}
