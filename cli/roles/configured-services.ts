/**
 * `portico services add` and `portico services remove`: the services that the configuration file
 * names. A server that runs with the file applies the change (follow-services.ts).
 */
import {
  chmodSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { checkNames } from "../../services/registry/external.js";
import { type Config, ConfigError, type Flags, loadConfig, readServices, SETTINGS } from "../../src/config/config.js";
import { type ExternalService, parseExternalService } from "../../src/config/configured-services.js";
import { makeFolder } from "../../src/folder.js";
import { CompletedOption } from "../command/candidates.js";
import { collect, examples, newCommand } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { visibleLines } from "../terminal/text.js";
import { completionOf } from "./commands.js";
import { problemsIn, UnreadContractError } from "./contract-problems.js";

/** The configuration file. Its other members are preserved. */
interface File {
  services?: { name?: unknown }[];
}

interface AddOptions extends Pick<Flags, "config"> {
  readonly descriptors?: string;
  readonly identity?: true;
  readonly metadata?: readonly string[];
  readonly prefix?: string;
}

export function addService(io: Io): Command {
  const command = newCommand("add <name> <target...>", "let a gRPC server join, also while Portico runs");
  const descriptors =
    "file with its google.protobuf.FileDescriptorSet; without it, Portico asks the server by reflection";
  command.addOption(new CompletedOption("--descriptors <file>", descriptors, completionOf(SETTINGS.config)));
  command.option("--identity", "tell it the account and the namespace of each caller");
  command.option("--metadata <name>", "let a header pass between callers and it; again for more", collect);
  command.option("--prefix <path>", "put a path before those of its google.api.http annotations, such as /api");
  command.addOption(fileOption());
  examples(command, "portico services add shop 127.0.0.1:9000", "portico services add shop grpcs://shop.example:9000");
  return command.action(async (name: string, targets: string[], options: AddOptions) => {
    const { descriptors, identity, metadata, prefix, config } = options;
    const target = targets.length === 1 ? targets[0] : targets;
    const bindings = prefix === undefined ? undefined : { prefix };
    const entry = { name, target, descriptors: descriptors && resolve(descriptors), identity, metadata, bindings };
    const service = checkService(entry);
    const flags = config === undefined ? {} : { config };
    const warnings = await warningsOf(service, loadConfig(flags, io.env));
    const file = changeServices(flags, io, (services) => [...services, entry]);
    io.stdout.write(`Service added to ${file}\n`);
    for (const warning of warnings) io.stderr.write(`${visibleLines(warning)}\n`);
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

export function removeService(io: Io): Command {
  const command = newCommand("remove <name>", "take out what portico services add has added");
  command.addOption(fileOption());
  examples(command, "portico services remove shop");
  return command.action((name: string, { config }: Pick<Flags, "config">) => {
    const file = changeServices({ ...(config && { config }) }, io, (services, file) => {
      const others = services.filter((service) => service.name !== name);
      if (others.length === services.length) throw new CommandError(`${file} has no service ${name}`);
      return others;
    });
    io.stdout.write(`Service removed from ${file}\n`);
    const others = `portico services release ${name} lets other services have them`;
    io.stderr.write(`gRPC names that belong to it stay its own; ${others}\n`);
  });
}

function fileOption(): CompletedOption {
  return new CompletedOption("--config <file>", SETTINGS.config.meaning, completionOf(SETTINGS.config));
}

/**
 * Replaces the services of the configuration file. The file is replaced atomically.
 * @returns the path of the file.
 * @throws {CommandError} for services that are not valid. Then nothing has changed.
 */
function changeServices(
  flags: Flags,
  { env }: Io,
  change: (services: readonly { name?: unknown }[], file: string) => { name?: unknown }[],
): string {
  const { configFile } = loadConfig(flags, env);
  const isThere = existsSync(configFile);
  const path = isThere ? realpathSync(configFile) : configFile;
  const before: File = isThere ? JSON.parse(readFileSync(path, "utf8")) : {};
  const file: File = { ...before, services: change(before.services ?? [], configFile) };
  const draft = `${path}.${process.pid}.new`;
  makeFolder(dirname(path));
  try {
    writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
    // A separate call, because the umask is subtracted from the mode of a new file.
    if (isThere) chmodSync(draft, statSync(path).mode);
    checkServices(draft);
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
  return configFile;
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
