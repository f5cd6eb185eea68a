/**
 * Endpoints: what can be called of a service, by the one canonical name that rules, routes, logs, metrics and errors use.
 *
 * This room knows no socket and no file.
 */
import { type DescMethod, type DescService, getOption, hasExtension, type Registry } from "@bufbuild/protobuf";
import {
  type MethodDescriptorProto,
  MethodOptions_IdempotencyLevel,
  type ServiceDescriptorProto,
} from "@bufbuild/protobuf/wkt";
import { Callers } from "../gen/portico/options/v1/options.js";
import { maxBuiltInRequest } from "./built-in-requests.js";
import { DescriptorSet } from "./descriptor-set.js";
import { hasHttpRule } from "./http-rule.js";
import { SELF_GOVERNED } from "./names.js";
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
  /** Most bytes of a request to the authority or the registry; undefined where the port's limit holds. */
  readonly maxRequest: number | undefined;
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
  /** Full name of the gRPC service, `helloworld.Helloworld`. */
  readonly grpcService: string;
  /** The method's name, `Call`. */
  readonly methodName: string;
  /** Whether the method has a `google.api.http` annotation. */
  readonly annotated: boolean;
  /** The method with its message types. Of an endpoint that was read from a DescriptorSet they are parsed at the first use. */
  readonly method: DescMethod;
}

/**
 * Reads a serialized google.protobuf.FileDescriptorSet with all its imports.
 * @throws {Error} when the bytes are not one, or an import is missing.
 */
export function readDescriptors(bytes: Uint8Array): Registry {
  let types = read.get(bytes);
  if (types === undefined) {
    types = new DescriptorSet(bytes).types;
    read.set(bytes, types);
  }
  return types;
}

/** Each set is read once: reading is slow, and the services of a process share theirs. */
const read = new WeakMap<Uint8Array, Registry>();

/** A gRPC service as the endpoints are made of it. */
interface GrpcService {
  readonly typeName: string;
  readonly proto: ServiceDescriptorProto;
  readonly types: () => Registry;
}

/**
 * The endpoints of a service, given the full names of the gRPC services it serves. Two gRPC services whose short names
 * agree but for case go by their full names, so that every canonical name stands for one endpoint.
 * @param types a DescriptorSet, which is not parsed for this, or its types
 * @throws {Error} when the descriptors lack one of the gRPC services.
 */
export function endpointsOf(
  service: string,
  types: DescriptorSet | Registry,
  grpcServices: readonly string[],
): Endpoint[] {
  const found = grpcServices.map((typeName): GrpcService => {
    const isSet = types instanceof DescriptorSet;
    const proto = isSet ? types.declarationOf(typeName) : types.getService(typeName)?.proto;
    if (proto === undefined) {
      throw new Error(`service ${service}: its descriptors lack the gRPC service ${typeName}`);
    }
    return { typeName, proto, types: isSet ? () => types.types : () => types };
  });
  const main = mainOf(service, found);
  const sharers = (short: string) => found.filter(({ proto }) => isNamed(proto, short)).length;
  return found.flatMap((grpcService) => {
    const { typeName, proto } = grpcService;
    const prefix = sharers(proto.name) > 1 ? typeName : proto.name;
    return proto.method.map((_, index) => endpointOf(service, prefix, grpcService === main, grpcService, index));
  });
}

/** The gRPC service that is meant where a path names none. */
function mainOf(service: string, grpcServices: readonly GrpcService[]): GrpcService | undefined {
  const namesakes = grpcServices.filter(({ proto }) => isNamed(proto, service));
  const meant = namesakes.length > 0 ? namesakes : grpcServices;
  return meant.length === 1 ? meant[0] : undefined;
}

function isNamed(grpcService: ServiceDescriptorProto, name: string): boolean {
  return grpcService.name.toLowerCase() === name.toLowerCase();
}

/**
 * An endpoint's path, in the names' own case: `/helloworld/Call`, `/auth/Rules/List`; with a token, below `/v1`. The gRPC
 * service's name is left out where it may be.
 */
export function pathOf(endpoint: Endpoint): string {
  const { service, methodName, shortPath } = endpoint;
  return shortPath ? `/${service}/${methodName}` : `/${service}/${grpcServiceOf(endpoint)}/${methodName}`;
}

/** The gRPC service's name as it stands in the endpoint's: `Helloworld` of `helloworld:Helloworld.Call`. */
export function grpcServiceOf({ service, name, methodName }: Endpoint): string {
  return name.slice(service.length + 1, -methodName.length - 1);
}

/** @param prefix what the gRPC service is called in names. @param index of the method */
function endpointOf(
  service: string,
  prefix: string,
  shortPath: boolean,
  { typeName, proto, types }: GrpcService,
  index: number,
): Endpoint {
  const declared = proto.method[index] as MethodDescriptorProto;
  const endpoint = `${prefix}.${declared.name}`;
  const method = (): DescMethod => types().getService(typeName)?.methods[index] as DescMethod;
  const own = SELF_GOVERNED.has(service);
  const path = `/${typeName}/${declared.name}`;
  const callers = own ? callersOf(method(), types()) : undefined;
  return {
    service,
    name: `${service}:${endpoint}`,
    resource: `service:${service}:${endpoint}`,
    segments: { type: "service", name: service.toLowerCase(), endpoint: endpoint.toLowerCase() },
    path,
    shape: shapeOf(declared),
    callers,
    maxRequest: callers === undefined ? undefined : maxBuiltInRequest(path, callers),
    destructive: own && isDestructive(method(), types()),
    deprecated: (declared.options?.deprecated ?? false) || (proto.options?.deprecated ?? false),
    postOnly: own && declared.options?.idempotencyLevel !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
    shortPath,
    grpcService: typeName,
    methodName: declared.name,
    annotated: hasHttpRule(declared),
    get method() {
      return method();
    },
  };
}

function shapeOf({ clientStreaming, serverStreaming }: MethodDescriptorProto): Shape {
  if (clientStreaming) return serverStreaming ? "bidi_streaming" : "client_streaming";
  return serverStreaming ? "server_streaming" : "unary";
}

/** The declared callers; an endpoint that declares none is for administrators, so that forgetting opens nothing. */
function callersOf(method: DescMethod, registry: Registry): Callers {
  const option = registry.getExtension("portico.options.v1.callers");
  const declared = option === undefined ? undefined : (getOption(method, option) as Callers);
  return declared || Callers.ADMIN;
}

/** An endpoint that declares neither option counts as destructive, so that forgetting it is safe. */
function isDestructive(method: DescMethod, registry: Registry): boolean {
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
