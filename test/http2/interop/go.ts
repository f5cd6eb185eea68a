/** Programs of others, written in Go, for the suites from outside: installed by name where they are missing. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const FOLDER = join(tmpdir(), "portico-outside");

/** @returns where the program is; undefined, with a notice, where there is no Go */
export function goProgram(module: string, version: string): string | undefined {
  const path = join(FOLDER, module.replaceAll("/", "_"), version, basename(module));
  if (existsSync(path)) return path;
  if (spawnSync("go", ["version"]).status !== 0) {
    console.error(`${module} was not run: there is no Go here`);
    return undefined;
  }
  const folder = join(path, "..");
  mkdirSync(folder, { recursive: true });
  const { status, stderr } = spawnSync("go", ["install", `${module}@${version}`], {
    env: { ...process.env, GOBIN: folder },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`go install ${module}@${version} failed: ${stderr}`);
  return path;
}

export interface Ended {
  readonly status: number | null;
  readonly output: string;
}

/** Runs a program to its end, for two minutes at most. */
export function run(path: string, parameters: readonly string[], options: { cwd?: string } = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(path, parameters, { timeout: 120_000, ...options });
    let output = "";
    child.stdout.on("data", (text) => {
      output += text;
    });
    child.stderr.on("data", (text) => {
      output += text;
    });
    child.on("close", (status) => resolve({ status, output }));
  });
}
