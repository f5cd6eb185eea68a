/**
 * A service's contract: its descriptors, checked, and the endpoints that they describe. Descriptors come from strangers'
 * tools and servers, so they are first put in order (imports before importers, JSON names filled in, well-known files
 * added), and whatever is ambiguous or exceeds the bounds is refused here, once, for everything that reads them later.
 */
import { create, fromBinary, type Registry, toBinary } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import * as wkt from "@bufbuild/protobuf/wkt";
import {
  type DescriptorProto,
  type FileDescriptorProto,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { asBuffer } from "../../src/buffer.js";
import { DescriptorSet } from "../../src/contract/descriptor-set.js";
import { type Endpoint, endpointsOf } from "../../src/contract/endpoint.js";
import { isReservedGrpcName } from "../../src/contract/names.js";
import { isOwnSet } from "../../src/contract/own-files.js";

/** In bytes; leaves room for the rest of an instance in a message of 4 MiB. */
export const MAX_DESCRIPTORS = 4 * 1024 ** 2 - 64 * 1024;
/** Most files of a contract. */
export const MAX_FILES = 1_000;
const MAX_ELEMENTS = 250_000;
const MAX_GRPC_SERVICES = 100;
const MAX_ENDPOINTS = 1_000;
const MAX_NAME = 255;

/** What every server has beside its own services (health, reflection); never anyone's endpoint. */
const INFRASTRUCTURE = /^grpc\.(?:health|reflection|channelz)\./;
const DOTTED_NAME = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/;

/** A service's contract, checked and put in order. */
export interface Contract {
  /** The descriptors and gRPC services as they were given, to know them again. */
  readonly given: { readonly descriptors: Buffer; readonly grpcServices: readonly string[] };
  /** google.protobuf.FileDescriptorSet with all imports, in order. */
  readonly descriptors: Buffer;
  /** Full names of the gRPC services, without infrastructure. */
  readonly grpcServices: readonly string[];
  readonly endpoints: readonly Endpoint[];
}

/** Whether a gRPC service is one that servers have beside their own. */
export function isInfrastructure(grpcService: string): boolean {
  return INFRASTRUCTURE.test(grpcService);
}

/**
 * Reads and checks what a service says of itself.
 * @throws {Error} with a message for the service's owner.
 */
export function readContract(service: string, descriptors: Uint8Array, grpcServices: readonly string[]): Contract {
  if (descriptors.length > MAX_DESCRIPTORS) {
    throw new Error(`descriptors are ${descriptors.length} bytes; at most ${MAX_DESCRIPTORS} are accepted`);
  }
  const { set, given, ordered } = readSet(descriptors);
  const own = grpcServices.filter((name) => !isInfrastructure(name));
  checkServiceNames(own, service);
  const endpoints = endpointsOf(service, set, own);
  checkEndpoints(endpoints);
  return { given: { descriptors: given, grpcServices }, descriptors: ordered, grpcServices: own, endpoints };
}

/**
 * The types that descriptors describe.
 * @throws {Error} when the bytes are not usable descriptors.
 */
export function typesOf(descriptors: Uint8Array): Registry {
  return readSet(descriptors).set.types;
}

/** Descriptors put in order: as they came, as they are sent on, and as they are used here. */
interface ReadSet {
  readonly given: Buffer;
  readonly ordered: Buffer;
  readonly set: DescriptorSet;
}

/** Each set is read once: reading is slow, and the services of a process share theirs. */
const read = new WeakMap<Uint8Array, ReadSet>();

function readSet(descriptors: Uint8Array): ReadSet {
  const known = read.get(descriptors);
  if (known !== undefined) return known;
  const given = asBuffer(descriptors);
  // Those of Portico's own files are in order.
  const found = isOwnSet(given) ? { given, ordered: given, set: new DescriptorSet(given) } : readAndOrder(given);
  read.set(descriptors, found);
  return found;
}

function readAndOrder(given: Buffer): ReadSet {
  const { set: files, changed } = inOrder(parse(given).file);
  // Most are in order already: then one copy does.
  const ordered = changed ? serialize(files) : given;
  const set = new DescriptorSet(ordered);
  checkTypes(set);
  return { given, ordered, set };
}

/** Parses all types once, so that those who read the descriptors later find no fault. @throws {Error} */
function checkTypes(set: DescriptorSet): void {
  void set.types;
}

/**
 * Full names of all gRPC services that the descriptors declare, without infrastructure.
 * @throws {Error} when the bytes are not usable descriptors.
 */
export function grpcServicesOf(descriptors: Uint8Array): string[] {
  const names = parse(descriptors).file.flatMap(({ package: scope, service }) =>
    service.map(({ name }) => (scope === "" ? name : `${scope}.${name}`)),
  );
  return names.filter((name) => !isInfrastructure(name));
}

/** Whether the contract is what these would be read as. */
export function isContractOf(contract: Contract, descriptors: Uint8Array, grpcServices: readonly string[]): boolean {
  const { given } = contract;
  return (
    given.grpcServices.length === grpcServices.length &&
    given.grpcServices.every((name, index) => name === grpcServices[index]) &&
    given.descriptors.equals(descriptors)
  );
}

function parse(bytes: Uint8Array): FileDescriptorSet {
  try {
    const elements = countElements(bytes);
    if (elements > MAX_ELEMENTS) throw new Error(`${elements} elements; at most ${MAX_ELEMENTS} are accepted`);
    return fromBinary(FileDescriptorSetSchema, bytes);
  } catch (error) {
    throw new Error(`descriptors are no usable google.protobuf.FileDescriptorSet: ${(error as Error).message}`);
  }
}

/**
 * The files as readers expect them: imports first, a JSON name for every field (C++ servers leave them out in
 * reflection), and the well-known files that are imported but not given. Fills in the files themselves; `changed` tells
 * whether anything is not as it came.
 * @throws {Error} when an import is missing, or files import each other in a circle.
 */
function inOrder(files: readonly FileDescriptorProto[]): { set: FileDescriptorSet; changed: boolean } {
  if (files.length > MAX_FILES) throw new Error(`descriptors have ${files.length} files; at most ${MAX_FILES}`);
  const byName = new Map(files.map((file) => [file.name, file]));
  const ordered = new Set<FileDescriptorProto>();
  const open = new Set<string>();
  const visit = (name: string, importer: string) => {
    const file = byName.get(name) ?? WELL_KNOWN.get(name);
    if (file === undefined) throw new Error(`descriptors lack ${name}, which ${importer} imports`);
    if (ordered.has(file)) return;
    if (open.has(name)) throw new Error(`descriptors: ${name} and ${importer} import each other`);
    open.add(name);
    for (const dependency of file.dependency) visit(dependency, name);
    open.delete(name);
    ordered.add(file);
  };
  for (const file of files) visit(file.name, "");
  const file = [...ordered];
  const filled = file.map(complete).includes(true);
  const moved = file.length !== files.length || file.some((each, index) => each !== files[index]);
  return { set: create(FileDescriptorSetSchema, { file }), changed: filled || moved };
}

function serialize(set: FileDescriptorSet): Buffer {
  return asBuffer(toBinary(FileDescriptorSetSchema, set));
}

/** The files of google/protobuf/, which many servers do not send. */
const WELL_KNOWN: ReadonlyMap<string, FileDescriptorProto> = new Map(
  Object.values(wkt).flatMap((exported) =>
    typeof exported === "object" && "kind" in exported && exported.kind === "file"
      ? [[exported.proto.name, exported.proto] as const]
      : [],
  ),
);

/** Whether anything was missing. */
function complete(file: FileDescriptorProto): boolean {
  if (file.package !== "" && !DOTTED_NAME.test(file.package)) {
    throw new Error(`descriptors: ${JSON.stringify(file.package)} is no package name`);
  }
  return fillJsonNames(file.messageType);
}

function fillJsonNames(messages: readonly DescriptorProto[]): boolean {
  let filled = false;
  for (const { field: fields, nestedType } of messages) {
    for (const field of fields) {
      if (field.jsonName !== "") continue;
      field.jsonName = protoCamelCase(field.name);
      filled = true;
    }
    if (fillJsonNames(nestedType)) filled = true;
  }
  return filled;
}

function checkServiceNames(names: readonly string[], service: string): void {
  if (names.length === 0) throw new Error("no gRPC service is named (health and reflection do not count)");
  if (names.length > MAX_GRPC_SERVICES) throw new Error(`more than ${MAX_GRPC_SERVICES} gRPC services`);
  for (const name of names) {
    if (name.length > MAX_NAME || !DOTTED_NAME.test(name)) {
      throw new Error(`${JSON.stringify(name.slice(0, 64))} is not the full name of a gRPC service`);
    }
    if (isReservedGrpcName(name, service)) {
      throw new Error(
        `the gRPC service ${name} is in a package that is Portico's alone (portico.* and grpc.*): rename it`,
      );
    }
  }
  if (new Set(names).size < names.length) throw new Error("a gRPC service is named twice");
}

/** Names match without regard to case, so two that differ in nothing else would be one. */
function checkEndpoints(endpoints: readonly Endpoint[]): void {
  if (endpoints.length > MAX_ENDPOINTS) throw new Error(`${endpoints.length} endpoints; at most ${MAX_ENDPOINTS}`);
  const seen = new Map<string, Endpoint>();
  for (const endpoint of endpoints) {
    const { name, segments } = endpoint;
    if (segments.endpoint.length > 2 * MAX_NAME) throw new Error(`the name of ${name.slice(0, 64)}… is too long`);
    const other = seen.get(segments.endpoint);
    if (other !== undefined) throw new Error(`${other.name} and ${name} differ at most in case`);
    seen.set(segments.endpoint, endpoint);
  }
}

/** The repeated members to count, by field number in google/protobuf/descriptor.proto, and what those hold in turn. */
interface Kind {
  readonly [field: number]: Kind;
}

const LEAF: Kind = {};
const ENUM: Kind = { 2: LEAF, 4: LEAF, 5: LEAF };
const SERVICE: Kind = { 2: LEAF };
const MESSAGE: Record<number, Kind> = { 2: LEAF, 4: ENUM, 5: LEAF, 6: LEAF, 8: LEAF, 9: LEAF, 10: LEAF };
MESSAGE[3] = MESSAGE;
const SOURCE_INFO: Kind = { 1: LEAF };
const FILE: Kind = { 3: LEAF, 4: MESSAGE, 5: ENUM, 6: SERVICE, 7: LEAF, 9: SOURCE_INFO };
const FILE_SET: Kind = { 1: FILE };

/**
 * Counts what a serialized google.protobuf.FileDescriptorSet holds (files, types, fields, comments …) without building
 * any of it: an element fits in two bytes, but costs hundreds in memory once it is read.
 * @throws {Error} when the bytes are not protobuf at all.
 */
function countElements(descriptors: Uint8Array): number {
  return count(new BinaryReader(descriptors), descriptors.length, FILE_SET);
}

function count(reader: BinaryReader, end: number, kind: Kind): number {
  let elements = 0;
  while (reader.pos < end) {
    const [field, wireType] = reader.tag();
    const child = wireType === WireType.LengthDelimited ? kind[field] : undefined;
    if (child === undefined) {
      reader.skip(wireType, field);
    } else {
      const length = reader.uint32();
      elements += 1 + (child === LEAF ? 0 : count(reader, reader.pos + length, child));
      if (child === LEAF) reader.pos += length;
    }
  }
  if (reader.pos > end) throw new RangeError("premature end");
  return elements;
}
