/** The configuration file as JSON. The settings that it may hold are in config.ts. */
import { existsSync, readFileSync } from "node:fs";
import { ConfigError } from "./setting.js";
import { isObject } from "./setting-values.js";

/**
 * @param path of the file
 * @param named whether a setting names it; otherwise it need not exist
 * @returns an empty object if the file need not exist, and does not
 * @throws {ConfigError} if it cannot be read, or does not hold an object
 */
export function readObject(path: string, named: boolean): Record<string, unknown> {
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
  return parsed;
}
