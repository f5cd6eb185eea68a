/** A service created by `portico new`, and `portico dev` that runs it, as a user sees them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Test } from "tap";
import { filesOf } from "../../../cli/new/files.js";
import { type Printed, printedBy } from "../../support/printed.js";

const PROGRAM = resolve("dist/portico.js");
/** The packages that `npm install` would install, and the packages next to them that they need. */
const PACKAGES = ["@bufbuild", "@types", "esbuild", "ts-proto", "typescript", "undici-types", ".bin"];

/** What the handler of a new service returns. */
export const GREETING = /return .*;/.exec(filesOf("greeter").get("greeter.ts") ?? "")?.[0] ?? "";

/**
 * Creates the service `greeter` in a folder, with the files of `portico new`, which would also pack
 * this checkout. Returns its folder.
 */
export function newProject(folder: string): string {
  const project = join(folder, "greeter");
  for (const [file, text] of filesOf("greeter")) {
    mkdirSync(dirname(join(project, file)), { recursive: true });
    writeFileSync(join(project, file), text);
  }
  install(project);
  return project;
}

/**
 * Replaces `npm install` without a network: links the packages of this checkout, and the checkout
 * itself.
 */
export function install(project: string): void {
  const modules = join(project, "node_modules");
  mkdirSync(modules);
  for (const name of PACKAGES) symlinkSync(resolve("node_modules", name), join(modules, name));
  symlinkSync(resolve("."), join(modules, "portico"));
  writeFileSync(join(project, "package-lock.json"), "{}\n"); // npm writes this file last.
}

/** Replaces the project's TypeScript compiler with a program. */
export function replaceCompiler(project: string, program: string): void {
  const compiler = join(project, "node_modules", "typescript");
  rmSync(compiler);
  mkdirSync(join(compiler, "bin"), { recursive: true });
  writeFileSync(join(compiler, "package.json"), "{}");
  writeFileSync(join(compiler, "bin", "tsc"), program);
}

/**
 * Replaces the project's compiler with one that finds no errors. The real one takes several seconds
 * of processor time, which only tests of type errors need.
 */
export function skipTypes(project: string): void {
  replaceCompiler(project, 'console.log("Found 0 errors. Watching for file changes."); setInterval(() => {}, 60_000);');
}

/** Replaces text in a file of a project, once. */
export function edit(file: string, before: string, after: string): void {
  const text = readFileSync(file, "utf8");
  if (!text.includes(before)) throw new Error(`${file} has no ${JSON.stringify(before)}`);
  writeFileSync(
    file,
    text.replace(before, () => after),
  );
}

/** A running `portico dev`. */
export interface Dev extends Printed {
  /** Address of the gateway. */
  readonly http: string;
  readonly child: ChildProcess;
}

/**
 * Runs `portico dev` in a folder until the test ends. Its output is what a user sees in a terminal.
 */
export async function startDev(t: Test, folder: string, env: Record<string, string> = {}): Promise<Dev> {
  const ports = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };
  const child = spawn(process.execPath, [PROGRAM, "dev"], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, PORTICO_DRAIN_NOTICE: "0s", ...ports, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  const printed = printedBy(child, "portico dev");
  const [, http = ""] = await printed.prints(/HTTP +(\S+)/);
  return { ...printed, http, child };
}
