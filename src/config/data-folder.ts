/** Where the data are if no setting names a folder. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { ConfigError } from "./setting.js";

/** The data folder that no setting names. A container without users has no home folder for it. */
export function usualFolder(env: NodeJS.ProcessEnv): string {
  let home = env.HOME ?? "";
  try {
    if (!env.XDG_DATA_HOME) home ||= homedir();
  } catch {
    throw new ConfigError("There is no home folder for the data: set PORTICO_DATA");
  }
  return resolve(env.XDG_DATA_HOME || join(home, ".local", "share"), "portico");
}
