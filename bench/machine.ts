/** The machine and the versions of a run. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { ENVOY_VERSION } from "./envoy.js";
import { isInstalled } from "./processes.js";
import type { Results } from "./results.js";

/** @param loadBefore the load average of the minute before the run */
export function machine(loadBefore: number): Results["machine"] {
  const version = (command: string, ...args: string[]) =>
    isInstalled(command) ? execFileSync(command, args, { encoding: "utf8" }).trim() : undefined;
  const modules = (name: string): string =>
    JSON.parse(readFileSync(join(import.meta.dirname, "node_modules", name, "package.json"), "utf8")).version;
  return {
    date: new Date().toISOString().slice(0, 16),
    commit: execFileSync("git", ["describe", "--always", "--dirty"], { encoding: "utf8" }).trim(),
    cores: cpus().length,
    model: cpus()[0]!.model,
    memory: Math.round(totalmem() / 1024 ** 3),
    kernel: release(),
    loadBefore,
    versions: {
      node: process.version.slice(1),
      go: version("go", "env", "GOVERSION")?.slice(2),
      rust: version("rustc", "--version")?.split(" ")[1],
      envoy: ENVOY_VERSION,
      ...Object.fromEntries(
        ["@grpc/grpc-js", "fastify", "moleculer", "moleculer-web", "@connectrpc/connect"].map((name) => [
          name,
          modules(name),
        ]),
      ),
    },
  };
}
