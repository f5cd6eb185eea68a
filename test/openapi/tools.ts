/** Programs from outside, each in the version that was tried, installed once a machine and by no package of ours. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The folder of programs of a Python package; undefined, with a notice, where there is no Python. */
export function pythonPrograms(requirement: string): string | undefined {
  const folder = folderOf(requirement);
  const programs = join(folder, "bin");
  if (existsSync(join(folder, "complete"))) return programs;
  if (spawnSync("python3", ["-m", "venv", folder]).status !== 0) {
    console.error(`${requirement} was not run: there is no python3 with venv here`);
    return undefined;
  }
  install(folder, join(programs, "python"), ["-m", "pip", "install", "--quiet", requirement]);
  return programs;
}

/** A folder with npm packages in its node_modules. */
export function npmPackages(...requirements: readonly string[]): string {
  const folder = folderOf(requirements.join("_"));
  if (existsSync(join(folder, "complete"))) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private":true,"type":"module"}');
  install(folder, "npm", ["install", "--no-fund", "--no-audit", "--loglevel=error", ...requirements]);
  return folder;
}

/** One that was broken off is begun again. */
function install(folder: string, program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${stderr}`);
  writeFileSync(join(folder, "complete"), "");
}

function folderOf(name: string): string {
  return join(tmpdir(), "portico-outside", name.replaceAll("/", "-"));
}
