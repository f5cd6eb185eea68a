/**
 * The flags of `portico services add` and `set`: one for each option of the table SERVICE_OPTIONS,
 * in src/config/service-options.ts.
 */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { Option } from "commander";
import { flagName } from "../../src/config/config.js";
import { readRules } from "../../src/config/configured-services.js";
import { checkServiceOptions, SERVICE_OPTIONS, type ServiceOption } from "../../src/config/service-options.js";
import type { ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import { CompletedOption } from "../command/candidates.js";
import { completionOf } from "../roles/commands.js";
import { collect } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { fileProblem } from "../terminal/file-problem.js";

const TABLE: readonly (readonly [key: string, option: ServiceOption])[] = Object.entries(SERVICE_OPTIONS);
const GROUP = "Options of the service:";
/** The maximum size of a descriptor file that is sent, in bytes. */
const MAX_DESCRIPTORS = 1024 ** 2;

/** The flags as Commander passes them: the texts of each, or whether it is on. */
export type OptionFlags = Readonly<Record<string, readonly string[] | boolean | string | undefined>>;

/** @param withReset whether an option that is on can be turned off, by `--no-` */
export function optionFlags(withReset: boolean): Option[] {
  return TABLE.flatMap(([key, option]) => {
    const name = flagName(key);
    if (option.value === undefined) {
      const on = new Option(`--${name}`, option.meaning);
      return withReset ? [on, new Option(`--no-${name}`, "").hideHelp()] : [on];
    }
    const completed = new CompletedOption(`--${name} <${option.value}>`, option.meaning, completionOf(option));
    return [completed.argParser(collect)];
  }).map((option) => option.helpGroup(GROUP));
}

/**
 * Changes the options that were given. An empty text resets an option.
 * @throws {CommandError} that names the flag
 */
export function setOptions(options: ServiceOptions, flags: OptionFlags): void {
  for (const [key, texts] of givenOptions(flags)) {
    const option = TABLE.find(([name]) => name === key)![1];
    withName(`--${flagName(key)}`, () =>
      option.set(options, key === "httpRules" ? texts.map((path) => readRules(resolve(path))) : texts),
    );
  }
  withName("The options do not fit", () => checkServiceOptions(options));
}

/** The members of the service's entry in the configuration file. */
export function fileMembers(flags: OptionFlags): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const [key, texts] of givenOptions(flags)) {
    const option = TABLE.find(([name]) => name === key)![1];
    const [text = ""] = texts;
    if (option.list) members[key] = texts;
    else if (option.value === undefined) members[key] = text === "true";
    else if (key === "prefix") members.bindings = { prefix: text };
    else members[key] = key === "httpRules" ? resolve(text) : text;
  }
  return members;
}

/** The options that were given, with their texts; none to reset it. */
function givenOptions(flags: OptionFlags): [key: string, texts: readonly string[]][] {
  return TABLE.flatMap(([key]) => {
    const given = flags[key];
    if (given === undefined) return [];
    if (!Array.isArray(given)) return [[key, [String(given)]]];
    return [[key, given.length === 1 && given[0] === "" ? [] : given]];
  });
}

function withName(name: string, run: () => void): void {
  try {
    run();
  } catch (error) {
    throw new CommandError(`${name}: ${(error as Error).message}`, EXIT.usage);
  }
}

/** A target with its share of the calls, such as `127.0.0.1:9000=5`. */
const WEIGHTED = /^(.+)=(\d{1,4})$/;

/** A target as it is given. Without a weight, it has the weight 1. */
export function parseTarget(text: string): { readonly address: string; readonly weight: number } {
  const [, address = text, weight = "1"] = WEIGHTED.exec(text) ?? [];
  return { address, weight: Number(weight) };
}

/** The form that `parseTarget` reads. */
export function formatTarget({ address, weight }: { readonly address: string; readonly weight: number }): string {
  return weight <= 1 ? address : `${address}=${weight}`;
}

/**
 * The content of a descriptor file, in base64.
 * @throws {Error} if it is larger than the log accepts, or cannot be read
 */
export function descriptorsIn(path: string): string {
  const { size } = statSync(path);
  if (size > MAX_DESCRIPTORS) throw new Error(`has ${size} bytes; at most ${MAX_DESCRIPTORS} are accepted`);
  return readFileSync(path, "base64");
}

/**
 * The same for the file that a flag names.
 * @throws {CommandError}
 */
export function readDescriptors(path: string): string {
  try {
    return descriptorsIn(path);
  } catch (error) {
    throw new CommandError(`--descriptors: ${fileProblem(error, path)}`, EXIT.usage);
  }
}
