/**
 * The instances of one service: their channels, the contract at the end of each channel, and the
 * routes made from the contracts.
 */
import { isDeepStrictEqual } from "node:util";
import { parseGrpcTarget } from "../../src/address/address.js";
import type { ResolvedNames } from "../../src/address/resolved-names.js";
import { isPrivate } from "../../src/address/srv.js";
import { passes } from "../../src/contract/metadata-names.js";
import { SELF_GOVERNED } from "../../src/contract/names.js";
import { type Instance, Joined } from "../../src/gen/portico/registry/v1/registry.js";
import type { ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import type { Logger } from "../../src/log.js";
import { Balancer } from "../../src/rpc/balancer.js";
import type { Channel } from "../../src/rpc/channel.js";
import { EQUAL, type Share } from "../../src/rpc/shares.js";
import type { ChannelOptions } from "../../src/rpc/transport.js";
import { type Announced, type CatalogContract, type Contracts, parseAhead } from "./contracts.js";
import { HealthCheck } from "./health-check.js";
import { PassedMetadata } from "./passed-metadata.js";
import { keyOf, namesIn, type Place, placesOf, sharesOf } from "./places.js";
import { ReportedProblems } from "./reported-problems.js";
import type { Routes } from "./routes.js";
import { type ServiceStatuses, statusesOf } from "./service-statuses.js";
import { type IdentityForm, NO_OPTIONS, targetsOf } from "./target.js";

export interface InstanceConnectOptions {
  /**
   * Opens a channel to an instance's address, or to `in-process:<id>` for an instance without an
   * address. It opens a new channel each time, which the catalog closes. The address is not
   * trusted: any enrolled process may announce any address.
   * @param options `verify` is called for each connection before it takes calls; `ip` is the
   * address of the host name to connect to; `maxBody` is the maximum size of a message that is
   * received, if the service has its own
   */
  readonly connect: (
    address: string,
    instance: Pick<KnownInstance, "service" | "id" | "options">,
    options: Pick<ChannelOptions, "verify" | "ip" | "maxBody">,
  ) => Channel;
  /**
   * Reads the contract of the server at the other end of a connection; undefined if it is the known
   * one. Rejects if it cannot be read: then the connection takes no calls.
   */
  readonly readContract: (connection: Channel, known: Announced) => Promise<Announced | undefined>;
}

export interface InstancesOptions extends InstanceConnectOptions {
  readonly service: string;
  readonly routes: Routes;
  readonly contracts: Contracts;
  readonly names: ResolvedNames;
  readonly log: Logger;
  /** Aborted when the catalog is closed. */
  readonly closing: AbortSignal;
}

/** An instance that the registry has announced, and whose contract has been read. */
export interface KnownInstance {
  readonly service: string;
  readonly id: string;
  readonly addresses: ReadonlySet<string>;
  readonly identity: IdentityForm;
  /** Names of the metadata that passes between the instance and its callers. */
  readonly metadata: readonly string[];
  /** What an administrator has set for the service. */
  readonly options: ServiceOptions;
  /** Its share of the service's calls, relative to the shares of the others. */
  readonly weight: number;
  readonly reflected: boolean;
  /** Text in front of the paths of its bindings. */
  readonly bindingPrefix: string;
  /** The announced contract. */
  readonly contract: CatalogContract;
}

/** Reads an announcement of the registry. @throws {Error} when its descriptors cannot be used */
export function toKnownInstance(instance: Instance, contracts: Contracts): KnownInstance {
  const { service, id, addresses, reflected, metadata, bindingPrefix, options = NO_OPTIONS } = instance;
  const contract = contracts.hold(instance);
  const reachable = new Set(addresses.length === 0 ? [`in-process:${id}`] : addresses);
  const identity = identityFormOf(instance);
  const weight = instance.weight || 1;
  return { service, id, addresses: reachable, identity, metadata, options, weight, reflected, bindingPrefix, contract };
}

/** Whether two announcements of an instance are equal. */
export function isSame(one: KnownInstance, other: KnownInstance): boolean {
  return (
    one.contract === other.contract &&
    one.identity === other.identity &&
    one.reflected === other.reflected &&
    `${one.metadata}` === `${other.metadata}` &&
    one.bindingPrefix === other.bindingPrefix &&
    one.weight === other.weight &&
    isDeepStrictEqual(one.options, other.options) &&
    `${[...one.addresses]}` === `${[...other.addresses]}`
  );
}

/** The channel to one place of an instance. */
interface Link {
  readonly channel: Channel;
  /** The contract with which the instance was announced when the channel was opened. */
  readonly announced: CatalogContract;
  /** With these the channel was opened. */
  readonly options: ServiceOptions;
  readonly health: HealthCheck | undefined;
  /**
   * The contract with which calls are encoded. It is the announced one, until the server itself is
   * found to have another.
   */
  contract: CatalogContract;
  /** Why the contract could not be read the last time. */
  readError: string | undefined;
  /** Whether the instance said at the last check that it serves. */
  isServing: boolean;
}

export class ServiceInstances {
  readonly #options: InstancesOptions;
  readonly #balancer: Balancer;
  /** By ID, in the order in which they joined. */
  readonly #instances = new Map<string, KnownInstance>();
  /** By ID and place. The balancer closes their channels. */
  #links: ReadonlyMap<string, Link> = new Map();
  #statuses: ServiceStatuses | undefined;
  readonly #problems: ReportedProblems;

  constructor(options: InstancesOptions) {
    this.#options = options;
    this.#balancer = new Balancer(options.service);
    this.#problems = new ReportedProblems(options.service, options.log);
  }

  get isEmpty(): boolean {
    return this.#instances.size === 0;
  }

  /** What the balancer of the instances has counted. */
  get counts(): Pick<Balancer, "refused" | "ejections" | "states"> {
    return this.#balancer;
  }

  get(id: string): KnownInstance | undefined {
    return this.#instances.get(id);
  }

  add(instance: KnownInstance): void {
    this.#instances.set(instance.id, instance);
    for (const name of this.#namesOf(instance)) void this.#options.names.resolve(name);
  }

  /** Removes an instance. @returns the removed instance */
  delete(id: string): KnownInstance | undefined {
    const known = this.#instances.get(id);
    if (known === undefined) return undefined;
    this.#instances.delete(id);
    this.#options.contracts.release(known.contract);
    return known;
  }

  close(): void {
    this.#balancer.close();
  }

  has(name: string): boolean {
    return [...this.#instances.values()].some((instance) => this.#namesOf(instance).includes(name));
  }

  /**
   * Resolves the names of instances that cannot be reached everywhere, or of all instances if `all`
   * is true. Adds each name to `seen`.
   */
  resolveNames(all: boolean, seen: Set<string>): void {
    const { names } = this.#options;
    for (const instance of this.#instances.values()) {
      const places = placesOf(instance.addresses, names);
      const isReady = ({ id }: KnownInstance, place: Place): boolean =>
        this.#links.get(keyOf(id, place))?.channel.state === "ready";
      const isReachable = places.length > 0 && places.every((place) => isReady(instance, place));
      for (const name of this.#namesOf(instance)) {
        seen.add(name);
        if (all || !isReachable) void names.resolve(name);
      }
    }
  }

  /** The names that must be resolved to reach an instance. */
  #namesOf({ addresses }: KnownInstance): string[] {
    return namesIn(addresses, this.#options.names);
  }

  /**
   * Opens and closes channels and makes the routes again, after instances or their addresses have
   * changed.
   */
  rebuild(): void {
    const { contracts, routes, service, names } = this.#options;
    const before = this.#links;
    // A new record of an SRV name may name a host that was not known before.
    for (const name of [...this.#instances.values()].flatMap((instance) => this.#namesOf(instance)))
      if (names.addressesOf(name).length === 0) void names.resolve(name);
    this.#links = new Map([...this.#instances.values()].flatMap((instance) => this.#linksOf(instance)));
    for (const [key, link] of before) if (this.#links.get(key) !== link) contracts.release(link.contract);
    this.#balance();
    if (this.isEmpty) routes.delete(service);
    else this.#route();
  }

  #balance(): void {
    const links = this.#links;
    const contracts = new Map([...links.values()].map(({ channel, contract }) => [channel, contract]));
    const channels = new Map([...links].map(([key, { channel }]) => [key, channel]));
    const byKey = sharesOf([...this.#instances.values()], this.#options.names);
    const shares = new Map([...links].map(([key, { channel }]) => [channel, byKey.get(key) ?? EQUAL]));
    const shareOf = (channel: Channel): Share => shares.get(channel) ?? EQUAL;
    this.#balancer.update(channels, (channel) => contracts.get(channel), shareOf);
  }

  /** The links of an instance. Existing links that still fit are reused, the others are opened. */
  #linksOf(instance: KnownInstance): [string, Link][] {
    const { id, addresses, contract, options } = instance;
    return placesOf(addresses, this.#options.names).flatMap((place): [string, Link][] => {
      const key = keyOf(id, place);
      const link = this.#links.get(key);
      const fits = link?.announced === contract || link?.contract === contract;
      if (link !== undefined && fits && isDeepStrictEqual(link.options, options)) return [[key, link]];
      try {
        return [[key, this.#open(place, instance)]];
      } catch (error) {
        const about = { service: this.#options.service, id, address: place.address, err: error };
        this.#options.log.error(about, "an address is left out: no channel leads to it");
        return [];
      }
    });
  }

  #open({ address, ip }: Place, { service, id, options, contract, reflected }: KnownInstance): Link {
    if (options.assertion && !isPrivate(parseGrpcTarget(address)))
      throw new Error("caller assertions are sent over TLS, to a loopback address or a unix socket only");
    const health =
      options === NO_OPTIONS ? undefined : new HealthCheck((isServing) => this.#onHealth(link, id, isServing));
    const verifyBoth = async (connection: Channel): Promise<boolean> => {
      const isSame = !reflected || (await this.#verify(connection, link, id, options));
      await health?.begin(connection);
      return isSame && (link.isServing || !this.#hasOtherThan(link));
    };
    const verify = reflected || health !== undefined ? verifyBoth : undefined;
    const limit = options.maxMessage === 0 ? {} : { maxBody: options.maxMessage };
    const link: Link = {
      channel: this.#options.connect(address, { service, id, options }, { verify, ip, ...limit }),
      announced: contract,
      options,
      health,
      contract,
      readError: undefined,
      isServing: true,
    };
    contract.uses++;
    return link;
  }

  #onHealth(link: Link, id: string, isServing: boolean): void {
    this.#balancer.setServing(link.channel, isServing);
    if (isServing === link.isServing) return;
    link.isServing = isServing;
    const { service, log } = this.#options;
    if (isServing) log.info({ service, id }, "an instance serves again, as its gRPC health says");
    else log.warn({ service, id }, "an instance gets no calls: its gRPC health is NOT_SERVING");
  }

  /** Whether calls that have waited for a link may go to another one. */
  #hasOtherThan(link: Link): boolean {
    const { channel: waited } = link;
    return [...this.#links.values()].some(
      ({ channel, isServing }) => channel !== waited && isServing && channel.state !== "broken",
    );
  }

  /** Asks the instances that have gRPC health whether they serve. */
  checkHealth(): void {
    for (const { health, channel } of this.#links.values()) if (channel.state === "ready") void health?.ask(channel);
  }

  /**
   * Reads the contract of the server of a new connection. Calls on the connection use it from now
   * on.
   * @returns false if it differs from the contract before: messages encoded by the earlier contract
   * must not be sent
   */
  async #verify(connection: Channel, link: Link, id: string, options: ServiceOptions): Promise<boolean> {
    const { service, contracts, readContract, log, closing } = this.#options;
    try {
      const { schema, grpcServices } = link.contract;
      const httpRules = this.#instances.get(id)?.options.httpRules ?? "";
      const known = { service, descriptors: schema.descriptors.bytes, grpcServices: [...grpcServices], httpRules };
      const read = await readContract(connection, known);
      link.readError = undefined;
      if (read === undefined) return true;
      const contract = contracts.hold({ ...read, reflected: true, options });
      await parseAhead(contract, this.#instances.get(id)?.bindingPrefix ?? "");
      if (![...this.#links.values()].includes(link)) {
        contracts.release(contract);
        throw new Error("the instance is gone");
      }
      contracts.release(link.contract);
      link.contract = contract;
      log.info({ service, id }, "an instance has another contract than it was announced with");
      this.#balance();
      this.#route();
      return false;
    } catch (error) {
      const reason = (error as Error).message;
      if (reason !== link.readError && !closing.aborted) {
        log.warn({ service, id, reason }, "a connection is not used: its contract cannot be read");
      }
      link.readError = reason;
      throw error;
    }
  }

  /**
   * Makes the routes from the contracts of all instances, the newest first. If the contracts
   * contradict each other, it uses only one of them.
   */
  #route(): void {
    const { service, routes, log } = this.#options;
    const instances = [...this.#instances.values()];
    const identity = commonIdentityForm(instances);
    const metadata = new PassedMetadata(commonMetadata(instances));
    const serviceOptions = instances.findLast(({ options }) => options !== NO_OPTIONS)?.options ?? NO_OPTIONS;
    this.#balancer.maxCalls = serviceOptions.maxConcurrent || Number.POSITIVE_INFINITY;
    const statuses = this.#statusesOf(serviceOptions);
    const known = instances.toReversed().map(({ id, addresses, contract }) => {
      const own = placesOf(addresses, this.#options.names).flatMap(
        (place) => this.#links.get(keyOf(id, place))?.contract ?? [],
      );
      return { id, contracts: own.length === 0 ? [contract] : own };
    });
    const contracts = [...new Set(known.flatMap((each) => each.contracts))];
    const attempts = contracts.length === 1 ? [contracts] : [contracts, ...contracts.map((contract) => [contract])];
    for (const attempt of attempts) {
      try {
        const problems = routes.set(
          service,
          targetsOf(attempt, this.#balancer, { identity, metadata, options: serviceOptions, statuses }),
          instances.at(-1)?.bindingPrefix,
        );
        // While instances differ, a path of the old one may hide a new path.
        if (contracts.length === 1) this.#problems.report(problems);
        return;
      } catch (error) {
        const id = known.find((each) => each.contracts.includes(attempt[0] as CatalogContract))?.id;
        log.error({ service, id, err: error }, "a service's endpoints cannot be routed");
      }
    }
    routes.delete(service);
  }

  /** The object as before, if the options set the same statuses: it reports one error only. */
  #statusesOf(options: ServiceOptions): ServiceStatuses | undefined {
    const { service, log } = this.#options;
    const name = options.statusMetadata;
    const now = statusesOf(options, (value) => {
      const about = { service, name, value: value.slice(0, MAX_SHOWN) };
      log.warn(about, "a service's HTTP status is ignored: it must be a number from 200 to 599");
    });
    if (!isDeepStrictEqual(now?.options, this.#statuses?.options)) this.#statuses = now;
    return this.#statuses;
  }
}

/** Maximum length of a value in the log. */
const MAX_SHOWN = 40;

/** How the instance learns who calls. It depends on how the instance joined. */
function identityFormOf({ service, joined, identity }: Instance): IdentityForm {
  if (SELF_GOVERNED.has(service)) return joined === Joined.WITH_AUTHORITY ? "token" : "none";
  if (joined === Joined.WITH_AUTHORITY || joined === Joined.ENROLMENT) return "assertion";
  return joined === Joined.CONFIGURATION && identity ? "names" : "none";
}

/**
 * How every instance learns who calls. All need one form, because the metadata is made before the
 * balancer chooses an instance.
 */
function commonIdentityForm([first, ...others]: readonly KnownInstance[]): IdentityForm {
  return first !== undefined && others.every(({ identity }) => identity === first.identity) ? first.identity : "none";
}

/**
 * The names of metadata that may pass for every instance, because the metadata is made before the
 * balancer chooses an instance.
 */
function commonMetadata(instances: readonly KnownInstance[]): readonly string[] {
  const lists = instances.map(({ metadata }) => new Set(metadata));
  const named = new Set(instances.flatMap(({ metadata }) => metadata));
  return [...named].filter((name) => lists.every((names) => passes(names, name)));
}
