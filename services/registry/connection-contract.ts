/**
 * Checks that the server at the other end of a connection has the contract that its instance was
 * registered with. A gateway checks each connection before it sends calls, because another process
 * with other messages may have taken over the address.
 */
import { fromBinary, type Registry, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { DescriptorSet, type SharedFile, withoutSourceInfo } from "../../src/contract/descriptor-set.js";
import type { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import { inTurns, type Steps } from "../../src/overload/pace.js";
import type { Channel } from "../../src/rpc/channel.js";
import { applyHttpRules } from "./apply-http-rules.js";
import { typesOf } from "./contract.js";
import { ContractReader } from "./contract-reader.js";
import { readResolvedRules } from "./http-rules.js";
import { reflect, reflectTypes } from "./reflection-client.js";

/** The maximum time of one reading, in milliseconds. */
const READ_TIME = 10_000;

/** The contract that an instance was registered with. */
export interface KnownContract extends Pick<Instance, "service" | "descriptors" | "grpcServices"> {
  /** `ServiceOptions.http_rules` of the instance. */
  readonly httpRules?: string;
}

/**
 * Uses reflection to read the contract of the server at the other end of a connection. Ignores gRPC
 * services that the instance is not known for: a process may serve several services, and each is
 * registered separately.
 * @param reader reads the contract if its bytes differ from the known ones
 * @returns undefined if it is the known contract, apart from comments
 * @throws {Error} (rejects) if it cannot be read, or has none of the known gRPC services
 */
export async function readConnection(
  connection: Channel,
  known: KnownContract,
  reader = new ContractReader(),
): Promise<KnownContract | undefined> {
  const { service, httpRules = "" } = known;
  const read = await reflect(connection, performance.now() + READ_TIME, new AbortController().signal);
  const names = known.grpcServices.filter((name) => read.grpcServices.includes(name));
  if (names.length === 0) throw new Error(`the server has none of the gRPC services ${known.grpcServices.join(", ")}`);
  const hasAll = names.length === known.grpcServices.length;
  const { descriptors: withRules } = applyHttpRules(read, readResolvedRules(httpRules));
  if (hasAll && withRules.equals(known.descriptors)) return undefined;
  const given = { service, descriptors: withRules, grpcServices: names, bindingPrefix: "" };
  const { set, descriptors, grpcServices } = await reader.read(given);
  if (hasAll && (await inTurns(isSame(set, new DescriptorSet(known.descriptors), names)))) return undefined;
  return { service, descriptors, grpcServices: [...grpcServices] };
}

/** The maximum time of a request for types, in milliseconds. A caller waits for it. */
const TYPES_TIME = 1_000;

/**
 * Uses reflection to read types that are missing in the server's contract. Omits types that the
 * server does not know.
 * @throws {Error} (rejects) if the server has no reflection, does not respond in time, or sends an
 *   unusable response
 */
export async function readTypes(channel: Channel, names: readonly string[]): Promise<Registry> {
  return typesOf(await reflectTypes(channel, names, performance.now() + TYPES_TIME));
}

/**
 * Whether two sets have the same files for the gRPC services: the files that declare them, and all
 * files that these import.
 */
function* isSame(one: DescriptorSet, other: DescriptorSet, grpcServices: readonly string[]): Steps<boolean> {
  const [files, others] = [filesOf(one, grpcServices), filesOf(other, grpcServices)];
  if (files.size !== others.size) return false;
  for (const [name, file] of files) {
    const namesake = others.get(name);
    if (namesake === undefined) return false;
    if (namesake !== file && !bare(file).equals(bare(namesake))) return false;
    yield;
  }
  return true;
}

/** The bytes of a file without comments, with its fields in a canonical order. */
function bare({ bytes }: SharedFile): Buffer {
  const file = fromBinary(FileDescriptorProtoSchema, withoutSourceInfo(bytes).rest);
  return Buffer.from(toBinary(FileDescriptorProtoSchema, file));
}

function filesOf({ files }: DescriptorSet, grpcServices: readonly string[]): Map<string, SharedFile> {
  const found = new Map<string, SharedFile>();
  const wanted = new Set<string>();
  // In reverse order, each file comes before the files that it imports.
  for (const file of files.toReversed()) {
    const declared = file.grpcServices;
    if (!wanted.has(file.name) && !grpcServices.some((name) => declared.has(name))) continue;
    found.set(file.name, file);
    for (const name of file.imports) wanted.add(name);
  }
  return found;
}
