/**
 * Endpoints: the gRPC methods of a service. Rules, routes, logs, metrics and errors all use an
 * endpoint's one canonical name.
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
import { AdminPart } from "./admin-parts.js";
import { maxBuiltInRequest } from "./built-in-requests.js";
import { DescriptorSet } from "./descriptor-set.js";
import { hasHttpRule } from "./http-rule.js";
import { SELF_GOVERNED } from "./names.js";
import type { Resource } from "./resource.js";

export { Callers };

/** Which sides of a call stream (the four kinds of gRPC methods). */
export type Shape = "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";

/** One gRPC method of a service, as all parts of Portico use it. */
export interface Endpoint {
  /** The service's name, `helloworld`. */
  readonly service: string;
  /** Canonical name, `helloworld:Helloworld.Call`, for errors and logs. */
  readonly name: string;
  /** `service:` and the canonical name; rules match it. */
  readonly resource: string;
  /** The segments of `resource`, in lower case. */
  readonly segments: Resource;
  /** gRPC path, `/helloworld.Helloworld/Call`. */
  readonly path: string;
  readonly shape: Shape;
  /** Set for endpoints of the authority and the registry, which rules do not govern. */
  readonly callers: Callers | undefined;
  /** The part of administration that the endpoint needs, where it is for administrators. */
  readonly adminPart?: AdminPart | undefined;
  /** Whether who administers only some resources may call it too, because it checks them itself. */
  readonly someResources?: boolean | undefined;
  /**
   * Maximum bytes of a request to the authority or the registry; undefined if only the port's limit
   * applies.
   */
  readonly maxRequest: number | undefined;
  /**
   * Whether a call of the authority or the registry removes or replaces data; false for all other
   * services.
   */
  readonly destructive: boolean;
  /** Whether the method or its gRPC service is marked as deprecated. */
  readonly deprecated: boolean;
  /**
   * Whether plain HTTP accepts only POST. True for endpoints of the authority and the registry,
   * except those that are declared free of side effects: a link or an image sends a GET, and a
   * password in a query gets into histories and logs.
   */
  readonly postOnly: boolean;
  /**
   * Whether a path may omit the gRPC service's name: it is named like the service, or is the
   * service's only one.
   */
  readonly shortPath: boolean;
  /** Full name of the gRPC service, `helloworld.Helloworld`. */
  readonly grpcService: string;
  /** The method's name, `Call`. */
  readonly methodName: string;
  /** Whether the method has a `google.api.http` annotation. */
  readonly annotated: boolean;
  /**
   * The method with its message types. For an endpoint from a DescriptorSet, they are parsed at the
   * first use.
   */
  readonly method: DescMethod;
}

/**
 * Reads a serialized google.protobuf.FileDescriptorSet with all its imports.
 * @throws {Error} if the bytes are not a FileDescriptorSet, or an import is missing
 */
export function readDescriptors(bytes: Uint8Array): Registry {
  let types = read.get(bytes);
  if (types === undefined) {
    types = new DescriptorSet(bytes).types;
    read.set(bytes, types);
  }
  return types;
}

/** Each set is read once, because reading is slow and the services of a process share a set. */
const read = new WeakMap<Uint8Array, Registry>();

/** The data of a gRPC service that its endpoints are made from. */
interface GrpcService {
  readonly typeName: string;
  readonly proto: ServiceDescriptorProto;
  readonly types: () => Registry;
}

/**
 * The endpoints of a service, given the full names of the gRPC services that it serves. If the
 * short names of two gRPC services differ only in case, their full names are used, so that each
 * canonical name is unique.
 * @param types a DescriptorSet, which is not parsed for this, or its types
 * @throws {Error} if the descriptors lack one of the gRPC services
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

/** The gRPC service that a path without a gRPC service's name means. */
function mainOf(service: string, grpcServices: readonly GrpcService[]): GrpcService | undefined {
  const namesakes = grpcServices.filter(({ proto }) => isNamed(proto, service));
  const meant = namesakes.length > 0 ? namesakes : grpcServices;
  return meant.length === 1 ? meant[0] : undefined;
}

function isNamed(grpcService: ServiceDescriptorProto, name: string): boolean {
  return grpcService.name.toLowerCase() === name.toLowerCase();
}

/**
 * An endpoint's path, in the case of the .proto names: `/helloworld/Call`, `/auth/Rules/List`. The
 * path for calls with a token has `/v1` in front. The gRPC service's name is omitted if it may be.
 */
export function pathOf(endpoint: Endpoint): string {
  const { service, methodName, shortPath } = endpoint;
  return shortPath ? `/${service}/${methodName}` : `/${service}/${grpcServiceOf(endpoint)}/${methodName}`;
}

/**
 * The gRPC service's name within the endpoint's name: `Helloworld` of `helloworld:Helloworld.Call`.
 */
export function grpcServiceOf({ service, name, methodName }: Endpoint): string {
  return name.slice(service.length + 1, -methodName.length - 1);
}

/**
 * @param prefix the gRPC service's name within the endpoint's name
 * @param index of the method
 */
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
    adminPart: callers === undefined ? undefined : adminPartOf(callers, method(), types()),
    someResources: callers !== undefined && isForSomeResources(method(), types()),
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

/**
 * The declared callers. An endpoint that declares none is only for administrators, so a forgotten
 * option is safe.
 */
function callersOf(method: DescMethod, registry: Registry): Callers {
  const option = registry.getExtension("portico.options.v1.callers");
  const declared = option === undefined ? undefined : (getOption(method, option) as Callers);
  return declared || Callers.ADMIN;
}

/**
 * The declared part of administration. An endpoint for administrators that declares none needs the
 * scope `admin`, so a forgotten option is safe.
 */
function adminPartOf(callers: Callers, method: DescMethod, registry: Registry): AdminPart | undefined {
  const option = registry.getExtension("portico.options.v1.admin_part");
  const declared = option === undefined ? undefined : (getOption(method, option) as AdminPart);
  return declared || (callers === Callers.ADMIN ? AdminPart.WHOLE : undefined);
}

/** A forgotten option closes the endpoint to who administers only some resources. */
function isForSomeResources(method: DescMethod, registry: Registry): boolean {
  const option = registry.getExtension("portico.options.v1.some_resources");
  return option !== undefined && (getOption(method, option) as boolean);
}

/**
 * Whether a call removes or replaces data. An endpoint that declares neither NO_SIDE_EFFECTS nor
 * the option `destructive` counts as destructive, so a forgotten option is safe.
 */
function isDestructive(method: DescMethod, registry: Registry): boolean {
  if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return false;
  const option = registry.getExtension("portico.options.v1.destructive");
  if (option === undefined || method.proto.options === undefined) return true;
  return !hasExtension(method.proto.options, option) || (getOption(method, option) as boolean);
}

const MAX_SUBJECT = 40;

/**
 * The subject that a gRPC service declares by the option `portico.options.v1.subject`; empty for
 * none.
 */
export function subjectOf(grpcService: DescService): string {
  const extensions = grpcService.file.dependencies.flatMap((file) => file.extensions);
  const option = extensions.find(({ typeName }) => typeName === "portico.options.v1.subject");
  if (option === undefined) return "";
  const subject = getOption(grpcService, option);
  // The contract of an external service may declare an option of that name with another type.
  return typeof subject === "string" ? subject.replace(/\p{C}/gu, "").slice(0, MAX_SUBJECT).trim() : "";
}
