/** Descriptors of .proto files for tests, as `buf build` gives them. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Kept from run to run: fifty test files want the same few, and `buf` takes longer than most of their tests. */
const CACHE = ".tap/descriptors";

/**
 * A FileDescriptorSet of a folder's .proto files with all they import.
 * @param path of the one file that is wanted; default all
 */
export function buildDescriptors(folder: string, path?: string): Buffer {
  const only = path === undefined ? [] : ["--path", path];
  return kept(hashOf(folder, path), ["build", folder, ...only, "--as-file-descriptor-set", "-o", "-"]);
}

/** The same for one file that also imports files of `proto/`, such as google/api/annotations.proto. */
export function buildAnnotated(folder: string, name: string): Buffer {
  const args = ["alpha", "protoc", "-I", folder, "-I", "proto", "--include_imports", "--include_source_info"];
  return kept(`annotated-${hashOf(folder, name)}`, [...args, "--descriptor_set_out=/dev/stdout", join(folder, name)]);
}

/** What buf writes to its output, from the cache where it was made before. */
function kept(name: string, args: readonly string[]): Buffer {
  const file = join(CACHE, name);
  if (existsSync(file)) return readFileSync(file);
  const descriptors = execFileSync("node_modules/.bin/buf", args);
  mkdirSync(CACHE, { recursive: true });
  // Whole or not at all: other processes read it.
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
