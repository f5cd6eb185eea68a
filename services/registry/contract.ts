/**
 * A service's contract: its checked descriptors, and the endpoints that they describe. Descriptors
 * come from unknown tools and servers. So this file first puts them in order: imports before
 * importers, JSON names and well-known files added. It refuses whatever is ambiguous or too large,
 * so code that uses the contract later need not check again.
 */
import { fromBinary, type Registry, toBinary } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import * as wkt from "@bufbuild/protobuf/wkt";
import { type DescriptorProto, type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { isBuiltInSet } from "../../src/contract/built-in-files.js";
import {
  DescriptorSet,
  filesOf,
  headOf,
  nameOf,
  SOURCE_CODE_INFO,
  withoutSourceInfo,
} from "../../src/contract/descriptor-set.js";
import { type DescriptorSize, sizeOf } from "../../src/contract/descriptor-size.js";
import { type Endpoint, endpointsOf } from "../../src/contract/endpoint.js";
import { bindingsOf } from "../../src/contract/http-rule.js";
import { isReservedGrpcName } from "../../src/contract/names.js";
import { MAX_SEARCH, SearchCost } from "../../src/contract/search-cost.js";
import { atOnce, type Steps } from "../../src/overload/pace.js";
import { asBuffer } from "../../src/wire/buffer.js";

/**
 * The maximum size of descriptors, in bytes. The rest of a 4 MiB message is for the other fields.
 */
export const MAX_DESCRIPTORS = 4 * 1024 ** 2 - 64 * 1024;
/** The maximum number of files in a contract. */
export const MAX_FILES = 1_000;
/**
 * The maximum number of elements in a contract, and in one file. A file is parsed in one step.
 * docs/scale.md states both limits.
 */
export const MAX_ELEMENTS = 50_000;
export const MAX_FILE_ELEMENTS = 20_000;
/** The maximum number of source locations, which include comments. */
const MAX_LOCATIONS = 250_000;
const MAX_GRPC_SERVICES = 100;
const MAX_ENDPOINTS = 1_000;
/** The maximum number of paths by `google.api.http`. */
export const MAX_PATHS = 10_000;
const MAX_NAME = 255;
/**
 * The memory that reading a contract takes: COPIES bytes for each byte, and ELEMENT_SIZE bytes for
 * each parsed element.
 */
const COPIES = 3;
const ELEMENT_SIZE = 1_024;

/**
 * The gRPC services that every server has in addition to the service's own (health, reflection).
 * They are never endpoints.
 */
const INFRASTRUCTURE = /^grpc\.(?:health|reflection|channelz)\./;
const DOTTED_NAME = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/;

/** A service's contract, checked and put in order. */
export interface CheckedContract {
  /** Its files and types. */
  readonly set: DescriptorSet;
  /** The original descriptors and gRPC services, to recognize an equal contract. */
  readonly given: { readonly descriptors: Buffer; readonly grpcServices: readonly string[] };
  /** google.protobuf.FileDescriptorSet with all imports, in order. */
  readonly descriptors: Buffer;
  /** Full names of the gRPC services, without infrastructure. */
  readonly grpcServices: readonly string[];
  readonly endpoints: readonly Endpoint[];
}

/** Whether a gRPC service is one that every server has, such as health. */
export function isInfrastructure(grpcService: string): boolean {
  return INFRASTRUCTURE.test(grpcService);
}

/**
 * Reserves bytes until the contract has been read.
 * @throws {Error} if they do not fit
 */
type Reserve = (bytes: number) => void;

export interface ReadingOptions {
  /** The prefix of the paths by `google.api.http`. */
  readonly prefix?: string;
  readonly reserve?: Reserve;
}

/**
 * Reads and checks the contract of a service, in steps.
 * @throws {Error} with a message for the service's owner
 */
export function* readingSteps(
  service: string,
  descriptors: Uint8Array,
  grpcServices: readonly string[],
  { prefix = "", reserve = () => {} }: ReadingOptions = {},
): Steps<CheckedContract> {
  if (descriptors.length > MAX_DESCRIPTORS) {
    throw new Error(`descriptors are ${descriptors.length} bytes; at most ${MAX_DESCRIPTORS} are accepted`);
  }
  const { set, given, ordered } = yield* readSet(descriptors, reserve);
  const own = grpcServices.filter((name) => !isInfrastructure(name));
  checkServiceNames(own, service);
  const endpoints = endpointsOf(service, set, own);
  checkEndpoints(endpoints);
  yield* checkPaths(endpoints, prefix);
  return { given: { descriptors: given, grpcServices }, set, descriptors: ordered, grpcServices: own, endpoints };
}

/**
 * Like `readingSteps`, in one step.
 * @throws {Error} with a message for the service's owner
 */
export function readContract(
  service: string,
  descriptors: Uint8Array,
  grpcServices: readonly string[],
): CheckedContract {
  return atOnce(readingSteps(service, descriptors, grpcServices));
}

/**
 * The types of the descriptors, read in one step.
 * @throws {Error} if the bytes are not usable descriptors
 */
export function typesOf(descriptors: Uint8Array): Registry {
  return atOnce(readSet(descriptors, () => {})).set.types;
}

/**
 * Descriptors as they came (`given`), as they are sent on (`ordered`), and as they are used here
 * (`set`).
 */
interface ReadSet {
  readonly given: Buffer;
  readonly ordered: Buffer;
  readonly set: DescriptorSet;
}

/**
 * Caches the result for each set, because reading is slow and the services of a process share one
 * set.
 */
const read = new WeakMap<Uint8Array, ReadSet>();

function* readSet(descriptors: Uint8Array, reserve: Reserve): Steps<ReadSet> {
  const known = read.get(descriptors);
  if (known !== undefined) return known;
  const given = asBuffer(descriptors);
  // Portico's own files are in order already.
  const isBuiltIn = isBuiltInSet(given);
  const found = isBuiltIn
    ? { given, ordered: given, set: new DescriptorSet(given) }
    : yield* readAndOrder(given, reserve);
  read.set(descriptors, found);
  return found;
}

function* readAndOrder(given: Buffer, reserve: Reserve): Steps<ReadSet> {
  const files = yield* filesIn(given, reserve);
  const inOrder = importsFirst(files);
  const moved = inOrder.length !== files.length || inOrder.some((file, index) => file !== files[index]);
  // Descriptors are usually in order already. Then the given bytes are used without a copy.
  const ordered = moved || files.some(({ isFilled }) => isFilled) ? setOf(inOrder) : given;
  yield;
  const set = new DescriptorSet(ordered);
  yield;
  // Parses all types once, so that later readers of the descriptors find no error.
  yield* set.parse();
  return { given, ordered, set };
}

/**
 * Full names of all gRPC services that the descriptors declare, without infrastructure.
 * @throws {Error} if the bytes are not usable descriptors
 */
export function grpcServicesOf(descriptors: Uint8Array): string[] {
  const names = usable(() =>
    [...filesOf(descriptors)].map(headOf).flatMap(({ scope, services }) => {
      const start = scope === "" ? "" : `${scope}.`;
      return services.map((declaration) => start + nameOf(declaration));
    }),
  );
  return names.filter((name) => !isInfrastructure(name));
}

/** Whether the contract was read from equal descriptors and gRPC services. */
export function isContractOf(
  contract: CheckedContract,
  descriptors: Uint8Array,
  grpcServices: readonly string[],
): boolean {
  const { given } = contract;
  return (
    given.grpcServices.length === grpcServices.length &&
    given.grpcServices.every((name, index) => name === grpcServices[index]) &&
    given.descriptors.equals(descriptors)
  );
}

/**
 * A file as readers expect it: with a JSON name for every field. C++ servers omit JSON names in
 * reflection.
 */
interface OrderedFile {
  readonly name: string;
  readonly imports: readonly string[];
  /** A serialized google.protobuf.FileDescriptorProto. */
  readonly bytes: Uint8Array;
  /** Whether JSON names were added. */
  readonly isFilled: boolean;
}

/** Checks the size of a set, and returns its files, one in each step. */
function* filesIn(set: Buffer, reserve: Reserve): Steps<OrderedFile[]> {
  const counting = sizeOf(set);
  for (;;) {
    const { done, value } = usable(() => counting.next());
    if (done) {
      usable(() => checkSize(value));
      reserve(set.length * COPIES + value.elements * ELEMENT_SIZE);
      break;
    }
    yield;
  }
  const files: OrderedFile[] = [];
  for (const bytes of filesOf(set)) {
    files.push(usable(() => filled(bytes)));
    yield;
  }
  return files;
}

function usable<R>(read: () => R): R {
  try {
    return read();
  } catch (error) {
    throw new Error(`descriptors are no usable google.protobuf.FileDescriptorSet: ${(error as Error).message}`);
  }
}

/** @throws {Error} if there are more elements than accepted */
function checkSize({ elements, largestFile, locations }: DescriptorSize): void {
  const counted = "(files, messages, fields, enums, values, methods)";
  if (elements > MAX_ELEMENTS) throw new Error(`${elements} elements; at most ${MAX_ELEMENTS} are accepted ${counted}`);
  if (largestFile > MAX_FILE_ELEMENTS) {
    throw new Error(`a file of ${largestFile} elements; at most ${MAX_FILE_ELEMENTS} are accepted in one: divide it`);
  }
  if (locations > MAX_LOCATIONS)
    throw new Error(`${locations} source locations; at most ${MAX_LOCATIONS} are accepted`);
}

/** @throws {Error} if the bytes are not a file, or the package name is invalid */
function filled(bytes: Uint8Array): OrderedFile {
  const { rest, sourceInfo } = withoutSourceInfo(bytes);
  const file = fromBinary(FileDescriptorProtoSchema, rest);
  if (file.package !== "" && !DOTTED_NAME.test(file.package)) {
    throw new Error(`${JSON.stringify(file.package)} is no package name`);
  }
  const { name, dependency: imports } = file;
  if (!fillJsonNames(file.messageType)) return { name, imports, bytes, isFilled: false };
  const comments = sourceInfo === undefined ? [] : [fieldOf(SOURCE_CODE_INFO, sourceInfo)];
  const whole = Buffer.concat([toBinary(FileDescriptorProtoSchema, file), ...comments]);
  return { name, imports, bytes: whole, isFilled: true };
}

function fieldOf(number: number, bytes: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish();
}

/**
 * The files with imports before importers. Adds well-known files that are imported but not given.
 * @throws {Error} if an import is missing, or files import each other in a circle
 */
function importsFirst(files: readonly OrderedFile[]): OrderedFile[] {
  if (files.length > MAX_FILES) throw new Error(`descriptors have ${files.length} files; at most ${MAX_FILES}`);
  const byName = new Map(files.map((file) => [file.name, file]));
  const ordered = new Set<OrderedFile>();
  const open = new Set<string>();
  const visit = (name: string, importer: string): void => {
    const file = byName.get(name) ?? wellKnown(name);
    if (file === undefined) throw new Error(`descriptors lack ${name}, which ${importer} imports`);
    if (ordered.has(file)) return;
    if (open.has(name)) throw new Error(`descriptors: ${name} and ${importer} import each other`);
    open.add(name);
    for (const imported of file.imports) visit(imported, name);
    open.delete(name);
    ordered.add(file);
  };
  for (const file of files) visit(file.name, "");
  return [...ordered];
}

function setOf(files: readonly OrderedFile[]): Buffer {
  return Buffer.concat(files.map(({ bytes }) => fieldOf(1, bytes)));
}

/** The files of google/protobuf/, which many servers do not send. */
const WELL_KNOWN: ReadonlyMap<string, FileDescriptorProto> = new Map(
  Object.values(wkt).flatMap((exported) =>
    typeof exported === "object" && "kind" in exported && exported.kind === "file"
      ? [[exported.proto.name, exported.proto] as const]
      : [],
  ),
);
const wellKnownFiles = new Map<string, OrderedFile>();

function wellKnown(name: string): OrderedFile | undefined {
  const proto = WELL_KNOWN.get(name);
  let file = wellKnownFiles.get(name);
  if (file !== undefined || proto === undefined) return file;
  file = filled(toBinary(FileDescriptorProtoSchema, proto));
  wellKnownFiles.set(name, file);
  return file;
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
        `the gRPC service ${name} is in a package that only Portico serves (portico.*, grpc.health.*, grpc.reflection.*): rename it`,
      );
    }
  }
  if (new Set(names).size < names.length) throw new Error("a gRPC service is named twice");
}

/**
 * Names match without regard to case, so two names that differ only in case would be the same
 * endpoint.
 */
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

/**
 * @throws {Error} if there are too many paths by `google.api.http`, or a path could match too many
 *   of them
 */
function* checkPaths(endpoints: readonly Endpoint[], prefix: string): Steps<void> {
  const cost = new SearchCost();
  let paths = 0;
  for (const { annotated, method } of endpoints) {
    if (!annotated) continue;
    const { bindings, problems } = bindingsOf(method, prefix);
    for (const { template } of bindings) cost.add(template);
    paths += bindings.length + problems.length;
    if (paths > MAX_PATHS) throw new Error(`more than ${MAX_PATHS} paths by google.api.http`);
    yield;
  }
  if (cost.steps <= MAX_SEARCH) return;
  throw new Error(
    `paths by google.api.http that are too much alike: to find one may take ${cost.steps} steps; at most ${MAX_SEARCH} are ` +
      "accepted. Templates with * and with a literal at the same places multiply them",
  );
}
