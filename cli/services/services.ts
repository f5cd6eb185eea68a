/**
 * `portico services add`, `set`, `remove`, `list` and `import`: the services that join without an
 * enrolment. They are in the authority's log, so that all authorities follow them. With `--config`,
 * the commands change the configuration file instead, which needs no login.
 */
import { Option } from "commander";
import { formatServiceTarget } from "../../src/address/srv.js";
import type { ConfiguredService, PutServiceRequest, ServiceListing } from "../../src/api/types.js";
import { loadConfig, readServices, SETTINGS } from "../../src/config/config.js";
import type { ExternalService } from "../../src/config/configured-services.js";
import { noServiceOptions } from "../../src/config/service-options.js";
import type { ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import { CompletedOption, type NamedItems, namesOf, withSuggestion } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import type { CommandConnection } from "../command/connection.js";
import { completionOf } from "../roles/commands.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { fileProblem } from "../terminal/file-problem.js";
import { type Column, printItem, printList } from "../terminal/output.js";
import { visibleLines } from "../terminal/text.js";
import {
  descriptorsIn,
  fileMembers,
  formatTarget,
  type OptionFlags,
  optionFlags,
  parseTarget,
  readDescriptors,
  setOptions,
} from "./flags.js";
import { printFound } from "./found.js";
import { jsonOfOptions, optionsOfJson, shownOptions } from "./options-json.js";

/** Flags that are no options of the service. */
interface CommonFlags {
  readonly config?: string;
  readonly descriptors?: string;
  readonly dryRun?: true;
}
type Flags = CommonFlags & OptionFlags;

const listings: NamedItems<ServiceListing> = {
  list: async (client) => (await client.ask("registry/Services/List")).services,
  nameOf: ({ service }) => service.name,
};
const inLog = namesOf(listings);

const COLUMNS: readonly Column<ServiceListing>[] = [
  ["Name", ({ service }) => service.name],
  ["Source", ({ source }) => source.toLowerCase()],
  ["Targets", ({ service }) => service.targets.map(formatTarget).join(", ")],
  ["Reachable", ({ reachable, service }) => `${reachable} of ${service.targets.length}`],
  ["Endpoints", ({ endpoints }) => `${endpoints}`],
  ["Options", ({ service }) => shownOptions(optionsOfJson(service.options)).join(" ")],
];

const dryRun = new Option("--dry-run", "change nothing; show what would be found");

function descriptorsFlag(): Option {
  const meaning = "file with its google.protobuf.FileDescriptorSet; without it, Portico asks the server by reflection";
  return new CompletedOption("--descriptors <file>", meaning, completionOf(SETTINGS.config));
}

function configFlag(meaning: string): Option {
  return new CompletedOption("--config <file>", meaning, completionOf(SETTINGS.config));
}

export const addService = gatewayCommand<[name: string, targets: string[], flags: Flags]>({
  usage: "add <name> <target...>",
  summary: "let a gRPC server join, by its address; host:port=5 gives it a share of 5",
  examples: [
    "portico services add shop 127.0.0.1:9000",
    "portico services add shop grpcs://shop.example:9000 --metadata x-tenant",
    "portico services add shop 10.0.0.5:9000=95 10.0.0.6:9000=5",
  ],
  options: [
    descriptorsFlag(),
    dryRun,
    configFlag("write it to this configuration file instead, without a login"),
    ...optionFlags(false),
  ],
  async run(connection, name, targets, flags) {
    const { io } = connection;
    if (flags.config !== undefined) return addInFile(connection, name, targets, flags);
    const service = {
      name,
      targets: targets.map(parseTarget),
      ...(flags.descriptors && { descriptors: readDescriptors(flags.descriptors) }),
      options: changed(noServiceOptions(), flags),
    };
    const found = await put(
      connection,
      { service, create: true, dryRun: flags.dryRun },
      `add ${name} ${targets.join(" ")}`,
    );
    await printFound(
      connection,
      name,
      found,
      flags.dryRun ? "Nothing was added: this is a dry run" : `Service ${name} added`,
    );
    if (!flags.dryRun && found.error === "" && found.endpoints.length === 0) io.stderr.write("It has no endpoint\n");
  },
});

async function addInFile(
  { io }: CommandConnection,
  name: string,
  targets: readonly string[],
  flags: Flags,
): Promise<void> {
  const { config = "", descriptors, dryRun } = flags;
  const { addToFile } = await import("../roles/configured-services.js");
  await addToFile(
    { name, targets: targets.map(parseTarget), descriptors, members: fileMembers(flags) },
    { file: config, dryRun: dryRun === true },
    io,
  );
}

export const setService = gatewayCommand<[name: string, targets: string[], flags: Flags]>({
  usage: "set <name> [target...]",
  summary: "change only what is given of a service; an empty value resets an option",
  examples: [
    "portico services set shop --call-time=120s",
    "portico services set shop --call-time= --no-identity",
    "portico services set shop 10.0.0.5:9000=90 10.0.0.6:9000=10",
  ],
  completion: [inLog],
  options: [descriptorsFlag(), dryRun, ...optionFlags(true)],
  async run(connection, name, targets, flags) {
    const { client } = connection;
    await client.token();
    const before = inLogOnly(await listings.list(client), name);
    const service = {
      name,
      targets: targets.length > 0 ? targets.map(parseTarget) : before.targets,
      ...(flags.descriptors && { descriptors: readDescriptors(flags.descriptors) }),
      options: changed(optionsOfJson(before.options), flags),
    };
    const keepDescriptors = flags.descriptors === undefined;
    const found = await client.ask("registry/Services/Put", { service, keepDescriptors, dryRun: flags.dryRun });
    await printFound(
      connection,
      name,
      found,
      flags.dryRun ? "Nothing was changed: this is a dry run" : `Service ${name} changed`,
    );
  },
});

/** @throws {CommandError} unless the log has the service */
function inLogOnly(all: readonly ServiceListing[], name: string): ConfiguredService {
  const found = all.find(({ service }) => service.name === name);
  if (found?.source === "LOG") return found.service;
  if (found === undefined)
    throw new CommandError(`There is no configured service ${name}. portico services list shows all`);
  throw new CommandError(
    `${name} is in the configuration file of an authority. Change it there, or move it: portico services import`,
  );
}

/** @throws {CommandError} that names the flag */
function changed(options: ServiceOptions, flags: OptionFlags) {
  setOptions(options, flags);
  return jsonOfOptions(options);
}

/**
 * Puts a service. An error about the login also names the way without one.
 * @throws {CommandError}
 */
async function put(
  { client }: CommandConnection,
  request: { readonly [K in keyof PutServiceRequest]: PutServiceRequest[K] | undefined },
  words: string,
) {
  try {
    await client.token();
    return await client.ask("registry/Services/Put", request);
  } catch (error) {
    if (!(error instanceof CommandError) || error.exit !== EXIT.login) throw error;
    const file = `For a start without a login, write it to the configuration file: portico services ${words} --config <file>`;
    throw new CommandError(`${error.message}\n${file}`, EXIT.login);
  }
}

export const removeService = gatewayCommand<[name: string, flags: CommonFlags]>({
  usage: "remove <name>",
  summary: "remove what portico services add has added",
  examples: ["portico services remove shop"],
  completion: [inLog],
  options: [configFlag("take it out of this configuration file instead, without a login")],
  async run({ io, client, output }, name, { config }) {
    let done = "Service removed";
    if (config !== undefined) {
      const { removeFromFile } = await import("../roles/configured-services.js");
      done += ` from ${await removeFromFile(config, name)}`;
    } else {
      await client.token();
      await withSuggestion(client.ask("registry/Services/Delete", { name }), name, client, listings);
    }
    await printItem(io, output, { name, value: {}, text: [done] });
    const others = `portico services release ${name} lets other services have them`;
    io.stderr.write(`gRPC names that belong to it stay its own; ${others}\n`);
  },
});

export const listServices = gatewayCommand({
  usage: "list",
  summary: "list the services that joined by their address, with options and errors",
  examples: ["portico services list", "portico services list -o json"],
  async run({ io, client, output }) {
    await client.token();
    const listed = await listings.list(client);
    await printList(io, output, listed, COLUMNS);
    if (output !== undefined) return;
    if (listed.length === 0) io.stderr.write("No service joined by its address: portico services add lets one join\n");
    for (const { service, error, problems } of listed) {
      const { name } = service;
      if (error !== "") io.stderr.write(`The contract of ${name} cannot be read now: ${visibleLines(error)}\n`);
      for (const problem of problems) io.stderr.write(`${name}: ${visibleLines(problem)}\n`);
    }
  },
});

export const importServices = gatewayCommand<[flags: CommonFlags]>({
  usage: "import",
  summary: "move the services of a configuration file to the log, where all authorities have them",
  examples: ["portico services import", "portico services import --config ./portico.json --dry-run"],
  formats: [],
  options: [dryRun, configFlag(SETTINGS.config.meaning)],
  async run({ io, client }, { config, dryRun }) {
    await client.token();
    const file = loadConfig(config === undefined ? {} : { config }, io.env).configFile;
    const services = readServices(file);
    if (services.length === 0) throw new CommandError(`${file} has no services`);
    const failed: string[] = [];
    const { removeFromFile } = await import("../roles/configured-services.js");
    for (const service of services) {
      const { name } = service;
      try {
        const { error, problems } = await client.ask("registry/Services/Put", { ...requestOf(service), dryRun });
        if (!dryRun) await removeFromFile(file, name);
        io.stdout.write(`${name}: ${dryRun ? "can be moved" : "moved to the log"}\n`);
        if (error !== "") io.stderr.write(`The contract of ${name} cannot be read now: ${visibleLines(error)}\n`);
        for (const problem of problems) io.stderr.write(`${name}: ${visibleLines(problem)}\n`);
      } catch (error) {
        if (!(error instanceof CommandError) || error.exit !== EXIT.failed) throw error;
        failed.push(name);
        io.stderr.write(`${name}: not moved, it stays in the file: ${visibleLines(error.message)}\n`);
      }
    }
    if (failed.length > 0) throw new CommandError(`Not moved: ${failed.join(", ")}`);
  },
});

/**
 * The request for a service of the file.
 * @throws {CommandError} if its descriptors cannot be read
 */
function requestOf({ name, targets, descriptors, options }: ExternalService) {
  const service = {
    name,
    targets: targets.map(({ target, weight }) => ({ address: formatServiceTarget(target), weight })),
    ...(typeof descriptors === "string" && { descriptors: contentOf(descriptors) }),
    options: jsonOfOptions(options),
  };
  return { service, create: true };
}

function contentOf(path: string): string {
  try {
    return descriptorsIn(path);
  } catch (error) {
    throw new CommandError(fileProblem(error, path));
  }
}
