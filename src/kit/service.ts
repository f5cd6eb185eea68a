/** Makes a service of parts that are written on the kit, so that src/rpc can serve it. */
import { readDescriptors } from "../contract/endpoint.js";
import type { Part as RpcPart, Service } from "../rpc/service.js";
import type { Environment } from "./call.js";
import { bindPart, type Part } from "./part.js";

/** A service and what its calls share. */
export interface ServiceOptions {
  /** A google.protobuf.FileDescriptorSet with all parts and all imports. */
  readonly descriptors: Uint8Array;
  readonly environment: Environment;
}

/** A service whose code is loaded. */
export function createService(parts: readonly Part[], { descriptors, environment }: ServiceOptions): Service {
  return { name: environment.service, descriptors, parts: parts.map((part) => bindPart(part, environment)) };
}

/**
 * A service whose code is loaded for its first call. It has the gRPC services of the proto package of its name.
 * @throws {Error} when the descriptors have none
 */
export function createLazyService(
  load: () => Promise<readonly Part[]>,
  { descriptors, environment }: ServiceOptions,
): Service {
  const { service } = environment;
  const names: string[] = [];
  for (const type of readDescriptors(descriptors)) {
    if (type.kind === "service" && type.file.proto.package === service) names.push(type.typeName);
  }
  if (names.length === 0) throw new Error(`service ${service}: no gRPC service is in the proto package ${service}`);
  let loading: Promise<ReadonlyMap<string, RpcPart>> | undefined;
  const loadOnce = (): Promise<ReadonlyMap<string, RpcPart>> => {
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
  return { name: service, descriptors, parts };
}

function byName(parts: readonly RpcPart[]): ReadonlyMap<string, RpcPart> {
  return new Map(parts.map((part) => [part.grpcService, part]));
}
