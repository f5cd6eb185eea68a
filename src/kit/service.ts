/** Builds a service from parts that are written with the kit, so that src/rpc can serve it. */
import { readDescriptors } from "../contract/endpoint.js";
import { Code, StatusError } from "../errors.js";
import { type BuiltInContext, grpcServiceOf, type ServicePart as OwnPart, type Service } from "../rpc/service.js";
import type { Call, Part } from "./call.js";
import { type Environment, ServiceCall } from "./service-call.js";

/** A service, and what its calls share. */
export interface CreateServiceOptions {
  /** A google.protobuf.FileDescriptorSet with all parts and all imports. */
  readonly descriptors: Uint8Array;
  readonly environment: Environment;
  /** As in `Service`. */
  readonly store?: Service["store"];
  /** The prefix of the paths of its `google.api.http` annotations. */
  readonly bindingPrefix?: string | undefined;
  /** Names of the headers and metadata that pass between callers and the service. */
  readonly metadata?: readonly string[] | undefined;
}

/** A service whose code is loaded. */
export function createService(
  parts: readonly Part[],
  { descriptors, environment, store, bindingPrefix, metadata }: CreateServiceOptions,
): Service {
  const bound = parts.map((part) => bindPart(part, environment));
  return { name: environment.service, descriptors, store, bindingPrefix, metadata, parts: bound };
}

/**
 * A service whose code is loaded at its first call. It has the gRPC services of the proto package
 * with its name.
 * @throws {Error} if the descriptors have none
 */
export function createLazyService(
  load: () => Promise<readonly Part[]>,
  { descriptors, environment, store }: CreateServiceOptions,
): Service {
  const { service } = environment;
  const names: string[] = [];
  for (const type of readDescriptors(descriptors)) {
    if (type.kind === "service" && type.file.proto.package === service) names.push(type.typeName);
  }
  if (names.length === 0) throw new Error(`service ${service}: no gRPC service is in the proto package ${service}`);
  let loading: Promise<ReadonlyMap<string, OwnPart>> | undefined;
  const loadOnce = (): Promise<ReadonlyMap<string, OwnPart>> => {
    loading ??= load().then((parts) => byName(parts.map((part) => bindPart(part, environment))));
    loading.catch(() => {
      loading = undefined;
    });
    return loading;
  };
  const parts = names.map((grpcService) => ({
    grpcService,
    load: async () => {
      const part = (await loadOnce()).get(grpcService);
      if (part === undefined) throw new Error(`service ${service}: its code lacks the gRPC service ${grpcService}`);
      return part;
    },
  }));
  return { name: service, descriptors, store, parts };
}

function byName(parts: readonly OwnPart[]): ReadonlyMap<string, OwnPart> {
  return new Map(parts.map((part) => [grpcServiceOf(part), part]));
}

/** The part as the dispatcher serves it: each handler gets a Call on top of the context. */
function bindPart({ definition, implementation }: Part, environment: Environment): OwnPart {
  const bound: Record<string, (request: unknown, context: BuiltInContext) => unknown> = {};
  for (const key of Object.keys(definition)) {
    const handler = implementation[key] ?? notImplemented;
    bound[key] = (request, context) => handler.call(implementation, request, new ServiceCall(context, environment));
  }
  return { definition, implementation: bound };
}

/** For a method that is in the contract, but not yet in the code. */
function notImplemented(_request: unknown, { endpoint }: Call): never {
  throw new StatusError(Code.UNIMPLEMENTED, `${endpoint} is not implemented yet`);
}
