/**
 * Checks whether a connection leads to a server with the contract that its instance was announced with. A gateway checks
 * each connection before it takes calls, because another process, with other messages, may have taken the address.
 */
import { create, type DescFile, type Registry, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import type { Channel } from "../../src/rpc/channel.js";
import { readContract, typesOf } from "./contract.js";
import { reflect, reflectTypes } from "./reflection-client.js";

/** Of one reading, in milliseconds. */
const READ_TIME = 10_000;

/** The contract that an instance was announced with. */
export type KnownContract = Pick<Instance, "service" | "descriptors" | "grpcServices">;

/**
 * Reads the contract of the server at the other end of a connection, by reflection. gRPC services that the instance is not
 * known for are left out: a process may serve several, and registers each by itself.
 * @returns undefined where it is the known one, comments aside
 * @throws {Error} (rejects) where it cannot be read, or has none of the known gRPC services.
 */
export async function readConnection(connection: Channel, known: KnownContract): Promise<KnownContract | undefined> {
  const { service } = known;
  const read = await reflect(connection, performance.now() + READ_TIME, new AbortController().signal);
  const names = known.grpcServices.filter((name) => read.grpcServices.includes(name));
  if (names.length === 0) throw new Error(`the server has none of the gRPC services ${known.grpcServices.join(", ")}`);
  const { descriptors, grpcServices } = readContract(service, read.descriptors, names);
  if (names.length === known.grpcServices.length && isSame(descriptors, known.descriptors, names)) return undefined;
  return { service, descriptors, grpcServices: [...grpcServices] };
}

/** Of asking for types, in milliseconds: a caller waits for its answer. */
const TYPES_TIME = 1_000;

/**
 * Reads types that a contract lacks from a server, by reflection; those that the server does not know are left out.
 * @throws {Error} (rejects) where it has no reflection, does not answer in time, or sends what cannot be used
 */
export async function readTypes(channel: Channel, names: readonly string[]): Promise<Registry> {
  return typesOf(await reflectTypes(channel, names, performance.now() + TYPES_TIME));
}

/** Whether two sets have the same files behind gRPC services. */
function isSame(one: Buffer, other: Buffer, grpcServices: readonly string[]): boolean {
  if (one.equals(other)) return true;
  const [files, others] = [filesOf(one, grpcServices), filesOf(other, grpcServices)];
  if (files.size !== others.size) return false;
  for (const [name, bytes] of files) if (!others.get(name)?.equals(bytes)) return false;
  return true;
}

/** The files that declare gRPC services, and all that these import, by name; without comments. */
function filesOf(descriptors: Buffer, grpcServices: readonly string[]): Map<string, Buffer> {
  const types = typesOf(descriptors);
  const found = new Map<string, Buffer>();
  const visit = (file: DescFile): void => {
    if (found.has(file.proto.name)) return;
    const bare = create(FileDescriptorProtoSchema, { ...file.proto, sourceCodeInfo: undefined });
    found.set(file.proto.name, Buffer.from(toBinary(FileDescriptorProtoSchema, bare)));
    for (const imported of file.dependencies) visit(imported);
  };
  for (const name of grpcServices) {
    const grpcService = types.getService(name);
    if (grpcService !== undefined) visit(grpcService.file);
  }
  return found;
}
