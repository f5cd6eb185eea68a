/**
 * The tools that build a service: buf, ts-proto, esbuild and TypeScript. They are devDependencies of the service's own
 * project, which so has them in the versions that it names, and a server on which nothing is built carries none of them.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { arch, platform } from "node:process";
import { CommandError } from "../terminal/exit.js";

/** Where the tools of a project are. */
export interface Tools {
  /** The program buf. */
  readonly buf: string;
  /** The module of ts-proto that protoc and buf run as a plugin. */
  readonly tsProto: string;
  readonly esbuild: typeof import("esbuild");
  /** The module of TypeScript's compiler. */
  readonly tsc: string;
}

/**
 * Finds the tools from the folder of a service.
 * @throws {CommandError} naming what is not installed.
 */
export function findTools(folder: string): Tools {
  const fromProject = createRequire(join(folder, "package.json"));
  const missing: string[] = [];
  const find = <T>(name: string, find: () => T): T | undefined => {
    try {
      return find();
    } catch {
      missing.push(name);
      return undefined;
    }
  };
  const folderOf = (name: string) => dirname(fromProject.resolve(`${name}/package.json`));
  const buf = find("@bufbuild/buf", () => bufIn(folderOf("@bufbuild/buf")));
  const tsProto = find("ts-proto", () => fromProject.resolve("ts-proto"));
  const esbuild = find("esbuild", () => fromProject("esbuild") as typeof import("esbuild"));
  const tsc = find("typescript", () => join(folderOf("typescript"), "bin/tsc"));
  find("portico", () => fromProject.resolve("portico/service"));
  if (buf === undefined || tsProto === undefined || esbuild === undefined || tsc === undefined || missing.length > 0) {
    throw new CommandError(`${missing.join(", ")} not installed in ${folder}. There, run: npm install`);
  }
  return { buf, tsProto, esbuild, tsc };
}

/** The program of this machine, without the script that looks for it. */
function bufIn(folder: string): string {
  const system = `${platform}-${platform === "linux" && arch === "arm64" ? "aarch64" : arch}`;
  const program = `@bufbuild/buf-${system}/bin/buf${platform === "win32" ? ".exe" : ""}`;
  return createRequire(join(folder, "package.json")).resolve(program);
}
