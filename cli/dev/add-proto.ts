/**
 * `portico add proto`: brings the definition of another service into a project, from a running
 * Portico.
 */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { CommandConnection } from "../command/connection.js";
import { CommandError } from "../terminal/exit.js";
import { CALLED, wellKnownFile } from "./called-services.js";

/**
 * @param dir the folder of the project
 * @throws {CommandError}
 */
export async function addProto(service: string, dir: string, { io, client }: CommandConnection): Promise<void> {
  const folder = resolve(dir);
  if (!existsSync(join(folder, "proto"))) throw new CommandError(`${folder} is no project: it has no folder proto`);
  const name = service.toLowerCase();
  const files = complete(name, await client.contractOf(name));
  const written = write(join(folder, CALLED), `${name}.binpb`, files);
  io.stdout.write(`${written}\n${usageOf(name, files)}`);
}

/**
 * Adds the files of google/protobuf/ that are missing. In the result, an import precedes the file
 * that imports it.
 * @throws {CommandError} for any other import that is missing.
 */
function complete(service: string, files: readonly Uint8Array[]): FileDescriptorProto[] {
  const byName = new Map(
    files.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes)).map((file) => [file.name, file]),
  );
  const ordered = new Set<FileDescriptorProto>();
  const add = (name: string, importer: string | undefined): void => {
    const file = byName.get(name) ?? wellKnownFile(name);
    if (file === undefined) {
      const what = `${importer} imports ${name}, which the contract of ${service} does not have`;
      throw new CommandError(`${what}. Nothing was written`);
    }
    if (ordered.has(file)) return;
    for (const imported of file.dependency) add(imported, name);
    ordered.add(file);
  };
  for (const name of byName.keys()) add(name, undefined);
  return [...ordered];
}

/** Writes the whole file or nothing. */
function write(folder: string, name: string, file: FileDescriptorProto[]): string {
  const path = join(folder, name);
  const draft = `${path}.${process.pid}.new`;
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(draft, toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file })));
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
  return relative(process.cwd(), path);
}

/** How the code of a handler calls it. */
function usageOf(service: string, files: readonly FileDescriptorProto[]): string {
  const declared = files.flatMap((file) => file.service.map(({ name }) => ({ name, path: file.name })));
  const lines = declared.flatMap(({ name, path }) => [
    `  import { ${name}Service } from "./gen/${path.replace(/\.proto$/, ".js")}";`,
    `  call.client(${name}Service, "${service}")`,
  ]);
  return `\nIn a handler:\n\n${lines.join("\n")}\n`;
}
