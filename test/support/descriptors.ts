/** Descriptors of .proto files for tests, as `buf build` writes them. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

/**
 * Stored from run to run: fifty test files need the same few descriptors, and `buf` takes longer
 * than most of their tests.
 */
const CACHE = ".tap/descriptors";

/**
 * Returns the FileDescriptorSet of a folder's .proto files, with everything that they import.
 * @param path the only file to build; default all files of the folder
 */
export function buildDescriptors(folder: string, path?: string): Buffer {
  const only = path === undefined ? [] : ["--path", path];
  return cachedOutput(hashOf(folder, path), ["build", folder, ...only, "--as-file-descriptor-set", "-o", "-"]);
}

/**
 * Returns the FileDescriptorSet of one file, which may also import files of `proto/`, such as
 * google/api/annotations.proto.
 */
export function buildAnnotated(folder: string, name: string): Buffer {
  // A relative path, because buf takes a comma in the checkout's path for the end of a folder.
  const from = relative(".", folder);
  const args = ["alpha", "protoc", "-I", from, "-I", "proto", "--include_imports", "--include_source_info"];
  return cachedOutput(`annotated-${hashOf(folder, name)}`, [
    ...args,
    "--descriptor_set_out=/dev/stdout",
    join(from, name),
  ]);
}

/** Returns the output of buf, from the cache if an earlier run has made it. */
function cachedOutput(name: string, args: readonly string[]): Buffer {
  const file = join(CACHE, name);
  if (existsSync(file)) return readFileSync(file);
  const descriptors = execFileSync("node_modules/.bin/buf", args);
  mkdirSync(CACHE, { recursive: true });
  // Renamed into place, so that other processes never read a partial file.
  writeFileSync(`${file}.${process.pid}`, descriptors);
  renameSync(`${file}.${process.pid}`, file);
  return descriptors;
}

function hashOf(folder: string, path: string | undefined): string {
  const sum = createHash("sha256").update(`${folder}\0${path}\0`).update(readFileSync("package-lock.json"));
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".proto"));
  for (const name of names.sort()) sum.update(`${name}\0`).update(readFileSync(join(folder, name)));
  return sum.digest("hex");
}
