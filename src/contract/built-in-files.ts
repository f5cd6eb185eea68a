/** The descriptors of Portico's own .proto files. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type File, files } from "../gen/descriptors.js";

const byName = new Map(files.map((file) => [file.name, file]));
const sets = new Map<string, Buffer>();

/**
 * A serialized google.protobuf.FileDescriptorSet of proto packages, such as `helloworld`, with
 * comments and all imports; without arguments, of all packages. The same arguments return the same
 * object.
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

/** Whether `descriptorsOf` made the set. */
export function isBuiltInSet(set: Uint8Array): boolean {
  return [...sets.values()].some((known) => known === set);
}

/** The files and all files that they import. Each file comes after its imports. */
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
