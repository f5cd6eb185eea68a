/**
 * Reads a server's contract by gRPC server reflection, v1 or else v1alpha, which has the same
 * messages (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md). The bytes of the
 * files are not changed. Only their names and imports are read, to request missing imports. (Some
 * servers send one file in a response, others send all its imports with it.)
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Code, StatusError } from "../../src/errors.js";
import {
  ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService,
} from "../../src/gen/grpc/reflection/v1/reflection.js";
import { ServerReflectionService as ServerReflectionAlphaService } from "../../src/gen/grpc/reflection/v1alpha/reflection.js";
import type { Channel } from "../../src/rpc/channel.js";
import { stream } from "../../src/rpc/client.js";
import { isInfrastructure, MAX_DESCRIPTORS, MAX_FILES } from "./contract.js";

/** A contract from a server or a file. */
export interface ReflectedContract {
  /** google.protobuf.FileDescriptorSet, in any order; files of google/protobuf/ may be missing. */
  readonly descriptors: Buffer;
  /** Full names, without infrastructure. */
  readonly grpcServices: readonly string[];
}

const V1 = ServerReflectionService.serverReflectionInfo;
const PATHS = [V1.path, ServerReflectionAlphaService.serverReflectionInfo.path];

type Question = NonNullable<ServerReflectionRequest["messageRequest"]>;
type Ask = (question: Question) => Promise<NonNullable<ServerReflectionResponse["messageResponse"]>>;

/**
 * Reads the contract of a server.
 * @param deadlineMonotonicMs for the whole conversation, in milliseconds of `performance.now()`
 * @throws {StatusError} UNIMPLEMENTED if the server has no reflection; any other status of the call
 */
export function reflect(
  channel: Channel,
  deadlineMonotonicMs: number,
  signal: AbortSignal,
): Promise<ReflectedContract> {
  return converse(channel, deadlineMonotonicMs, signal, describeServices);
}

/**
 * Requests the files that declare the types, with all files that these import. Omits types that the
 * server does not know.
 * @returns google.protobuf.FileDescriptorSet, as in `ReflectedContract`
 * @throws {StatusError} as `reflect`
 */
export function reflectTypes(channel: Channel, names: readonly string[], deadlineMonotonicMs: number): Promise<Buffer> {
  return converse(channel, deadlineMonotonicMs, new AbortController().signal, (ask) => describeTypes(ask, names));
}

async function converse<T>(
  channel: Channel,
  deadlineMonotonicMs: number,
  signal: AbortSignal,
  conversation: (ask: Ask) => Promise<T>,
): Promise<T> {
  for (const path of PATHS) {
    const call = stream(channel, { ...V1, path }, { deadlineMonotonicMs, signal });
    const responses = call.responses[Symbol.asyncIterator]();
    const ask: Ask = async (messageRequest) => {
      call.send(ServerReflectionRequest.fromPartial({ messageRequest }));
      const { value, done } = await responses.next();
      if (done || value.messageResponse === undefined) throw broken("ended in the middle");
      return value.messageResponse;
    };
    try {
      return await conversation(ask);
    } catch (error) {
      if (!(error instanceof StatusError && error.code === Code.UNIMPLEMENTED)) throw error;
    } finally {
      call.cancel();
    }
  }
  throw new StatusError(Code.UNIMPLEMENTED, "the server has no reflection");
}

async function describeServices(ask: Ask): Promise<ReflectedContract> {
  const listed = await ask({ $case: "listServices", value: "" });
  if (listed.$case !== "listServicesResponse") throw refused("list its services", listed);
  const grpcServices = listed.value.service.map(({ name }) => name).filter((name) => !isInfrastructure(name));
  const files = new Files();
  for (const name of grpcServices) {
    const response = await ask({ $case: "fileContainingSymbol", value: name });
    if (response.$case !== "fileDescriptorResponse") throw refused(`describe ${name}, which it lists`, response);
    files.add(response.value.fileDescriptorProto);
  }
  await addMissing(ask, files);
  return { descriptors: files.toSet(), grpcServices };
}

async function describeTypes(ask: Ask, names: readonly string[]): Promise<Buffer> {
  const files = new Files();
  for (const name of names) {
    const response = await ask({ $case: "fileContainingSymbol", value: name });
    if (response.$case === "fileDescriptorResponse") files.add(response.value.fileDescriptorProto);
  }
  await addMissing(ask, files);
  return files.toSet();
}

/** Requests the imports that the server has not sent yet. */
async function addMissing(ask: Ask, files: Files): Promise<void> {
  for (let missing = files.missing(); missing !== undefined; missing = files.missing()) {
    const response = await ask({ $case: "fileByFilename", value: missing });
    // A file that the server lacks may be a well-known one. If not, the check of the contract
    // reports who imports it.
    if (response.$case === "fileDescriptorResponse") files.add(response.value.fileDescriptorProto);
  }
}

/** Files by name, and the imports that are missing. */
class Files {
  readonly #bytes = new Map<string, Uint8Array>();
  readonly #missing = new Set<string>();
  readonly #asked = new Set<string>();
  #size = 0;

  add(files: readonly Uint8Array[]): void {
    for (const bytes of files) {
      const { name, imports } = headOf(bytes);
      if (this.#bytes.has(name)) continue;
      this.#bytes.set(name, bytes);
      this.#size += bytes.length;
      if (this.#bytes.size > MAX_FILES || this.#size > MAX_DESCRIPTORS) throw broken("sends too many descriptors");
      for (const imported of imports) this.#missing.add(imported);
    }
  }

  /** The name of the next file to request. Each name is returned once. */
  missing(): string | undefined {
    for (const name of this.#missing) {
      this.#missing.delete(name);
      if (this.#bytes.has(name) || this.#asked.has(name)) continue;
      if (this.#asked.size >= MAX_FILES) throw broken("names too many files");
      this.#asked.add(name);
      return name;
    }
    return undefined;
  }

  toSet(): Buffer {
    const writer = new BinaryWriter();
    for (const bytes of this.#bytes.values()) writer.tag(1, WireType.LengthDelimited).bytes(bytes);
    return Buffer.from(writer.finish());
  }
}

/** The name and the imports of a serialized google.protobuf.FileDescriptorProto. */
function headOf(file: Uint8Array): { name: string; imports: string[] } {
  const reader = new BinaryReader(file);
  let name = "";
  const imports: string[] = [];
  try {
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag();
      if (field === 1 && wireType === WireType.LengthDelimited) name = reader.string();
      else if (field === 3 && wireType === WireType.LengthDelimited) imports.push(reader.string());
      else reader.skip(wireType, field);
    }
  } catch (error) {
    throw broken(`sends bytes that are no file descriptor (${(error as Error).message})`);
  }
  return { name, imports };
}

function broken(what: string): StatusError {
  return new StatusError(Code.INTERNAL, `the server's reflection ${what}`);
}

function refused(what: string, response: NonNullable<ServerReflectionResponse["messageResponse"]>): StatusError {
  if (response.$case !== "errorResponse") return broken(`responds with something else when asked to ${what}`);
  return broken(`does not ${what}: ${response.value.errorMessage.slice(0, 200)}`);
}
