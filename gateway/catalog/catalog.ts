/**
 * The catalog: which services there are, what endpoints they have, and the channels that lead to them. It follows the
 * registry's watch and keeps what it knows while the registry is away, so that calls go on.
 *
 * A registry that comes back has at first only those who have already registered again. So whoever it does not name
 * gets some time to do so, before it counts as gone.
 */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { DescMessage, FileRegistry } from "@bufbuild/protobuf";
import type { SYSTEM } from "../../src/access/guard.js";
import { type Endpoint, endpointsOf, readDescriptors, SELF_GOVERNED } from "../../src/contract/endpoint.js";
import {
  type Instance,
  Joined,
  RegistryService,
  type WatchResponse,
} from "../../src/gen/portico/registry/v1/registry.js";
import type { Codec } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";
import type { Logger } from "../../src/log.js";
import { Balancer } from "../../src/rpc/balancer.js";
import type { Channel, Verify } from "../../src/rpc/channel.js";
import { stream } from "../../src/rpc/client.js";
import type { Metadata } from "../../src/rpc/metadata.js";
import { FollowedNames, type Lookup, lookupAll, nameIn } from "./dns.js";
import { type Alternatives, Routes, type Target, type Told } from "./routes.js";

export interface CatalogOptions {
  /** Leads to the registry. */
  readonly channel: Channel;
  /** The enrolment token, where the registry is another process. */
  readonly metadata?: Metadata | undefined;
  readonly admission?: typeof SYSTEM | undefined;
  /**
   * Opens a channel to an instance's address, `in-process:<id>` for one that names none: a new channel each time,
   * which the catalog closes. An address is only what an instance says of itself: anyone enrolled may say any.
   * @param options `verify` is asked of each connection before it takes calls; `ip` is the address of the name to connect to
   */
  readonly connect: (
    address: string,
    instance: { readonly service: string; readonly id: string },
    options: { readonly verify: Verify | undefined; readonly ip: string | undefined },
  ) => Channel;
  /** Default: as this machine resolves names. */
  readonly lookup?: Lookup;
  /** Between looks at the addresses of names, in milliseconds; default 5 s. */
  readonly lookMs?: number;
  /**
   * Reads the contract of the server at the other end of a connection; undefined where it is the given one. Rejects where it
   * cannot be read: then the connection takes no calls.
   */
  readonly readContract: (connection: Channel, known: Announced) => Promise<Announced | undefined>;
  /** How long an instance that the registry does not know after an interruption has to register again; default 10 s. */
  readonly graceMs?: number;
  /**
   * Whether answers leave fields without presence out when they are zero or empty; default false. Those of the authority
   * and the registry never do: our own commands read them.
   */
  readonly omitZeros?: boolean;
  /** Most bytes of a request's message; default 4 MiB. */
  readonly maxMessage?: number;
  readonly log: Logger;
}

export interface Catalog {
  readonly routes: Routes;
  /** Whether everything that is registered has arrived once. */
  readonly ready: boolean;
  /** Resolves when it is ready. */
  readonly arrived: Promise<void>;
  /** Stops following, and closes every channel. */
  close(): void;
}

export function createCatalog(options: CatalogOptions): Catalog {
  return new FollowedCatalog(options);
}

/** Between attempts to reach the registry, in milliseconds. */
const FIRST_WAIT = 100;
const LONGEST_WAIT = 5000;
const GRACE = 10_000;

/** Between looks at the addresses of names, in milliseconds, and how many looks make a lookup though nothing is wrong. */
const LOOK = 5_000;
const LOOKS = 6;

/** What a contract is made of. */
type Announced = Pick<Instance, "service" | "descriptors" | "grpcServices">;

interface Known {
  readonly service: string;
  readonly id: string;
  readonly addresses: ReadonlySet<string>;
  readonly told: Told;
  readonly reflected: boolean;
  /** As announced. */
  readonly contract: Contract;
}

/** An address, and the one of the several that its name has. */
interface Reached {
  readonly address: string;
  readonly ip: string | undefined;
}

/** One address of an instance. */
interface Link {
  readonly channel: Channel;
  /** As the instance was announced with when the channel was opened. */
  readonly announced: Contract;
  /** Of the channel's connection: the announced one, until it was read there. */
  contract: Contract;
  /** Why the contract could not be read last. */
  trouble: string | undefined;
}

/** One service: its instances by id, in the order they joined. */
interface Served {
  readonly instances: Map<string, Known>;
  /** By id and address. The balancer closes their channels. */
  links: ReadonlyMap<string, Link>;
  readonly balancer: Balancer;
}

class FollowedCatalog implements Catalog {
  readonly routes = new Routes();
  readonly #options: CatalogOptions;
  /** By hash: many instances come with the same contract, and many services with the same descriptors. */
  readonly #contracts = new Map<string, Contract>();
  readonly #schemas = new Map<string, Schema>();
  readonly #services = new Map<string, Served>();
  readonly #closing = new AbortController();
  /** Known from an earlier watch, and not named by this one yet. */
  #stale = new Set<Known>();
  #grace: NodeJS.Timeout | undefined;
  #ready = false;
  readonly arrived: Promise<void>;
  #onArrived = (): void => {};
  readonly #names: FollowedNames;
  readonly #looking: NodeJS.Timeout;
  #looks = 0;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#names = new FollowedNames(options.lookup ?? lookupAll, (host) => this.#onAddresses(host));
    this.#looking = setInterval(() => this.#look(), options.lookMs ?? LOOK);
    this.#looking.unref();
    this.arrived = new Promise((resolve) => {
      this.#onArrived = resolve;
    });
    this.#follow();
  }

  get ready(): boolean {
    return this.#ready;
  }

  close(): void {
    this.#closing.abort();
    clearTimeout(this.#grace);
    clearInterval(this.#looking);
    for (const { balancer } of this.#services.values()) balancer.close();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    for (let wait = FIRST_WAIT; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT)) {
      try {
        const { channel, metadata, admission } = this.#options;
        const watch = stream(channel, RegistryService.watch, { metadata, admission, signal });
        watch.send({});
        watch.end();
        this.#restart();
        for await (const news of watch.responses) {
          this.#apply(news);
          wait = FIRST_WAIT;
        }
      } catch (error) {
        if (!signal.aborted) this.#options.log.warn({ err: error, retryMs: wait }, "the registry cannot be followed");
      }
      // Half of it at random, so that gateways do not come back all at once.
      await sleep(wait * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
    }
  }

  #restart(): void {
    clearTimeout(this.#grace);
    this.#grace = undefined;
    this.#stale = new Set([...this.#services.values()].flatMap(({ instances }) => [...instances.values()]));
  }

  #apply({ joined, left, complete }: WatchResponse): void {
    const changed = new Set<string>();
    for (const { service, id } of left) if (this.#leave(service, id)) changed.add(service);
    for (const instance of joined) {
      this.#join(instance);
      changed.add(instance.service);
    }
    for (const service of changed) this.#rebuild(service);
    if (!complete || this.#closing.signal.aborted) return;
    this.#ready = true;
    this.#onArrived();
    if (this.#stale.size > 0) this.#grace ??= setTimeout(() => this.#dropStale(), this.#options.graceMs ?? GRACE);
  }

  #dropStale(): void {
    this.#grace = undefined;
    const gone = [...this.#stale].filter(({ service, id }) => this.#leave(service, id));
    for (const service of new Set(gone.map(({ service }) => service))) this.#rebuild(service);
  }

  #join(instance: Instance): void {
    const { service, id, addresses, reflected } = instance;
    let joined: Known | undefined;
    try {
      const contract = this.#contract(instance);
      const reached = addresses.length === 0 ? [`in-process:${id}`] : addresses;
      joined = { service, id, addresses: new Set(reached), told: toldOf(instance), reflected, contract };
    } catch (error) {
      this.#options.log.error({ service, id, err: error }, "an instance is left out: its descriptors cannot be used");
    }
    // A replaced one is taken out first, so that the new one counts as the newest.
    this.#leave(service, id);
    if (joined === undefined) return;
    let served = this.#services.get(service);
    if (served === undefined) {
      served = { instances: new Map(), links: new Map(), balancer: new Balancer({ name: service }) };
      this.#services.set(service, served);
    }
    served.instances.set(id, joined);
    for (const address of joined.addresses) {
      const host = nameIn(address);
      if (host !== undefined) void this.#names.look(host);
    }
  }

  /**
   * The contract, which its user is to release.
   * @throws {Error} when the bytes are no descriptors, or lack one of the gRPC services.
   */
  #contract({ service, descriptors, grpcServices }: Announced): Contract {
    const omitZeros = this.#options.omitZeros === true && !SELF_GOVERNED.has(service);
    const schemaHash = createHash("sha256").update(descriptors).update(String(omitZeros)).digest("base64");
    const hash = [service, schemaHash, ...grpcServices].join(" ");
    let contract = this.#contracts.get(hash);
    if (contract === undefined) {
      const schema = this.#schemas.get(schemaHash) ?? this.#compile(schemaHash, descriptors, omitZeros);
      contract = { hash, schema, endpoints: endpointsOf(service, schema.types, grpcServices), grpcServices, uses: 0 };
      this.#contracts.set(hash, contract);
      this.#schemas.set(schemaHash, schema);
      schema.uses++;
    }
    contract.uses++;
    return contract;
  }

  #compile(hash: string, descriptors: Buffer, omitZeros: boolean): Schema {
    const types = readDescriptors(descriptors);
    const { maxMessage } = this.#options;
    return { hash, descriptors, types, codec: compileCodecs(types, { omitZeros, maxMessage }), uses: 0 };
  }

  #release(contract: Contract): void {
    contract.uses--;
    if (contract.uses > 0) return;
    this.#contracts.delete(contract.hash);
    contract.schema.uses--;
    if (contract.schema.uses === 0) this.#schemas.delete(contract.schema.hash);
  }

  #leave(service: string, id: string): boolean {
    const instances = this.#services.get(service)?.instances;
    const known = instances?.get(id);
    if (known === undefined) return false;
    instances?.delete(id);
    this.#stale.delete(known);
    this.#release(known.contract);
    return true;
  }

  /** Makes routes and channels fit the service's instances. */
  #rebuild(service: string): void {
    const served = this.#services.get(service);
    if (served === undefined) return;
    const instances = [...served.instances.values()];
    const before = served.links;
    served.links = new Map(instances.flatMap((instance) => this.#connect(instance, served)));
    for (const [key, link] of before) if (served.links.get(key) !== link) this.#release(link.contract);
    this.#balance(served);
    if (instances.length === 0) {
      this.routes.delete(service);
      this.#services.delete(service);
    } else {
      this.#route(service, served);
    }
  }

  #balance({ balancer, links }: Served): void {
    const contracts = new Map([...links.values()].map(({ channel, contract }) => [channel, contract]));
    balancer.update(new Map([...links].map(([key, { channel }]) => [key, channel])), (channel) =>
      contracts.get(channel),
    );
  }

  #connect(known: Known, served: Served): [string, Link][] {
    const { service, id, addresses, contract } = known;
    return this.#reachedAt(addresses).flatMap(({ address, ip }): [string, Link][] => {
      const key = keyOf(id, address, ip);
      const link = served.links.get(key);
      if (link !== undefined && (link.announced === contract || link.contract === contract)) return [[key, link]];
      try {
        return [[key, this.#open(address, ip, known, served)]];
      } catch (error) {
        this.#options.log.error({ service, id, address, err: error }, "an address is left out: no channel leads to it");
        return [];
      }
    });
  }

  /** Each address, and each of the several that a name has. */
  #reachedAt(addresses: ReadonlySet<string>): Reached[] {
    return [...addresses].flatMap((address): Reached[] => {
      const host = nameIn(address);
      const ips = host === undefined ? [] : this.#names.addressesOf(host);
      return ips.length < 2 ? [{ address, ip: undefined }] : ips.map((ip) => ({ address, ip }));
    });
  }

  /** A name has other addresses than before. */
  #onAddresses(host: string): void {
    if (this.#closing.signal.aborted) return;
    for (const [service, { instances }] of this.#services) {
      const has = [...instances.values()].some(({ addresses }) => [...addresses].some((one) => nameIn(one) === host));
      if (has) this.#rebuild(service);
    }
  }

  #look(): void {
    const all = this.#looks++ % LOOKS === 0;
    const hosts = new Set<string>();
    for (const { instances, links } of this.#services.values()) {
      for (const { id, addresses } of instances.values()) {
        for (const { address, ip } of this.#reachedAt(addresses)) {
          const host = nameIn(address);
          if (host === undefined) continue;
          hosts.add(host);
          if (all || links.get(keyOf(id, address, ip))?.channel.state !== "ready") void this.#names.look(host);
        }
      }
    }
    this.#names.keep(hosts);
  }

  #open(address: string, ip: string | undefined, known: Known, served: Served): Link {
    const { service, id, contract, reflected } = known;
    const verify = reflected ? (connection: Channel) => this.#verify(connection, link, known, served) : undefined;
    const link: Link = {
      channel: this.#options.connect(address, { service, id }, { verify, ip }),
      announced: contract,
      contract,
      trouble: undefined,
    };
    contract.uses++;
    return link;
  }

  /**
   * Reads the contract of a new connection's server, and calls it by that from now on.
   * @returns false where it is another one than before: what was encoded for that must not be sent.
   */
  async #verify(connection: Channel, link: Link, { service, id }: Known, served: Served): Promise<boolean> {
    try {
      const { schema, grpcServices } = link.contract;
      const known = { service, descriptors: schema.descriptors, grpcServices: [...grpcServices] };
      const read = await this.#options.readContract(connection, known);
      link.trouble = undefined;
      if (read === undefined) return true;
      if (![...served.links.values()].includes(link)) throw new Error("the instance is gone");
      const contract = this.#contract(read);
      this.#release(link.contract);
      link.contract = contract;
      this.#options.log.info({ service, id }, "an instance has another contract than it was announced with");
      this.#balance(served);
      this.#route(service, served);
      return false;
    } catch (error) {
      const reason = (error as Error).message;
      if (reason !== link.trouble && !this.#closing.signal.aborted) {
        this.#options.log.warn({ service, id, reason }, "a connection is not used: its contract cannot be read");
      }
      link.trouble = reason;
      throw error;
    }
  }

  /** By the contracts of all instances, the newest first; by the newest that can be routed, where these exclude each other. */
  #route(service: string, { balancer, instances, links }: Served): void {
    const told = toldToAll([...instances.values()]);
    const known = [...instances.values()].toReversed().map(({ id, addresses, contract }) => {
      const own = this.#reachedAt(addresses).flatMap(
        ({ address, ip }) => links.get(keyOf(id, address, ip))?.contract ?? [],
      );
      return { id, contracts: own.length === 0 ? [contract] : own };
    });
    const contracts = [...new Set(known.flatMap((each) => each.contracts))];
    const attempts = contracts.length === 1 ? [contracts] : [contracts, ...contracts.map((contract) => [contract])];
    for (const attempt of attempts) {
      try {
        this.routes.set(service, targetsOf(attempt, balancer, told));
        return;
      } catch (error) {
        const id = known.find((each) => each.contracts.includes(attempt[0] as Contract))?.id;
        this.#options.log.error({ service, id, err: error }, "a service's endpoints cannot be routed");
      }
    }
    this.routes.delete(service);
  }
}

function keyOf(id: string, address: string, ip: string | undefined): string {
  return ip === undefined ? `${id} ${address}` : `${id} ${address} ${ip}`;
}

/** By how the registry says that an instance joined. */
function toldOf({ service, joined, identity }: Instance): Told {
  if (SELF_GOVERNED.has(service)) return joined === Joined.WITH_AUTHORITY ? "token" : "nothing";
  if (joined === Joined.WITH_AUTHORITY || joined === Joined.ENROLMENT) return "context";
  return joined === Joined.CONFIGURATION && identity ? "identity" : "nothing";
}

/** The balancer chooses after the metadata is made: what not every instance may be told, none is. */
function toldToAll([first, ...others]: readonly Known[]): Told {
  return first !== undefined && others.every(({ told }) => told === first.told) ? first.told : "nothing";
}

/** What descriptors say, compiled. */
interface Schema {
  /** Of the descriptors, and of how their JSON is written. */
  readonly hash: string;
  readonly descriptors: Buffer;
  readonly types: FileRegistry;
  readonly codec: (type: DescMessage) => Codec;
  /** How many contracts have it. */
  uses: number;
}

/** What instances of a service have in common whose messages mean the same. */
interface Contract {
  readonly hash: string;
  readonly schema: Schema;
  readonly grpcServices: readonly string[];
  readonly endpoints: readonly Endpoint[];
  /** How many instances, and links, have it. */
  uses: number;
}

/** The endpoints of all contracts, each with the newest that has it; those before it are its alternatives. */
function targetsOf(contracts: readonly Contract[], balancer: Balancer, told: Told): Target[] {
  const found = new Map<string, ContractTarget[]>();
  for (const contract of contracts) {
    const channel = balancer.among(contract);
    for (const endpoint of contract.endpoints) {
      const target = new ContractTarget(endpoint, channel, told, contract);
      const { endpoint: name } = endpoint.segments;
      const known = found.get(name);
      // Two of one contract that differ by case alone are refused by the routes.
      if (known?.some((other) => other.contract === contract)) found.set(endpoint.name, [target]);
      else if (known === undefined) found.set(name, [target]);
      else known.push(target);
    }
  }
  return [...found.values()].map((targets) => {
    const [first] = targets as [ContractTarget];
    if (targets.length > 1) first.alternatives = new ContractAlternatives(targets, balancer);
    return first;
  });
}

/** One endpoint in several contracts. */
class ContractAlternatives implements Alternatives {
  readonly #targets: readonly ContractTarget[];
  readonly #contracts: readonly Contract[];
  readonly #balancer: Balancer;

  constructor(targets: readonly ContractTarget[], balancer: Balancer) {
    this.#targets = targets;
    this.#contracts = targets.map(({ contract }) => contract);
    this.#balancer = balancer;
  }

  next(tried: readonly Target[]): Target | undefined {
    const left = this.#contracts.filter(
      (contract) => !tried.some((target) => (target as ContractTarget).contract === contract),
    );
    const contract = this.#balancer.turn(left);
    return this.#targets.find((target) => target.contract === contract);
  }
}

/** Codecs are compiled when first used: a service may have thousands of endpoints that nobody calls. */
class ContractTarget implements Target {
  alternatives: Alternatives | undefined;
  #request: Codec | undefined;
  #response: Codec | undefined;

  constructor(
    readonly endpoint: Endpoint,
    readonly channel: Channel,
    readonly told: Told,
    readonly contract: Contract,
  ) {}

  get types(): FileRegistry {
    return this.contract.schema.types;
  }

  get request(): Codec {
    this.#request ??= this.contract.schema.codec(this.endpoint.method.input);
    return this.#request;
  }

  get response(): Codec {
    this.#response ??= this.contract.schema.codec(this.endpoint.method.output);
    return this.#response;
  }
}
