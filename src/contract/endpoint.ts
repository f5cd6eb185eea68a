/** Endpoints: what can be called of a service, by the one canonical name that rules, routes, logs, metrics and errors use. */
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
import { Callers } from "../gen/portico/options/v1/options.js";
import { SELF_GOVERNED } from "./names.js";
import { ownRegistryOf } from "./own-files.js";
import type { Resource } from "./resource.js";

export { Callers };

/** Which sides of a call stream (gRPC's four kinds of method). */
export type Shape = "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";

/** One gRPC method of a service, as everything in Portico knows it. */
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
  /**
   * Whether plain HTTP takes POST only: an endpoint of the authority or the registry that is not declared free of side
   * effects. A link or an image makes a GET, and a password in a query stands in histories and logs.
   */
  readonly postOnly: boolean;
  /** Whether a path may leave the gRPC service's name out: it is named like the service, or is the service's only one. */
  readonly shortPath: boolean;
  readonly method: DescMethod;
}

/**
 * Reads a serialized google.protobuf.FileDescriptorSet with all its imports.
 * @throws {Error} when the bytes are not one, or an import is missing.
 */
export function readDescriptors(bytes: Uint8Array): FileRegistry {
  const known = read.get(bytes);
  if (known !== undefined) return known;
  const registry = ownRegistryOf(bytes) ?? createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));
  read.set(bytes, registry);
  return registry;
}

/** Each set is read once: reading is slow, and the services of a process share theirs. */
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
  const main = mainOf(service, found);
  const sharers = (short: string) => found.filter((other) => other.name.toLowerCase() === short.toLowerCase()).length;
  return found.flatMap((grpcService) => {
    const prefix = sharers(grpcService.name) > 1 ? grpcService.typeName : grpcService.name;
    return grpcService.methods.map((method) => endpointOf(service, prefix, grpcService === main, method, registry));
  });
}

/** The gRPC service that is meant where a path names none. */
function mainOf(service: string, grpcServices: readonly DescService[]): DescService | undefined {
  const namesakes = grpcServices.filter(({ name }) => name.toLowerCase() === service.toLowerCase());
  const meant = namesakes.length > 0 ? namesakes : grpcServices;
  return meant.length === 1 ? meant[0] : undefined;
}

/**
 * An endpoint's path, in the names' own case: `/helloworld/Call`, `/auth/Rules/List`; with a token, below `/v1`. The gRPC
 * service's name is left out where it may be.
 */
export function pathOf(endpoint: Endpoint): string {
  const { service, method, shortPath } = endpoint;
  return shortPath ? `/${service}/${method.name}` : `/${service}/${grpcServiceOf(endpoint)}/${method.name}`;
}

/** The gRPC service's name as it stands in the endpoint's: `Helloworld` of `helloworld:Helloworld.Call`. */
export function grpcServiceOf({ service, name, method }: Endpoint): string {
  return name.slice(service.length + 1, -method.name.length - 1);
}

/** @param prefix what the gRPC service is called in names */
function endpointOf(
  service: string,
  prefix: string,
  shortPath: boolean,
  method: DescMethod,
  registry: FileRegistry,
): Endpoint {
  const endpoint = `${prefix}.${method.name}`;
  const callers = SELF_GOVERNED.has(service) ? callersOf(method, registry) : undefined;
  return {
    service,
    name: `${service}:${endpoint}`,
    resource: `service:${service}:${endpoint}`,
    segments: { type: "service", name: service.toLowerCase(), endpoint: endpoint.toLowerCase() },
    path: `/${method.parent.typeName}/${method.name}`,
    shape: method.methodKind,
    callers,
    destructive: SELF_GOVERNED.has(service) && isDestructive(method, registry),
    deprecated: method.deprecated || method.parent.deprecated,
    postOnly: callers !== undefined && method.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
    shortPath,
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

const MAX_SUBJECT = 40;

/** The subject that a gRPC service declares by the option `portico.options.v1.subject`; empty for none. */
export function subjectOf(grpcService: DescService): string {
  const extensions = grpcService.file.dependencies.flatMap((file) => file.extensions);
  const option = extensions.find(({ typeName }) => typeName === "portico.options.v1.subject");
  if (option === undefined) return "";
  const subject = getOption(grpcService, option);
  // A foreign contract may declare an option of that name with another type.
  return typeof subject === "string" ? subject.replace(/\p{C}/gu, "").slice(0, MAX_SUBJECT).trim() : "";
}
