/**
 * The gRPC service portico.registry.v1.Services: lists, adds, changes and removes the services that
 * join without an enrolment, in the authority's log.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { GrpcTarget } from "../../src/address/address.js";
import { formatServiceTarget, type ServiceTarget } from "../../src/address/srv.js";
import type { ExternalService } from "../../src/config/configured-services.js";
import { MalformedFileError } from "../../src/config/secret-files.js";
import { builtInOverlapOf } from "../../src/contract/built-in-routes.js";
import { type Endpoint, pathOf } from "../../src/contract/endpoint.js";
import { bindingsOf } from "../../src/contract/http-rule.js";
import { alreadyExists, invalidArgument, notFound, resourceExhausted, StatusError } from "../../src/errors.js";
import { Joined } from "../../src/gen/portico/registry/v1/registry.js";
import type { ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import {
  type FoundEndpoint,
  type ListServicesResponse,
  type PutServiceRequest,
  PutServiceResponse,
  type ServiceListing,
  ServicesService,
} from "../../src/gen/portico/registry/v1/services.js";
import { type BuiltInContext, part, type ServicePart } from "../../src/rpc/service.js";
import { externalServiceOf, listedServiceOf } from "./configured-service.js";
import type { ConfiguredServices, NamedService } from "./configured-services.js";
import type { Directory } from "./directory.js";
import { endpointsOf } from "./entry.js";
import { type Connect, readOnce } from "./external-reading.js";
import { instanceOf } from "./external-target.js";
import { type HttpRules, readHttpRules } from "./http-rules.js";
import type { Reach } from "./reach.js";
import type { ReflectedContract } from "./reflection-client.js";
import type { RejectedInstances } from "./rejected-instances.js";
import type { ServiceLog } from "./service-log.js";

/** Maximum time for reading a contract, and for following a changed service, in milliseconds. */
const READ_MS = 2_000;
/** Maximum time for gateways to apply a change, in milliseconds. */
const CONFIRM_MS = 2_000;
/** Maximum number of calls of `Put` at once: each may have a megabyte of descriptors. */
const MAX_PUTS = 16;
/** Services whose targets are connected to at once, for a list. */
const TRIED_AT_ONCE = 50;
/** The maximum number of characters of all problems in a list, so that it fits into one message. */
const MAX_PROBLEMS = 256 * 1024;

export interface ServicesOptions {
  readonly serviceLog: ServiceLog;
  readonly configured: ConfiguredServices;
  readonly directory: Directory;
  readonly rejected: RejectedInstances;
  readonly reach: Reach;
  readonly connect: Connect;
  /** Whether this process listens at the target. */
  readonly isOwn: (target: GrpcTarget) => boolean;
  /**
   * Reads the files for TLS in the folder of this process.
   * @throws {SecretFileError} as in src/process/service-secrets.ts
   */
  readonly checkTlsFiles: (options: ServiceOptions) => void;
}

type FindOptions = Omit<ServicesOptions, "serviceLog" | "rejected">;

/** The gRPC service portico.registry.v1.Services. */
export function services(options: ServicesOptions): ServicePart {
  const { serviceLog, configured } = options;
  let puts = 0;
  return part(ServicesService, {
    list: async (_, context) => {
      await serviceLog.sync(context);
      return list(options);
    },
    put: async (request, context) => {
      await serviceLog.sync(context);
      if (puts >= MAX_PUTS) throw resourceExhausted("Too many services are added at once; try again");
      puts += 1;
      try {
        return await put(options, request, context);
      } finally {
        puts -= 1;
      }
    },
    delete: async ({ name }, context) => {
      await serviceLog.sync(context);
      if (!serviceLog.services.has(name) && configured.services.has(name)) {
        const file = "in the configuration file of this authority: remove it from the file";
        throw notFound(`The log has no service ${name}. It is ${file}`);
      }
      await serviceLog.delete(context, name);
      await applied(options, name);
      return {};
    },
  });
}

async function list(options: ServicesOptions): Promise<ListServicesResponse> {
  const { configured, rejected } = options;
  const all = [...configured.services.values()];
  const listed: ServiceListing[] = [];
  for (let start = 0; start < all.length; start += TRIED_AT_ONCE) {
    const some = all.slice(start, start + TRIED_AT_ONCE);
    listed.push(...(await Promise.all(some.map((named) => listingOf(named, options)))));
  }
  let length = 0;
  return {
    services: listed.map((listing) => ({
      ...listing,
      problems: listing.problems.filter((problem) => {
        length += problem.length;
        return length <= MAX_PROBLEMS;
      }),
    })),
    rejected: rejected.list(),
  };
}

async function listingOf(
  { service, source }: NamedService,
  { configured, directory, reach }: ServicesOptions,
): Promise<ServiceListing> {
  const { name, targets } = service;
  const problems = directory.problemsOf(name).map(({ text }) => text);
  if (configured.isHidden(name)) problems.push("the configuration file has a service of this name too: it is not used");
  return {
    service: listedServiceOf(service),
    source,
    reachable: await reach.countTargets(targets.map(({ target }) => target)),
    error: configured.external.errorOf(name) ?? "",
    problems,
    endpoints: endpointsOf(directory.services.get(name) ?? []).length,
  };
}

async function put(
  options: ServicesOptions,
  { service: given, dryRun, create, keepDescriptors }: PutServiceRequest,
  context: BuiltInContext,
): Promise<PutServiceResponse> {
  const { serviceLog } = options;
  if (given === undefined) throw invalidArgument("service: must be given");
  const before = serviceLog.services.get(given.name);
  if (create && before !== undefined) throw alreadyExists(`There is a service ${given.name} already`);
  const isKept = keepDescriptors && given.descriptors.length === 0 && before !== undefined;
  const service = externalServiceOf(isKept ? { ...given, descriptors: before.descriptors } : given);
  const found = await find(service, options);
  await serviceLog.put(context, given, { create, keepDescriptors, dryRun });
  if (dryRun) return found;
  const late = await applied(options, service.name);
  // Shown once: whoever has it can make assertions for the service.
  const isNew = given.options?.assertion === true && before?.options?.assertion !== true;
  const verificationKey = isNew ? (serviceLog.assertionKey(service.name)?.toString("base64") ?? "") : "";
  return { ...found, problems: [...found.problems, ...late], verificationKey };
}

/**
 * Waits until this authority follows the service as it is now, and its gateways know it.
 * @returns what has not happened in time
 */
async function applied({ configured, directory }: ServicesOptions, name: string): Promise<string[]> {
  await Promise.race([configured.external.changed(name), sleep(READ_MS, undefined, { ref: false })]);
  const late = await directory.confirmed(name, CONFIRM_MS);
  if (late === 0) return [];
  return [
    `${late} of the gateways that follow this authority ${late === 1 ? "has" : "have"} not applied the change yet`,
  ];
}

function isOfThisProcess(directory: Directory, target: ServiceTarget): boolean {
  const address = formatServiceTarget(target);
  const entries = [...directory.services.values()].flat();
  return entries.some(
    ({ instance }) => instance.joined === Joined.WITH_AUTHORITY && instance.addresses.includes(address),
  );
}

function ownPort(target: ServiceTarget): StatusError {
  const address = formatServiceTarget(target);
  return invalidArgument(
    `service.targets: ${address} is a port of Portico itself, so calls would go in a circle; name the service's own port`,
  );
}

/**
 * What is found in the contract of a service that is to be added.
 * @throws {StatusError} (rejects) INVALID_ARGUMENT if Portico cannot serve it
 */
export async function find(service: ExternalService, options: FindOptions): Promise<PutServiceResponse> {
  const { directory, connect, isOwn } = options;
  for (const { target } of service.targets) {
    if (("host" in target && isOwn(target)) || isOfThisProcess(directory, target)) throw ownPort(target);
  }
  const rules = await readHttpRules(service.options.httpRules).catch((error: Error) => {
    throw invalidArgument(`service.options.http_rules: ${error.message}`, error);
  });
  const problems = [...sharedTargets(service, options), ...unreadableFiles(service, options)];
  let read: ReflectedContract;
  try {
    read = await readOnce(service, connect, READ_MS);
  } catch (error) {
    return PutServiceResponse.fromPartial({ problems, error: (error as Error).message });
  }
  const target = service.targets[0]!;
  if (service.descriptors === undefined && read.grpcServices.some(isOfPortico)) throw ownPort(target.target);
  const { contract, problems: own } = await checked(service, { read, rules }, directory);
  const { bindingPrefix } = service.options;
  return PutServiceResponse.fromPartial({
    endpoints: contract.endpoints.map((endpoint) => foundEndpoint(endpoint, bindingPrefix)),
    problems: [...problems, ...own, ...directory.problemsWith(service.name, contract, bindingPrefix)],
  });
}

/** The gRPC services by which a port of an authority or a gateway is recognized. */
function isOfPortico(grpcService: string): boolean {
  return grpcService.startsWith("portico.registry.v1.") || grpcService.startsWith("portico.auth.v1.");
}

/**
 * The files for TLS that cannot be read now. They may be put into the folder later.
 * @throws {StatusError} INVALID_ARGUMENT for a file that is there, and is no PEM
 */
function unreadableFiles({ descriptors, options }: ExternalService, { checkTlsFiles }: FindOptions): string[] {
  try {
    checkTlsFiles(options);
    return [];
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof MalformedFileError) throw invalidArgument(`service.options.tls: ${message}`, error);
    // Without descriptors, the reading of the contract fails for the same reason.
    return descriptors === undefined ? [] : [`this authority cannot use its certificates: ${message}`];
  }
}

/** @throws {StatusError} (rejects) INVALID_ARGUMENT if Portico cannot serve the contract */
async function checked(
  service: ExternalService,
  { read, rules }: { readonly read: ReflectedContract; readonly rules: HttpRules },
  directory: Directory,
) {
  try {
    const { instance, problems } = instanceOf(service, service.targets[0]!, read, rules);
    return { contract: await directory.read(instance), problems };
  } catch (error) {
    const { message } = error as Error;
    if (service.descriptors === undefined || !(error instanceof StatusError)) throw error;
    throw new StatusError(error.code, `service.descriptors: ${message}`, { cause: error });
  }
}

/** Targets that other services have too, and instances that joined with the name in another way. */
function sharedTargets({ name, targets }: ExternalService, { configured, directory }: FindOptions): string[] {
  const own = new Set(targets.map(({ target }) => formatServiceTarget(target)));
  const problems: string[] = [];
  for (const { service: other } of configured.services.values()) {
    if (other.name === name) continue;
    for (const address of other.targets.map(({ target }) => formatServiceTarget(target))) {
      if (own.has(address)) problems.push(`${address} is a target of ${other.name} too: both call the same server`);
    }
  }
  const entries = directory.services.get(name) ?? [];
  if (entries.some(({ instance }) => instance.joined !== Joined.CONFIGURATION))
    problems.push(`instances of ${name} have joined in another way too: calls go to all of them`);
  return problems;
}

function foundEndpoint(endpoint: Endpoint, prefix: string): FoundEndpoint {
  const { bindings } = bindingsOf(endpoint.method, prefix);
  const served = bindings.filter(({ template, httpMethod }) => !builtInOverlapOf(template, httpMethod)?.isWhole);
  return {
    resource: endpoint.resource,
    path: `/v1${pathOf(endpoint)}`,
    rest: served.map(({ httpMethod, template }) => `${httpMethod} ${template.text}`),
  };
}
