/**
 * Packs the running installation of Portico into one file that npm installs. The package is not in
 * a registry, so a project has this file in its own folder.
 */
import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { promisify } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { CommandError } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { packageFolder } from "../terminal/package-folder.js";

/** The folder of the file in a project. */
export const VENDOR = "vendor";
/** The name that `npm pack` gives the file: `scope-name-1.0.0.tgz` for `@scope/name`. */
export const PACKED = `${packageJson.name.replace("@", "").replace("/", "-")}-${packageJson.version}.tgz`;
/** Maximum time of a run of npm, in milliseconds. It compresses 40 MB, some seconds of work. */
const PACK_MS = 120_000;

/**
 * Writes the file into a folder, which it makes.
 * @throws {CommandError} when npm cannot be run, or fails.
 */
export async function packInstallation(folder: string, { env, signal, stderr }: Io): Promise<void> {
  if (stderr.isTTY) stderr.write(`Packing Portico into ${VENDOR}/, some seconds …\n`);
  mkdirSync(folder, { recursive: true });
  // An installed package lacks the scripts, and has what they would build.
  const args = ["pack", packageFolder(), "--ignore-scripts", "--offline", `--pack-destination=${folder}`];
  try {
    await promisify(execFile)("npm", args, { cwd: folder, env, signal, timeout: PACK_MS });
  } catch (error) {
    const { code, stderr = "" } = error as { code?: unknown; stderr?: string };
    if (code === "ENOENT") throw new CommandError("There is no npm in PATH, and a service in TypeScript needs it");
    const errors = stderr.split("\n").filter((line) => line.startsWith("npm error"));
    throw new CommandError(["npm cannot pack this installation of Portico", ...errors.slice(0, 5)].join("\n"));
  }
}
