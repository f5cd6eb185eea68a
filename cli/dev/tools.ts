/**
 * The tools that build a service: buf, ts-proto, esbuild and TypeScript. They are devDependencies
 * of the service's own project. So the project chooses their versions, and a server on which
 * nothing is built does not have them.
 */
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { arch, platform } from "node:process";
import { CommandError } from "../terminal/exit.js";

/** Where the tools of a project are. */
export interface Tools {
  /** The path of the program buf. */
  readonly buf: string;
  /** The path of the ts-proto module that protoc and buf run as a plugin. */
  readonly tsProto: string;
  readonly esbuild: typeof import("esbuild");
  /** The path of the TypeScript compiler's module. */
  readonly tsc: string;
}

/**
 * Finds the tools, starting from the folder of a service.
 * @throws {CommandError} with the names of the packages that are not installed.
 */
export function findTools(folder: string): Tools {
  const packages = ["@bufbuild/buf", "ts-proto", "esbuild", "typescript", "portico"] as const;
  const folders = packages.map((name) => packageFolder(name, folder));
  const missing = packages.filter((_, index) => folders[index] === undefined);
  const [buf, tsProto, esbuild, typescript] = folders;
  if (!buf || !tsProto || !esbuild || !typescript || missing.length > 0) {
    throw new CommandError(`${missing.join(", ")} not installed in ${folder}. There, run: npm install`);
  }
  return {
    buf: bufProgram(buf),
    tsProto: join(tsProto, "build/src/plugin.js"),
    esbuild: createRequire(join(esbuild, "package.json"))(esbuild) as typeof import("esbuild"),
    tsc: join(typescript, "bin/tsc"),
  };
}

/**
 * The folder of a package for modules in `from`. Node's own resolution is not used, because it
 * would cache for the whole run that a package is missing.
 */
function packageFolder(name: string, from: string): string | undefined {
  const folder = join(from, "node_modules", name);
  if (existsSync(join(folder, "package.json"))) return realpathSync(folder);
  return from === dirname(from) ? undefined : packageFolder(name, dirname(from));
}

/** buf's program for this platform, without the script that searches it. */
function bufProgram(buf: string): string {
  const system = `@bufbuild/buf-${platform}-${platform === "linux" && arch === "arm64" ? "aarch64" : arch}`;
  const folder = packageFolder(system, buf);
  if (folder === undefined) throw new CommandError(`${system} is not installed. Run: npm install --include=optional`);
  return join(folder, platform === "win32" ? "bin/buf.exe" : "bin/buf");
}
