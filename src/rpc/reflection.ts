/**
 * gRPC server reflection, v1 and v1alpha, which have the same messages
 * (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md). A file is served as its
 * original bytes in the services' descriptor sets, so unknown options are preserved. It is sent
 * with all files that it imports, except files that the stream has already sent. grpc-go does the
 * same.
 */
import { descriptorsOf } from "../contract/built-in-files.js";
import { Code } from "../errors.js";
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService,
} from "../gen/grpc/reflection/v1/reflection.js";
import { ServerReflectionService as ServerReflectionAlphaService } from "../gen/grpc/reflection/v1alpha/reflection.js";
import { FileIndex, type FoundFile, type Sees, withImports } from "./file-index.js";
import { type Context, grpcServiceOf, part, type Service, type ServicePart } from "./service.js";

const V1 = "grpc.reflection.v1.ServerReflection";
const V1_ALPHA = "grpc.reflection.v1alpha.ServerReflection";

/** Full names of the gRPC services of reflection. */
export const REFLECTION_SERVICES: readonly string[] = [V1, V1_ALPHA];

type ReflectionResult = NonNullable<ServerReflectionResponse["messageResponse"]>;

/** What a caller may see. */
export interface ReflectionView<Owner> {
  /** Full names of gRPC services, sorted. */
  services(): readonly string[];
  readonly files: FileIndex<Owner>;
  readonly sees: Sees<Owner>;
}

/** The reflection service over the given services and itself. */
export function createReflection(services: readonly Service[]): Service {
  const grpcServices = services.flatMap((service) => service.parts.map(grpcServiceOf));
  const served = [...grpcServices, ...REFLECTION_SERVICES].sort();
  const descriptors = descriptorsOf("grpc.reflection.v1", "grpc.reflection.v1alpha");
  // Created for the first request, because few processes get one.
  let files: FileIndex<undefined> | undefined;
  return {
    name: "reflection",
    descriptors,
    parts: reflectionParts(() => {
      files ??= indexOf(served, [...services.map((service) => service.descriptors), descriptors]);
      return { services: () => served, files, sees: () => true };
    }),
  };
}

function indexOf(served: readonly string[], sets: readonly Uint8Array[]): FileIndex<undefined> {
  const index = new FileIndex<undefined>();
  const owned = served.map((grpcService) => ({ grpcService, owner: undefined }));
  for (const set of new Set(sets)) index.add(set, owned);
  return index;
}

/**
 * The gRPC services of reflection.
 * @param show called for each request, so a change of rules applies to open streams too. To end the
 * stream, it throws or rejects.
 */
export function reflectionParts<Owner>(
  show: (context: Context) => ReflectionView<Owner> | Promise<ReflectionView<Owner>>,
): ServicePart[] {
  async function* serverReflectionInfo(
    requests: AsyncIterable<ServerReflectionRequest>,
    context: Context,
  ): AsyncGenerator<ServerReflectionResponse> {
    const sent = new Set<string>();
    for await (const request of requests) {
      const messageResponse = response(request, await show(context), sent);
      yield { validHost: request.host, originalRequest: request, messageResponse };
    }
  }
  return [
    part(ServerReflectionService, { serverReflectionInfo }),
    part(ServerReflectionAlphaService, { serverReflectionInfo }),
  ];
}

/**
 * The longest name that is looked up: the time of a lookup grows with the name's dots and its
 * length.
 */
const MAX_NAME = 1024;

function response<Owner>(
  { messageRequest: asked }: ServerReflectionRequest,
  { services, files: index, sees }: ReflectionView<Owner>,
  sent: Set<string>,
): ReflectionResult {
  switch (asked?.$case) {
    case "listServices":
      return { $case: "listServicesResponse", value: { service: services().map((name) => ({ name })) } };
    case "fileByFilename":
      return files(isName(asked.value) && index.named(asked.value, sees), `file ${asked.value}`, sent);
    case "fileContainingSymbol":
      return files(isName(asked.value) && index.declaring(asked.value, sees), `symbol ${asked.value}`, sent);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = asked.value;
      const found = isName(containingType) && index.extending(containingType, extensionNumber, sees);
      return files(found, `extension ${extensionNumber} of ${containingType}`, sent);
    }
    case "allExtensionNumbersOfType": {
      const { value: baseTypeName } = asked;
      const extensionNumber = isName(baseTypeName) ? index.extensionNumbers(baseTypeName, sees) : undefined;
      if (extensionNumber === undefined) return notFound(`message ${baseTypeName}`);
      return { $case: "allExtensionNumbersResponse", value: { baseTypeName, extensionNumber } };
    }
    case undefined:
      return failure(Code.INVALID_ARGUMENT, "the request asks for nothing");
  }
}

function isName(name: string): boolean {
  return name.length <= MAX_NAME;
}

function files(found: FoundFile | undefined | false, what: string, sent: Set<string>): ReflectionResult {
  if (!found) return notFound(what);
  sent.delete(found.file.name);
  const files = withImports(found).filter(({ name }) => !sent.has(name));
  for (const { name } of files) sent.add(name);
  return { $case: "fileDescriptorResponse", value: { fileDescriptorProto: files.map(({ bytes }) => bytes) } };
}

function notFound(what: string): ReflectionResult {
  return failure(Code.NOT_FOUND, `${what.slice(0, MAX_NAME)} is not known here`);
}

function failure(errorCode: Code, errorMessage: string): ReflectionResult {
  return { $case: "errorResponse", value: { errorCode, errorMessage } };
}
