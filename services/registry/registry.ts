/**
 * The registry: services register their instances, gateways watch them, and callers list the
 * endpoints that they may call. It stores nothing on disk, because every service registers again
 * after a restart.
 */
import type { Logger } from "pino";
import type { KnownCaller } from "../../src/access/callers/known-caller.js";
import { type GrpcTarget, isUnixSocket } from "../../src/address/address.js";
import { isSrvName } from "../../src/address/srv.js";
import { type Guard, isVisible } from "../../src/call/admission.js";
import type { ExternalService } from "../../src/config/configured-services.js";
import { administers } from "../../src/contract/admin-parts.js";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { commentOf, summaryOf } from "../../src/contract/comments.js";
import { type Endpoint, pathOf, subjectOf } from "../../src/contract/endpoint.js";
import { onlyReads } from "../../src/contract/http-rule.js";
import { DEFAULT_NAMESPACE, GATEWAY } from "../../src/contract/names.js";
import { Code, invalidArgument, notFound, permissionDenied, StatusError } from "../../src/errors.js";
import {
  type DescribeRequest,
  type DescribeResponse,
  type Instance,
  type Endpoint as ListedEndpoint,
  type Service as ListedService,
  type ListResponse,
  type RegisterRequest,
  type RegisterResponse,
  RegistryService,
  type WatchRequest,
  type WatchResponse,
} from "../../src/gen/portico/registry/v1/registry.js";
import { type ConfiguredService, ServiceSource } from "../../src/gen/portico/registry/v1/services.js";
import type { MemoryBudget } from "../../src/memory/memory-budget.js";
import { inTurns } from "../../src/overload/pace.js";
import { type BuiltInContext, part, type Service } from "../../src/rpc/service.js";
import { within } from "../../src/within.js";
import { externalServiceOf } from "./configured-service.js";
import { ConfiguredServices } from "./configured-services.js";
import { Directory } from "./directory.js";
import { endpointsOf, type InstanceEntry } from "./entry.js";
import type { Connect } from "./external-reading.js";
import type { ExternalOptions } from "./external-target.js";
import type { NameOwners } from "./name-owners.js";
import { printSteps } from "./print-proto.js";
import { Reach } from "./reach.js";
import { RejectedInstances } from "./rejected-instances.js";
import type { ServiceLog } from "./service-log.js";
import { find, type ServicesOptions, services } from "./services.js";
import type { NameProblem } from "./shared-names.js";

/** How long a stream may be open before its first message, in milliseconds. */
const REGISTER_TIME = 10_000;

interface RegistryOptions {
  /** Decides what each caller may see. */
  readonly guard: Pick<Guard, "allows">;
  /** Services of the configuration file. */
  readonly external: readonly ExternalService[];
  /** The time between two readings of their contracts, in milliseconds; default 30 s. */
  readonly externalRefresh?: number;
  /** Which service each gRPC name belongs to. */
  readonly owners: NameOwners;
  /** Opens a channel to a target of an external service. */
  readonly connect: Connect;
  /**
   * The services in the authority's log. Default: there is no log, and the gRPC service `Services`
   * is not served.
   */
  readonly serviceLog?: ServiceLog;
  /** Whether this process listens at a target; default: it never does. */
  readonly isOwn?: (target: GrpcTarget) => boolean;
  /** As in ExternalOptions. */
  readonly secretFiles?: ExternalOptions["secretFiles"];
  /** As in ServicesOptions; default: every file is as it must be. */
  readonly checkTlsFiles?: ServicesOptions["checkTlsFiles"];
  readonly log: Logger;
  /**
   * The memory budget of the process, from which the reading of contracts reserves; default a
   * separate one.
   */
  readonly budget?: MemoryBudget;
  /**
   * The number of authorities; default 1. Each has its own registry, in which the others are not
   * registered.
   */
  readonly authorities?: () => number;
}

/** An open registry. */
export interface Registry {
  readonly service: Service;
  /**
   * Adds a service of this process. The returned function removes it.
   * @throws {StatusError} (rejects) INVALID_ARGUMENT if the instance is invalid, UNAVAILABLE if the
   *   store fails
   */
  add(instance: Instance): Promise<() => void>;
  /**
   * Whether a service joins without an enrolment, because it is in this process or in the
   * configuration.
   */
  joinsOtherwise(service: string): boolean;
  /**
   * Reads the contract of a service that is to be configured, if its server responds.
   * @throws {StatusError} (rejects) INVALID_ARGUMENT if Portico cannot serve it
   */
  check(service: ConfiguredService): Promise<void>;
  /**
   * Follows these services of the configuration file instead of the previous ones.
   * @throws {ConfigError} if a name is invalid; then nothing has changed
   */
  configure(services: readonly ExternalService[]): void;
  /** Resolves when one attempt was made to read the contract of each target. */
  tried(): Promise<void>;
  /** Ends every registration and watch with UNAVAILABLE. */
  close(): void;
}

/** @throws {ConfigError} if an external service has an invalid name */
export function createRegistry(options: RegistryOptions): Registry {
  const { guard, external, externalRefresh = 30_000, owners, connect, log, budget, authorities = () => 1 } = options;
  const { serviceLog, secretFiles, isOwn = () => false, checkTlsFiles = () => {} } = options;
  const directory = new Directory({ owners, log, budget });
  const rejected = new RejectedInstances();
  const reach = new Reach(authorities);
  const parts = { directory, reach, connect };
  const configured = new ConfiguredServices({ ...parts, serviceLog, secretFiles, refresh: externalRefresh, log });
  configured.setFile(external);

  const visibleTo = (context: BuiltInContext) => (endpoint: Endpoint) => isVisible(guard, context, endpoint);

  const describe = async ({ service }: DescribeRequest, context: BuiltInContext): Promise<DescribeResponse> => {
    const name = service.toLowerCase();
    const entries = directory.services.get(name) ?? [];
    const endpoints = endpointsOf(entries).filter(visibleTo(context));
    if (endpoints.length === 0) {
      throw notFound(`There is no service ${JSON.stringify(service.slice(0, 64))} to be seen`);
    }
    return {
      service: listService({ name, endpoints, problems: [], instances: await reach.count(name, entries) }),
      proto: await inTurns(printSteps(endpoints.map((endpoint) => endpoint.method))),
    };
  };

  return {
    service: {
      name: "registry",
      descriptors: descriptorsOf("portico.registry.v1"),
      parts: [
        part(RegistryService, {
          register: (requests, context) => register({ directory, rejected }, requests, context),
          watch: (requests, context) => watch(directory, requests, context),
          resolve: ({ service }) => ({ addresses: addressesOf(directory.services.get(service) ?? []) }),
          list: (_request, context) => list({ directory, reach, configured }, context, visibleTo(context)),
          describe,
        }),
        ...(serviceLog ? [services({ ...parts, serviceLog, configured, rejected, isOwn, checkTlsFiles })] : []),
      ],
    },
    add: (instance) => directory.claimAndJoin(instance, { local: true }),
    joinsOtherwise: (service) =>
      configured.services.has(service) ||
      directory.services.get(service)?.some(({ token }) => token === undefined) === true,
    async check(service) {
      await find(externalServiceOf(service), { ...parts, configured, isOwn, checkTlsFiles });
    },
    configure: (services) => configured.setFile(services),
    tried: () => configured.external.tried(),
    close() {
      configured.close();
      directory.close();
    },
  };
}

interface ListParts {
  readonly directory: Directory;
  readonly reach: Reach;
  readonly configured: ConfiguredServices;
}

/** The services with at least one visible endpoint, sorted by name. */
async function list(
  { directory, reach, configured }: ListParts,
  { caller, system }: BuiltInContext,
  isVisible: (endpoint: Endpoint) => boolean,
): Promise<ListResponse> {
  const visible = [...directory.services].flatMap(([name, entries]) => {
    const endpoints = endpointsOf(entries).filter(isVisible);
    return endpoints.length === 0 ? [] : [{ name, entries, endpoints }];
  });
  const names = new Set(visible.map(({ name }) => name));
  // The endpoints of an absent service are not known, so the rules cannot decide whether it may be
  // seen.
  const seesAway = system || (caller !== undefined && administers(caller));
  const seesSources = seesAway && (system || caller?.namespace === DEFAULT_NAMESPACE);
  const isShown = (other: string): boolean => names.has(other) || (seesAway && !directory.services.has(other));
  const sourceOf = (name: string): ServiceSource =>
    (seesSources ? configured.services.get(name)?.source : undefined) ?? ServiceSource.SERVICE_SOURCE_UNSPECIFIED;
  const services = await Promise.all(
    visible.map(async ({ name, entries, endpoints }) => {
      const problems = directory.problemsOf(name).filter(({ other }) => other === undefined || isShown(other));
      const instances = await reach.count(name, entries);
      return listService({ name, endpoints, problems, instances, source: sourceOf(name) });
    }),
  );
  const unread = [...(seesSources ? configured.services.keys() : [])]
    .filter((name) => !directory.services.has(name))
    .map((name) => ({ name, source: sourceOf(name), error: configured.external.errorOf(name) ?? "" }));
  return { services: services.sort((a, b) => (a.name < b.name ? -1 : 1)), unread };
}

function watch(
  directory: Directory,
  requests: AsyncIterable<WatchRequest>,
  context: BuiltInContext,
): AsyncGenerator<WatchResponse, void, undefined> {
  checkGateway(context);
  return directory.watch(context.signal, requests);
}

/** Keeps an instance registered for as long as the stream is open. */
async function* register(
  { directory, rejected }: { readonly directory: Directory; readonly rejected: RejectedInstances },
  requests: AsyncIterable<RegisterRequest>,
  context: BuiltInContext,
): AsyncGenerator<RegisterResponse, void, undefined> {
  const stream = requests[Symbol.asyncIterator]();
  const instance = await firstInstance(stream);
  checkEnrolment(instance, context);
  let deregister: (why: StatusError) => void = () => {};
  const isDeregistered = new Promise<never>((_resolve, reject) => {
    deregister = reject;
  });
  // The rejection may come after the stream has ended.
  isDeregistered.catch(() => {});
  const leave = await join(directory, instance, context, deregister).catch((error) => {
    // Its enrolment was checked, so only a service that may register is remembered.
    if (error instanceof StatusError) rejected.add(instance, error);
    throw error;
  });
  rejected.delete(instance);
  try {
    yield { problems: directory.problemsOf(instance.service).map(({ text }) => text) };
    const { done } = await Promise.race([stream.next(), isDeregistered]);
    if (!done) throw invalidArgument("a stream registers one instance; open another stream");
  } finally {
    leave();
  }
}

/** Adds an instance. The returned function removes it. */
async function join(
  directory: Directory,
  instance: Instance,
  context: BuiltInContext,
  onDeregistered: (why: StatusError) => void,
): Promise<() => void> {
  checkReach(instance);
  const token = context.system ? undefined : (context.caller as KnownCaller).sha256;
  // Read in steps, except for a service of this process, which may use names that others may not.
  const contract = context.system ? undefined : await directory.read(instance);
  return directory.claimAndJoin(instance, { local: context.system, token, onDeregistered, contract });
}

async function firstInstance(stream: AsyncIterator<RegisterRequest>): Promise<Instance> {
  const why = `no instance within ${REGISTER_TIME / 1000} s of opening the stream`;
  const late = (): StatusError => new StatusError(Code.DEADLINE_EXCEEDED, why);
  const { value, done } = await within(REGISTER_TIME, stream.next(), late);
  if (done || value.instance === undefined) throw invalidArgument("the first message must have an instance");
  return value.instance;
}

/**
 * @throws {StatusError} PERMISSION_DENIED unless the caller is a gateway: an enrolled service need
 *   not know of others
 */
function checkGateway({ caller, system, endpoint }: BuiltInContext): void {
  if (system || caller?.enrolment === GATEWAY) return;
  throw permissionDenied(`Forbidden call made to ${endpoint}: only gateways may`);
}

function checkEnrolment({ service }: Instance, { caller, system }: BuiltInContext): void {
  if (system || (caller?.enrolment !== undefined && caller.enrolment === service)) return;
  const shown = JSON.stringify(service.slice(0, 80));
  const has = caller?.enrolment === undefined ? "none was given" : `this one is for "${caller.enrolment}"`;
  throw permissionDenied(`Registering ${shown} takes the enrolment token of that name; ${has}`);
}

/**
 * @throws {StatusError} for a Unix socket: an enrolled service must not make gateways connect to
 *   other programs on their machine. For an SRV name too, because only gateways resolve it
 */
function checkReach({ addresses }: Instance): void {
  if (!addresses.some(isForConfiguration)) return;
  const how = "only an administrator may name one as a target of a service";
  throw invalidArgument(`a service cannot register a unix socket or a name with SRV records: ${how}`);
}

function isForConfiguration(address: string): boolean {
  return isUnixSocket(address) || isSrvName(address);
}

function addressesOf(entries: readonly InstanceEntry[]): string[] {
  const addresses = entries.flatMap(({ instance }) => instance.addresses);
  return [...new Set(addresses.filter((address) => !isForConfiguration(address)))];
}

/** The visible part of a service. */
interface Shown {
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  readonly problems: readonly NameProblem[];
  readonly instances: number;
  readonly source?: ServiceSource;
}

function listService({ name, endpoints, problems, instances, source = 0 }: Shown): ListedService {
  const grpcServices = [...new Set(endpoints.map(({ method }) => method.parent))];
  const main = grpcServices.find((grpcService) => grpcService.name.toLowerCase() === name) ?? grpcServices[0];
  return {
    name,
    summary: main === undefined ? "" : summaryOf(commentOf(main, main.file)),
    endpoints: endpoints.map(listEndpoint),
    instances,
    subject: main === undefined ? "" : subjectOf(main),
    problems: problems.map(({ text }) => text),
    source,
  };
}

function listEndpoint(endpoint: Endpoint): ListedEndpoint {
  const { resource, method } = endpoint;
  return {
    resource,
    path: `/v1${pathOf(endpoint)}`,
    summary: commentOf(method, method.parent.file),
    clientStreaming: method.proto.clientStreaming,
    serverStreaming: method.proto.serverStreaming,
    deprecated: endpoint.deprecated,
    reads: onlyReads(method),
  };
}
