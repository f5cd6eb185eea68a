/**
 * The descriptors of a service, stored as bytes until their types are needed. Files with equal
 * content, such as google/protobuf/timestamp.proto, are stored and parsed once in a process,
 * however many services have them.
 *
 * The gRPC services and methods, which every catalog needs, are read without parsing messages and
 * fields: these take ten times the memory of their bytes.
 */
import { createHash } from "node:crypto";
import { createFileRegistry, createRegistry, type DescFile, fromBinary, type Registry } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  FileDescriptorProtoSchema,
  type ServiceDescriptorProto,
  ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { setSourceInfo } from "./comments.js";
import { elementsOf } from "./descriptor-size.js";

/** The files of a service. */
export class DescriptorSet {
  readonly #files: readonly DescriptorFile[];
  #types: Registry | undefined;

  /**
   * Reads a serialized google.protobuf.FileDescriptorSet, in which each file comes after its
   * imports. The bytes are copied.
   * @throws {Error} if the bytes are not a FileDescriptorSet, or an import is missing
   */
  constructor(bytes: Uint8Array) {
    const found = new Map<string, DescriptorFile>();
    for (const file of filesOf(bytes)) {
      const read = fileOf(file, found);
      found.set(read.name, read);
    }
    this.#files = [...found.values()];
  }

  /**
   * A serialized google.protobuf.FileDescriptorProto for each file. Each comes after its imports.
   */
  get fileBytes(): readonly Buffer[] {
    return this.#files.map(({ bytes }) => bytes);
  }

  /** The set, serialized into new memory. */
  get bytes(): Buffer {
    const writer = new BinaryWriter();
    for (const bytes of this.fileBytes) writer.tag(1, WireType.LengthDelimited).bytes(bytes);
    return Buffer.from(writer.finish());
  }

  /** All types, parsed at the first use. @throws {Error} if a file is inconsistent */
  get types(): Registry {
    this.#types ??= createRegistry(...this.#files.map((file) => file.parsed));
    return this.#types;
  }

  /** The declaration of a gRPC service, by its full name. @throws {Error} if it is malformed */
  declarationOf(grpcService: string): ServiceDescriptorProto | undefined {
    const dot = grpcService.lastIndexOf(".");
    const [scope, name] = [grpcService.slice(0, Math.max(dot, 0)), grpcService.slice(dot + 1)];
    for (const file of this.#files) {
      if (file.scope !== scope) continue;
      for (const bytes of file.services) {
        if (nameOf(bytes) === name) return fromBinary(ServiceDescriptorProtoSchema, bytes);
      }
    }
    return undefined;
  }

  /** Parses all types, one file in each step. @throws {Error} if a file is inconsistent */
  *parse(): Generator<undefined, void, undefined> {
    for (const file of this.#files) {
      if (file.isParsed) continue;
      void file.parsed;
      yield;
    }
    void this.types;
  }

  /** The number of elements, as in `sizeOf`, in files whose types have not been parsed. */
  get unparsedElements(): number {
    return this.#files.reduce((sum, file) => sum + (file.isParsed ? 0 : file.elements), 0);
  }

  /**
   * The files. Each comes after its imports. Sets with files of equal content share the same
   * object.
   */
  get files(): readonly SharedFile[] {
    return this.#files;
  }
}

/** A file that may be in several sets. */
export interface SharedFile {
  /** A serialized google.protobuf.FileDescriptorProto. */
  readonly bytes: Buffer;
  readonly name: string;
  /** Number of its elements, as in `sizeOf`. */
  readonly elements: number;
  /** Names of the files that it imports. */
  readonly imports: Iterable<string>;
  /** Full names of the gRPC services that it declares. */
  readonly grpcServices: ReadonlySet<string>;
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

/** A file with all its imports, shared by the sets that contain it. */
class DescriptorFile implements SharedFile {
  readonly key: string;
  readonly bytes: Buffer;
  readonly name: string;
  /** The package. */
  readonly scope: string;
  /** The google.protobuf.ServiceDescriptorProto of each gRPC service. */
  readonly services: readonly Uint8Array[];
  readonly #imports: ReadonlyMap<string, DescriptorFile>;
  #parsed: DescFile | undefined;
  #elements: number | undefined;

  constructor(
    key: string,
    bytes: Buffer,
    { name, scope, services }: FileHead,
    imports: ReadonlyMap<string, DescriptorFile>,
  ) {
    this.key = key;
    this.bytes = bytes;
    this.name = name;
    this.scope = scope;
    this.services = services;
    this.#imports = imports;
  }

  get isParsed(): boolean {
    return this.#parsed !== undefined;
  }

  get imports(): Iterable<string> {
    return this.#imports.keys();
  }

  get elements(): number {
    this.#elements ??= elementsOf(this.bytes);
    return this.#elements;
  }

  get grpcServices(): ReadonlySet<string> {
    const start = this.scope === "" ? "" : `${this.scope}.`;
    return new Set(this.services.map((declaration) => start + nameOf(declaration)));
  }

  get parsed(): DescFile {
    this.#parsed ??= this.#parse();
    return this.#parsed;
  }

  #parse(): DescFile {
    const { rest, sourceInfo } = withoutSourceInfo(this.bytes);
    const proto = fromBinary(FileDescriptorProtoSchema, rest);
    const parsed = createFileRegistry(proto, (name) => this.#imports.get(name)?.parsed).getFile(this.name) as DescFile;
    if (sourceInfo !== undefined) setSourceInfo(parsed, sourceInfo);
    return parsed;
  }
}

/** The files of all sets in use, by content. */
const files = new Map<string, WeakRef<DescriptorFile>>();
const forgotten = new FinalizationRegistry<string>((key) => {
  if (files.get(key)?.deref() === undefined) files.delete(key);
});

/**
 * Makes the file of these bytes, or returns the one that another set already has.
 * @param before the files before it in its set, by name
 * @throws {Error} if the bytes are not a file, or an import is missing
 */
function fileOf(bytes: Uint8Array, before: ReadonlyMap<string, DescriptorFile>): DescriptorFile {
  const head = headOf(bytes);
  const imports = new Map<string, DescriptorFile>();
  const hash = createHash("sha256").update(bytes);
  for (const name of head.imports) {
    const file = before.get(name);
    if (file === undefined) throw new Error(`Cannot find ${name}, imported by ${head.name}`);
    imports.set(name, file);
    hash.update(file.key);
  }
  const key = hash.digest("base64");
  const known = files.get(key)?.deref();
  if (known !== undefined) return known;
  const own = Buffer.from(bytes);
  const file = new DescriptorFile(key, own, headOf(own), imports);
  files.set(key, new WeakRef(file));
  forgotten.register(file, key);
  return file;
}

/** The parts of a google.protobuf.FileDescriptorProto that are read without parsing its types. */
export interface FileHead {
  readonly name: string;
  /** Its package; empty for none. */
  readonly scope: string;
  /** Names of the files that it imports. */
  readonly imports: readonly string[];
  /** Each a serialized google.protobuf.ServiceDescriptorProto. */
  readonly services: readonly Uint8Array[];
}

/** Field numbers in google.protobuf.FileDescriptorProto. */
const NAME = 1;
const PACKAGE = 2;
const DEPENDENCY = 3;
const SERVICE = 6;
export const SOURCE_CODE_INFO = 9;

/**
 * @param bytes a serialized google.protobuf.FileDescriptorProto
 * @throws {Error} if they are malformed
 */
export function headOf(bytes: Uint8Array): FileHead {
  let [name, scope] = ["", ""];
  const imports: string[] = [];
  const services: Uint8Array[] = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (wireType !== WireType.LengthDelimited) reader.skip(wireType, field);
    else if (field === NAME) name = reader.string();
    else if (field === PACKAGE) scope = reader.string();
    else if (field === DEPENDENCY) imports.push(reader.string());
    else if (field === SERVICE) services.push(reader.bytes());
    else reader.skip(wireType, field);
  }
  return { name, scope, imports, services };
}

/**
 * The name (field 1) of a serialized google.protobuf.ServiceDescriptorProto. If it has several
 * names, the last one counts.
 */
export function nameOf(declaration: Uint8Array): string {
  const reader = new BinaryReader(declaration);
  let name = "";
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === NAME && wireType === WireType.LengthDelimited) name = reader.string();
    else reader.skip(wireType, field);
  }
  return name;
}

/**
 * A file's bytes without its comments, which take more than half of the time and memory of parsing.
 */
export function withoutSourceInfo(bytes: Uint8Array): {
  readonly rest: Uint8Array;
  readonly sourceInfo: Uint8Array | undefined;
} {
  const reader = new BinaryReader(bytes);
  const chunks: Uint8Array[] = [];
  let sourceInfo: Uint8Array | undefined;
  let start = 0;
  while (reader.pos < reader.len) {
    const { pos } = reader;
    const [field, wireType] = reader.tag();
    if (field !== SOURCE_CODE_INFO || wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, field);
      continue;
    }
    sourceInfo = reader.bytes();
    chunks.push(bytes.subarray(start, pos));
    start = reader.pos;
  }
  return { rest: sourceInfo === undefined ? bytes : Buffer.concat([...chunks, bytes.subarray(start)]), sourceInfo };
}
