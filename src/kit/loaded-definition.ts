/**
 * The contract of definitions that @grpc/proto-loader has loaded. Each message type carries the
 * files of its `.proto` as protobufjs writes them (protobufjs/ext/descriptor). They differ from
 * protoc's output: type names are relative, and imports and JSON names are missing. This file
 * completes them. They contain no comments.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import type { Part } from "./call.js";

/** What @grpc/proto-loader adds to a method. */
interface LoadedMethod {
  readonly requestType?: { readonly fileDescriptorProtos?: readonly Uint8Array[] };
}

/**
 * The google.protobuf.FileDescriptorSet of definitions that @grpc/proto-loader has loaded.
 * @throws {TypeError} for a definition of generated code, which carries no descriptors
 */
export function descriptorsOf(parts: readonly Part[]): Uint8Array {
  const files = new Map<string, FileDescriptorProto>();
  for (const { definition } of parts) {
    const [method] = Object.values(definition) as (object & LoadedMethod)[];
    const bytes = method?.requestType?.fileDescriptorProtos;
    if (bytes === undefined) {
      throw new TypeError(
        "descriptors: must be given where the definition is generated code: a FileDescriptorSet, as " +
          "`buf build proto --as-file-descriptor-set -o greeter.binpb` makes it",
      );
    }
    for (const file of bytes.map((each) => fromBinary(FileDescriptorProtoSchema, each))) files.set(file.name, file);
  }
  const types = new Types(files.values());
  for (const file of files.values()) completeFile(file, types);
  const ordered = importsFirst(files);
  return toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: ordered }));
}

/** The full name. A file may have no package. */
function inScope(scope: string, name: string): string {
  return scope === "" ? name : `${scope}.${name}`;
}

/** Where a type is declared. */
interface Declared {
  readonly file: string;
  readonly isMapEntry: boolean;
}

/** All types of the files, by full name. */
class Types {
  readonly #declared = new Map<string, Declared>();

  constructor(files: Iterable<FileDescriptorProto>) {
    for (const { name: file, package: scope, messageType, enumType } of files) {
      for (const { name } of enumType) this.#declared.set(inScope(scope, name), { file, isMapEntry: false });
      for (const message of messageType) this.#add(message, scope, file);
    }
  }

  #add(message: DescriptorProto, outer: string, file: string): void {
    const scope = inScope(outer, message.name);
    this.#declared.set(scope, { file, isMapEntry: message.options?.mapEntry === true });
    for (const { name } of message.enumType) this.#declared.set(inScope(scope, name), { file, isMapEntry: false });
    for (const nested of message.nestedType) this.#add(nested, scope, file);
  }

  /**
   * The file of a type.
   * @param name the full name, without a leading dot
   */
  fileOf(name: string): string {
    const declared = this.#declared.get(name);
    if (declared === undefined) throw new TypeError(`the type ${name} is not defined`);
    return declared.file;
  }

  /**
   * The full name and the file of a field's type: the innermost type of that name around the field.
   */
  resolve(field: FieldDescriptorProto, scope: string): { readonly name: string; readonly file: string } {
    const entry = field.label === FieldDescriptorProto_Label.REPEATED ? `${scope}.${field.typeName}` : "";
    for (let outer = scope; ; outer = outer.slice(0, Math.max(0, outer.lastIndexOf(".")))) {
      const name = inScope(outer, field.typeName);
      const declared = this.#declared.get(name);
      // The type of a map's entries is named after its field, and other types may have the same
      // name.
      if (declared !== undefined && (!declared.isMapEntry || name === entry)) return { name, file: declared.file };
      if (outer === "") throw new TypeError(`${scope}.${field.name}: the type ${field.typeName} is not defined`);
    }
  }
}

function completeFile(file: FileDescriptorProto, types: Types): void {
  const imports = new Set<string>();
  for (const message of file.messageType) completeMessage(message, file.package, types, imports);
  for (const { method } of file.service) {
    for (const { inputType, outputType } of method) {
      for (const typeName of [inputType, outputType]) imports.add(types.fileOf(typeName.slice(1)));
    }
  }
  imports.delete(file.name);
  file.dependency = [...imports];
}

function completeMessage(message: DescriptorProto, outer: string, types: Types, imports: Set<string>): void {
  const scope = inScope(outer, message.name);
  for (const field of message.field) {
    if (field.typeName !== "" && !field.typeName.startsWith(".")) {
      const { name, file } = types.resolve(field, scope);
      field.typeName = `.${name}`;
      imports.add(file);
    }
    field.jsonName ||= jsonNameOf(field.name);
    // protoc puts each `optional` field into its own oneof.
    const isOptional = message.oneofDecl[field.oneofIndex]?.name === `_${field.name}`;
    if (Object.hasOwn(field, "oneofIndex") && isOptional) field.proto3Optional = true;
  }
  for (const nested of message.nestedType) completeMessage(nested, scope, types, imports);
}

/** `firstName` for `first_name`, as protoc writes it. */
function jsonNameOf(name: string): string {
  return name.replace(/_+(.?)/g, (_, letter: string) => letter.toUpperCase());
}

/** Orders the files so that each comes after the files that it imports. */
function importsFirst(files: ReadonlyMap<string, FileDescriptorProto>): FileDescriptorProto[] {
  const ordered = new Set<FileDescriptorProto>();
  const met = new Set<string>();
  const add = (name: string): void => {
    const file = files.get(name);
    if (file === undefined || met.has(name)) return;
    met.add(name);
    for (const dependency of file.dependency) add(dependency);
    ordered.add(file);
  };
  for (const name of files.keys()) add(name);
  return [...ordered];
}
