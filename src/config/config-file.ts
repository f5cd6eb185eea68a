/** The configuration file: one JSON object with settings and services. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type ExternalService, parseExternalServices } from "./configured-services.js";
import { ConfigError, type Setting } from "./setting.js";
import { FILE_SEPARATOR, isObject, outputPath } from "./setting-values.js";

type Settings = Readonly<Record<string, Setting<unknown>>>;

/**
 * @param named whether a setting names the file; otherwise it is the one in the data folder, which
 * need not exist
 * @param settings all that the file may have
 * @throws {ConfigError}
 */
export function readConfigFile(path: string, named: boolean, settings: Settings): Record<string, unknown> {
  if (!existsSync(path)) {
    if (named) throw new ConfigError(`the configuration file ${path} does not exist`);
    return {};
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    // Node's message quotes the file, with its line ends.
    const reason = (error as Error).message.replace(/\s+/g, " ");
    throw new ConfigError(`the configuration file ${path} cannot be read: ${reason}`);
  }
  if (!isObject(parsed)) throw new ConfigError(`the configuration file ${path} must hold one JSON object`);
  checkNames(parsed, path, settings);
  if ("data" in parsed && !named) {
    throw new ConfigError(
      `the configuration file ${path} is in the data folder, so it cannot name "data": use ${settings.data?.variable}`,
    );
  }
  const folder = dirname(path);
  for (const key of PATHS) if (key in parsed) parsed[key] = outputPath(String(parsed[key]), folder);
  for (const key of PATH_LISTS) {
    // An empty name stays empty, and is refused.
    const names = key in parsed ? String(parsed[key]).split(FILE_SEPARATOR) : [];
    if (names.length > 0)
      parsed[key] = names.map((name) => (name.trim() ? resolve(folder, name.trim()) : "")).join(FILE_SEPARATOR);
  }
  return parsed;
}

/** Settings whose paths are relative to the configuration file. */
const PATHS = ["data", "tlsCert", "tlsKey", "tlsCa", "httpTlsClientCa", "credentials", "auditLog"] as const;
/** Settings with lists of such paths. */
const PATH_LISTS = ["httpTlsCert", "httpTlsKey"] as const;

function checkNames(file: Record<string, unknown>, path: string, settings: Settings): void {
  for (const key of Object.keys(file).filter((key) => key !== "services")) {
    const wrong = (what: string) => new ConfigError(`the configuration file ${path} ${what}`);
    if (!Object.hasOwn(settings, key)) throw wrong(`has an unknown setting "${key}"`);
    if (key === "config") throw wrong('cannot name another one by "config"');
    if (settings[key]?.secret) throw wrong(`must not hold the secret "${key}": use its variable`);
  }
}

/**
 * Reads the services in a configuration file.
 * @param folder that the paths in the file are relative to
 * @throws {ConfigError}
 */
export function externalServices(value: unknown, folder: string): ExternalService[] {
  try {
    return parseExternalServices(value, folder);
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
}
