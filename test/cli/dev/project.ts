/** A service that `portico new` has made, and `portico dev` running it, as a person sees it. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Test } from "tap";

const PROGRAM = resolve("dist/portico.js");
/** What `npm install` would install, and what of it is found beside it. */
const PACKAGES = ["@bufbuild", "@types", "esbuild", "ts-proto", "typescript", "undici-types", ".bin"];

/** Makes the service `greeter` in a folder; gives its folder. */
export function newProject(folder: string): string {
  execFileSync(process.execPath, [PROGRAM, "new", "greeter"], { cwd: folder });
  const project = join(folder, "greeter");
  install(project);
  return project;
}

/** Does what `npm install` does, without a network: links the packages of this checkout, and the checkout itself. */
export function install(project: string): void {
  const modules = join(project, "node_modules");
  mkdirSync(modules);
  for (const name of PACKAGES) symlinkSync(resolve("node_modules", name), join(modules, name));
  symlinkSync(resolve("."), join(modules, "portico"));
  writeFileSync(join(project, "package-lock.json"), "{}\n"); // npm writes it last.
}

/** Puts a program in the place of the project's TypeScript compiler. */
export function replaceCompiler(project: string, program: string): void {
  const compiler = join(project, "node_modules", "typescript");
  rmSync(compiler);
  mkdirSync(join(compiler, "bin"), { recursive: true });
  writeFileSync(join(compiler, "package.json"), "{}");
  writeFileSync(join(compiler, "bin", "tsc"), program);
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

/** How long something may take to be printed, in milliseconds: the type checker has a low priority, and waits for all others. */
const PRINT_MS = 150_000;

/** `portico dev` that runs. */
export interface Dev {
  /** Address of the door. */
  readonly http: string;
  /** Resolves with what it prints next that fits, after all that was awaited before. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** All that it has printed. */
  readonly output: () => string;
  readonly child: ChildProcess;
}

/** Runs `portico dev` in a folder, until the test ends. A person would see what it prints in a terminal. */
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
  let output = "";
  let read = 0;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const ended = once(child, "close").then(() => {
    throw new Error(`portico dev ended:\n${output}`);
  });
  ended.catch(() => {});
  const prints = async (pattern: RegExp): Promise<RegExpExecArray> => {
    const signal = AbortSignal.timeout(PRINT_MS);
    for (;;) {
      const match = pattern.exec(output.slice(read));
      if (match !== null) {
        read += match.index + match[0].length;
        return match;
      }
      if (signal.aborted) throw new Error(`portico dev did not print ${pattern} but:\n${output.slice(read)}`);
      const news = [child.stdout, child.stderr].map((stream) => once(stream, "data", { signal }).catch(() => {}));
      await Promise.race([...news, ended]);
    }
  };
  const [, http = ""] = await prints(/HTTP +(\S+)/);
  return { http, prints, output: () => output, child };
}
