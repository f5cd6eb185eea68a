/**
 * gRPC server reflection, v1 and v1alpha, whose messages are the same
 * (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md). Files are served as the bytes in the services'
 * descriptor sets, so that unknown options are kept. A file is sent with all files that it imports, except those that the
 * stream has already sent, as grpc-go does.
 */
import { fromBinary } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { descriptorsOf, filesOf } from "../contract/own-files.js";
import { Code } from "../errors.js";
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService,
} from "../gen/grpc/reflection/v1/reflection.js";
import { ServerReflectionService as ServerReflectionAlphaService } from "../gen/grpc/reflection/v1alpha/reflection.js";
import { part, type Service } from "./service.js";

const V1 = "grpc.reflection.v1.ServerReflection";
const V1_ALPHA = "grpc.reflection.v1alpha.ServerReflection";

type Answer = NonNullable<ServerReflectionResponse["messageResponse"]>;

/** The reflection service over the given services and itself. */
export function createReflection(services: readonly Service[]): Service {
  const served = [...services.flatMap((service) => service.parts.map((part) => part.grpcService)), V1, V1_ALPHA].sort();
  // Made for the first request: few processes get one.
  let index: Index | undefined;
  const descriptors = descriptorsOf("grpc.reflection.v1", "grpc.reflection.v1alpha");
  async function* serverReflectionInfo(
    requests: AsyncIterable<ServerReflectionRequest>,
  ): AsyncGenerator<ServerReflectionResponse> {
    index ??= new Index([...services.map((service) => service.descriptors), descriptors]);
    const sent = new Set<string>();
    for await (const request of requests) {
      const messageResponse = answer(request, index, served, sent);
      yield { validHost: request.host, originalRequest: request, messageResponse };
    }
  }
  return {
    name: "reflection",
    descriptors,
    parts: [
      part(V1, ServerReflectionService, { serverReflectionInfo }),
      part(V1_ALPHA, ServerReflectionAlphaService, { serverReflectionInfo }),
    ],
  };
}

function answer(
  { messageRequest: asked }: ServerReflectionRequest,
  index: Index,
  served: readonly string[],
  sent: Set<string>,
): Answer {
  switch (asked?.$case) {
    case "listServices":
      return { $case: "listServicesResponse", value: { service: served.map((name) => ({ name })) } };
    case "fileByFilename":
      return files(index, index.files.has(asked.value) ? asked.value : undefined, `file ${asked.value}`, sent);
    case "fileContainingSymbol":
      return files(index, index.symbols.get(asked.value), `symbol ${asked.value}`, sent);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = asked.value;
      const file = index.extensions.get(containingType)?.get(extensionNumber);
      return files(index, file, `extension ${extensionNumber} of ${containingType}`, sent);
    }
    case "allExtensionNumbersOfType": {
      if (!index.messages.has(asked.value)) return failure(Code.NOT_FOUND, `message ${asked.value} is not known here`);
      const extensionNumber = [...(index.extensions.get(asked.value)?.keys() ?? [])].sort((a, b) => a - b);
      return { $case: "allExtensionNumbersResponse", value: { baseTypeName: asked.value, extensionNumber } };
    }
    case undefined:
      return failure(Code.INVALID_ARGUMENT, "the request asks for nothing");
  }
}

function files(index: Index, name: string | undefined, what: string, sent: Set<string>): Answer {
  if (name === undefined) return failure(Code.NOT_FOUND, `${what} is not known here`);
  const fileDescriptorProto = index.withImports(name, sent);
  return { $case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function failure(errorCode: Code, errorMessage: string): Answer {
  return { $case: "errorResponse", value: { errorCode, errorMessage } };
}

interface File {
  readonly bytes: Buffer;
  readonly imports: readonly string[];
}

/** The file of each declaration: full names to file names. */
class Index {
  readonly files = new Map<string, File>();
  readonly symbols = new Map<string, string>();
  readonly messages = new Set<string>();
  /** Extended message → field number → file. */
  readonly extensions = new Map<string, Map<number, string>>();

  /** @param sets serialized google.protobuf.FileDescriptorSet; of several files with one name the first is used */
  constructor(sets: Iterable<Uint8Array>) {
    for (const set of new Set(sets)) for (const bytes of filesOf(set)) this.#addFile(bytes);
  }

  /** The bytes of a file, first, and of all files that it imports and `sent` does not have; adds them to `sent`. */
  withImports(name: string, sent: Set<string>): Buffer[] {
    sent.delete(name);
    const found: Buffer[] = [];
    const wanted = [name];
    for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
      const file = this.files.get(next);
      if (file === undefined || sent.has(next)) continue;
      sent.add(next);
      found.push(file.bytes);
      wanted.push(...file.imports);
    }
    return found;
  }

  #addFile(bytes: Uint8Array): void {
    const file = fromBinary(FileDescriptorProtoSchema, bytes);
    if (this.files.has(file.name)) return;
    this.files.set(file.name, { bytes: Buffer.from(bytes), imports: file.dependency });
    const scope = file.package === "" ? "" : `${file.package}.`;
    for (const message of file.messageType) this.#addMessage(file.name, scope, message);
    for (const type of file.enumType) this.#addEnum(file.name, scope, type);
    for (const extension of file.extension) this.#addExtension(file.name, scope, extension);
    for (const service of file.service) {
      this.symbols.set(scope + service.name, file.name);
      for (const method of service.method) this.symbols.set(`${scope}${service.name}.${method.name}`, file.name);
    }
  }

  #addMessage(file: string, outer: string, message: DescriptorProto): void {
    const name = outer + message.name;
    const scope = `${name}.`;
    this.symbols.set(name, file);
    this.messages.add(name);
    for (const { name: member } of [...message.field, ...message.oneofDecl]) this.symbols.set(scope + member, file);
    for (const nested of message.nestedType) this.#addMessage(file, scope, nested);
    for (const type of message.enumType) this.#addEnum(file, scope, type);
    for (const extension of message.extension) this.#addExtension(file, scope, extension);
  }

  /** The values of an enum are named in the scope that the enum itself is named in. */
  #addEnum(file: string, scope: string, type: EnumDescriptorProto): void {
    for (const { name } of [type, ...type.value]) this.symbols.set(scope + name, file);
  }

  #addExtension(file: string, scope: string, { name, extendee, number }: FieldDescriptorProto): void {
    this.symbols.set(scope + name, file);
    const extended = extendee.replace(/^\./, "");
    const numbers = this.extensions.get(extended) ?? new Map<number, string>();
    this.extensions.set(extended, numbers.set(number, file));
  }
}
