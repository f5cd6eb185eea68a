/**
 * Endpoints: what a service's descriptors say can be called, under the one canonical name that rules, logs, metrics
 * and errors use. The gateway routes by them, and servers guard by them.
 */
import {
  createFileRegistry,
  type DescMethod,
  type DescService,
  type FileRegistry,
  fromBinary,
  getOption,
  hasExtension,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema, MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Callers } from "./gen/portico/options/v1/options.js";
import type { Resource } from "./resource.js";

export { Callers };

export type Shape = "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";

export interface Endpoint {
  /** The service's name, `helloworld`. */
  readonly service: string;
  /** Canonical name, `helloworld:Helloworld.Call`: what errors and logs say. */
  readonly name: string;
  /** `service:` and the canonical name: what rules decide on. */
  readonly resource: string;
  /** The same, taken apart and in lower case. */
  readonly segments: Resource;
  /** gRPC path, `/helloworld.Helloworld/Call`. */
  readonly path: string;
  readonly shape: Shape;
  /** Set for endpoints of the authority and the registry, which rules do not govern. */
  readonly callers: Callers | undefined;
  /** Whether a call of the authority or the registry takes away or replaces something; false for all other services. */
  readonly destructive: boolean;
  /** Whether the method or its gRPC service is marked as deprecated. */
  readonly deprecated: boolean;
  readonly method: DescMethod;
}

/** Services whose endpoints say themselves who may call them. No other service may take these names. */
export const SELF_GOVERNED: ReadonlySet<string> = new Set(["auth", "registry"]);

/** First segments of the gateway's own paths: no service may take these names. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(
  "v1 livez readyz openapi explore console metrics gateway".split(" "),
);

/**
 * Reads a serialized google.protobuf.FileDescriptorSet with all its imports.
 * @throws {Error} when the bytes are not one, or an import is missing.
 */
export function readDescriptors(bytes: Uint8Array): FileRegistry {
  const known = read.get(bytes);
  if (known !== undefined) return known;
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));
  read.set(bytes, registry);
  return registry;
}

/** Each set is read once, as it takes tens of milliseconds and the services of a process share theirs. */
const read = new WeakMap<Uint8Array, FileRegistry>();

/**
 * The endpoints of a service, given the full names of the gRPC services it serves. Two gRPC services whose short names
 * agree but for case go by their full names, so that every canonical name stands for one endpoint.
 * @throws {Error} when the descriptors lack one of the gRPC services.
 */
export function endpointsOf(service: string, registry: FileRegistry, grpcServices: readonly string[]): Endpoint[] {
  const found = grpcServices.map((name) => {
    const grpcService = registry.getService(name);
    if (grpcService === undefined) throw new Error(`service ${service}: its descriptors lack the gRPC service ${name}`);
    return grpcService;
  });
  const sharers = (short: string) => found.filter((other) => other.name.toLowerCase() === short.toLowerCase()).length;
  return found.flatMap((grpcService) => {
    const prefix = sharers(grpcService.name) > 1 ? grpcService.typeName : grpcService.name;
    return grpcService.methods.map((method) => endpointOf(service, prefix, grpcService, method, registry));
  });
}

/**
 * An endpoint's path, in the names' own case: `/helloworld/Call`, `/auth/Rules/List`; with a token, below `/v1`. Where the
 * gRPC service is named like the service, its name is left out.
 */
export function pathOf(endpoint: Endpoint): string {
  const { service, method } = endpoint;
  const grpcService = grpcServiceOf(endpoint);
  return grpcService.toLowerCase() === service
    ? `/${service}/${method.name}`
    : `/${service}/${grpcService}/${method.name}`;
}

/** The gRPC service's name as it stands in the endpoint's: `Helloworld` of `helloworld:Helloworld.Call`. */
export function grpcServiceOf({ service, name, method }: Endpoint): string {
  return name.slice(service.length + 1, -method.name.length - 1);
}

function endpointOf(
  service: string,
  prefix: string,
  grpcService: DescService,
  method: DescMethod,
  registry: FileRegistry,
): Endpoint {
  const endpoint = `${prefix}.${method.name}`;
  return {
    service,
    name: `${service}:${endpoint}`,
    resource: `service:${service}:${endpoint}`,
    segments: { type: "service", name: service.toLowerCase(), endpoint: endpoint.toLowerCase() },
    path: `/${grpcService.typeName}/${method.name}`,
    shape: method.methodKind,
    callers: SELF_GOVERNED.has(service) ? callersOf(method, registry) : undefined,
    destructive: SELF_GOVERNED.has(service) && isDestructive(method, registry),
    deprecated: method.deprecated || grpcService.deprecated,
    method,
  };
}

/** The declared callers; an endpoint that declares none is for administrators, so that forgetting opens nothing. */
function callersOf(method: DescMethod, registry: FileRegistry): Callers {
  const option = registry.getExtension("portico.options.v1.callers");
  const declared = option === undefined ? undefined : (getOption(method, option) as Callers);
  return declared || Callers.ADMIN;
}

/** An endpoint that declares neither option counts as destructive, so that forgetting it is safe. */
function isDestructive(method: DescMethod, registry: FileRegistry): boolean {
  if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return false;
  const option = registry.getExtension("portico.options.v1.destructive");
  if (option === undefined || method.proto.options === undefined) return true;
  return !hasExtension(method.proto.options, option) || (getOption(method, option) as boolean);
}
