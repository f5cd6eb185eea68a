/**
 * The descriptors of Portico's own .proto files. Each file is read once in a process, although the sets of several services
 * have it, and the server, the registry and the gateway of one process each read the set of each service.
 */
import { createFileRegistry, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { type File, files } from "../gen/descriptors.js";

const byName = new Map(files.map((file) => [file.name, file]));
const byBytes = new Map(files.map((file) => [file.bytes, file]));
const sets = new Map<string, Buffer>();
const registries = new Map<File, FileRegistry>();

/**
 * A serialized google.protobuf.FileDescriptorSet of proto packages, `helloworld`, with comments and all imports: the same
 * object each time. Of all packages where none is named.
 */
export function descriptorsOf(...packages: readonly string[]): Buffer {
  const key = packages.join(" ");
  let set = sets.get(key);
  if (set === undefined) {
    const wanted = files.filter((file) => packages.length === 0 || packages.includes(file.package));
    const writer = new BinaryWriter();
    for (const { bytes } of withImports(wanted)) {
      writer.tag(1, WireType.LengthDelimited).bytes(Buffer.from(bytes, "base64"));
    }
    const { buffer, byteOffset, length } = writer.finish();
    set = Buffer.from(buffer, byteOffset, length);
    sets.set(key, set);
  }
  return set;
}

/** Whether `descriptorsOf` gave it. */
export function isOwnSet(set: Uint8Array): boolean {
  return [...sets.values()].some((known) => known === set);
}

/**
 * What a serialized google.protobuf.FileDescriptorSet describes; undefined where it has another file than Portico's own.
 * @throws {Error} when it is malformed
 */
export function ownRegistryOf(set: Uint8Array): FileRegistry | undefined {
  const found: FileRegistry[] = [];
  for (const bytes of filesOf(set)) {
    const file = byBytes.get(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64"));
    if (file === undefined) return undefined;
    found.push(registryOf(file));
  }
  return createFileRegistry(...found);
}

/** The bytes of each file (field 1) in a serialized google.protobuf.FileDescriptorSet. */
export function* filesOf(set: Uint8Array): Generator<Uint8Array> {
  const reader = new BinaryReader(set);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === WireType.LengthDelimited) yield reader.bytes();
    else reader.skip(wireType, field);
  }
}

/** A file and all that it imports. */
function registryOf(file: File): FileRegistry {
  let registry = registries.get(file);
  if (registry === undefined) {
    const proto = fromBinary(FileDescriptorProtoSchema, Buffer.from(file.bytes, "base64"));
    registry = createFileRegistry(proto, (name) => registryOf(byName.get(name) as File).getFile(name));
    registries.set(file, registry);
  }
  return registry;
}

/** The files and all that they import, each after those that it imports. */
function withImports(wanted: readonly File[]): File[] {
  const found = new Set<File>();
  const visit = (file: File): void => {
    if (found.has(file)) return;
    found.add(file);
    for (const name of file.imports) visit(byName.get(name) as File);
  };
  for (const file of wanted) visit(file);
  return files.filter((file) => found.has(file));
}
