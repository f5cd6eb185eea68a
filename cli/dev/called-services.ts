/** The definitions of other services that a service calls. `portico add proto` writes them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { clearField, clone, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as wkt from "@bufbuild/protobuf/wkt";
import type { SourceProblem } from "./problem.js";

/** The folder of the definitions in a project, each a google.protobuf.FileDescriptorSet. */
export const CALLED = "clients";

const { FileDescriptorProtoSchema, FileDescriptorSetSchema } = wkt;
type File = wkt.FileDescriptorProto;

/**
 * The files of all definitions that the project itself does not have, each once.
 * @param own files of the project, with imports
 */
export function calledServices(
  own: readonly File[],
  folder: string,
): { readonly files: File[] } | { readonly problems: readonly SourceProblem[] } {
  const called = join(folder, CALLED);
  const names = existsSync(called) ? readdirSync(called).filter((name) => name.endsWith(".binpb")) : [];
  const found = new Map(own.map((file) => [file.name, { file, from: "proto/" }]));
  const problems: SourceProblem[] = [];
  for (const name of names.sort()) {
    const from = join(CALLED, name);
    for (const file of read(join(called, name))) {
      const known = found.get(file.name);
      if (known === undefined) found.set(file.name, { file, from });
      else if (!isSame(known.file, file))
        problems.push({ message: `${file.name} differs in ${known.from} and ${from}` });
    }
  }
  const files = [...found.values()].flatMap(({ file, from }) => (from === "proto/" ? [] : [file]));
  return problems.length > 0 ? { problems } : { files };
}

function read(path: string): File[] {
  try {
    return fromBinary(FileDescriptorSetSchema, readFileSync(path)).file;
  } catch (error) {
    throw new Error(`${path} is no definition that portico add proto has written: ${(error as Error).message}`);
  }
}

/** Whether two files declare the same. Comments may differ, and files of google/protobuf/ do. */
function isSame(one: File, other: File): boolean {
  return one.name.startsWith("google/protobuf/") || Buffer.compare(declarationsOf(one), declarationsOf(other)) === 0;
}

function declarationsOf(file: File): Uint8Array {
  const copy = clone(FileDescriptorProtoSchema, file);
  clearField(copy, FileDescriptorProtoSchema.field.sourceCodeInfo);
  return toBinary(FileDescriptorProtoSchema, copy);
}

/** A file of google/protobuf/, which many servers do not send. */
export function wellKnownFile(name: string): File | undefined {
  const all = Object.values(wkt).flatMap((exported) =>
    typeof exported === "object" && "kind" in exported && exported.kind === "file" ? [exported.proto] : [],
  );
  return all.find((file) => file.name === name);
}
