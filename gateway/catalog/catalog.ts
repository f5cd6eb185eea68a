/**
 * The catalog: which services exist, which endpoints they have, and the channels to them. It
 * follows the registries of all authorities. While a registry cannot be reached, the catalog keeps
 * what it knows, so that calls continue.
 *
 * Instances register with each authority. The catalog keeps an instance while any registry names
 * it. So a registry that has just started and does not know all instances yet removes none. When an
 * instance leaves, the catalog looks at the registries that it can follow at present. It removes
 * the instance as soon as none of them names it.
 *
 * This room knows no request and no socket.
 */
import { Authorities, type AuthorityLink } from "../../src/access/follow/authorities.js";
import { type Lookup, ResolvedNames } from "../../src/address/resolved-names.js";
import { lookupBoth } from "../../src/address/srv.js";
import type { Instance, WatchResponse } from "../../src/gen/portico/registry/v1/registry.js";
import type { Logger } from "../../src/log.js";
import type { Channel } from "../../src/rpc/channel.js";
import { type CatalogContract, Contracts, type ContractsOptions, parseAhead } from "./contracts.js";
import {
  type InstanceConnectOptions,
  isSame,
  type KnownInstance,
  ServiceInstances,
  toKnownInstance,
} from "./instances.js";
import {
  type Arrival,
  type KnownOwners,
  keyOf,
  RegistryWatch,
  type WatchListener,
  type WatchOptions,
} from "./registry-watch.js";
import { Routes } from "./routes.js";
import type { Owners } from "./rpc-routes.js";

export interface CatalogOptions extends InstanceConnectOptions, ContractsOptions, WatchOptions {
  /** The channel to the registry, if there is one. */
  readonly channel: Channel;
  /** The authorities with the registries, if there are several. */
  readonly authorities?: Authorities | undefined;
  /** Resolves a host name or an SRV name. Default: the resolver of the operating system. */
  readonly lookup?: Lookup;
  /** Interval of name resolution and of health checks in milliseconds; default 5 s. */
  readonly lookMs?: number;
  readonly log: Logger;
}

const LOOK_MS = 5_000;
/**
 * Each sixth round resolves every name again. The other rounds resolve only names whose addresses
 * cannot be reached.
 */
const ROUNDS = 6;

export class Catalog implements WatchListener {
  readonly routes = new Routes();
  /** Resolves when the catalog is ready. */
  readonly arrived: Promise<void>;
  readonly #options: CatalogOptions;
  readonly #contracts: Contracts;
  readonly #names: ResolvedNames;
  readonly #services = new Map<string, ServiceInstances>();
  readonly #closing = new AbortController();
  readonly #watches = new Map<AuthorityLink, RegistryWatch>();
  readonly #resolving: NodeJS.Timeout;
  #owners: Owners | undefined;
  #rounds = 0;
  #ready = false;
  #onArrived = (): void => {};

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#contracts = new Contracts(options);
    this.#names = new ResolvedNames(options.lookup ?? lookupBoth(), options.log, (host) => this.#onAddresses(host));
    this.#resolving = setInterval(() => this.#lookAgain(), options.lookMs ?? LOOK_MS);
    this.#resolving.unref();
    this.arrived = new Promise((resolve) => {
      this.#onArrived = resolve;
    });
    const { channel, log } = options;
    const { authorities = new Authorities([{ name: "the authority", channel, log }]) } = options;
    const watchAll = (): void => this.#watchAll(authorities.all);
    this.#closing.signal.addEventListener("abort", authorities.onChange(watchAll));
    watchAll();
  }

  /**
   * Whether each registry has named all its instances once or cannot be reached, and at least one
   * has named them.
   */
  get ready(): boolean {
    return this.#ready;
  }

  /** Why a registry cannot be followed, by the authority's name. */
  get errors(): ReadonlyMap<string, Error> {
    const errors = new Map<string, Error>();
    for (const [{ name }, { fault: error }] of this.#watches) if (error !== undefined) errors.set(name, error);
    return errors;
  }

  /** How many calls were refused because a service's instances have too many calls, by service. */
  *refused(): Iterable<readonly [service: string, refused: number]> {
    for (const [service, { counts }] of this.#services) yield [service, counts.refused];
  }

  /** How often an instance was ejected, by service. */
  *ejections(): Iterable<readonly [service: string, ejections: number]> {
    for (const [service, { counts }] of this.#services) yield [service, counts.ejections];
  }

  /** How many instances each service has in each state. */
  *instanceStates(): Iterable<readonly [labels: readonly string[], count: number]> {
    for (const [service, { counts }] of this.#services)
      for (const [state, count] of counts.states) yield [[service, state], count];
  }

  /** Stops following the registries, and closes every channel. */
  close(): void {
    this.#closing.abort();
    clearInterval(this.#resolving);
    for (const watch of this.#watches.values()) watch.close();
    for (const instances of this.#services.values()) instances.close();
  }

  /** Follows the registries of these authorities, and no others. */
  #watchAll(authorities: readonly AuthorityLink[]): void {
    for (const [authority, watch] of this.#watches) {
      if (authorities.includes(authority)) continue;
      this.#watches.delete(authority);
      watch.close();
      this.onGone(watch, [...watch.names]);
    }
    for (const authority of authorities) {
      if (!this.#watches.has(authority))
        this.#watches.set(authority, new RegistryWatch(authority, this.#options, this));
    }
  }

  onArrival({ joined }: WatchResponse): Arrival {
    const acquired: CatalogContract[] = [];
    const parsing: Promise<void>[] = [];
    for (const instance of joined) {
      const contract = this.#tryAcquire(instance);
      if (contract === undefined) continue;
      acquired.push(contract);
      const ahead = parseAhead(contract, instance.bindingPrefix);
      if (ahead !== undefined) parsing.push(ahead);
    }
    const release = (): void => {
      for (const contract of acquired) this.#contracts.release(contract);
    };
    return { ready: parsing.length === 0 ? undefined : Promise.all(parsing), release };
  }

  /**
   * The contract of an instance; undefined if it cannot be read, because `#join` will then leave
   * the instance out.
   */
  #tryAcquire(instance: Instance): CatalogContract | undefined {
    try {
      return this.#contracts.hold(instance);
    } catch {
      return undefined;
    }
  }

  onNews(_watch: RegistryWatch, { joined, left }: WatchResponse): void {
    this.#setOwners();
    const changed = new Set<string>();
    for (const instance of left) {
      for (const watch of this.#watches.values()) watch.forgetUnlessSent(keyOf(instance));
      if (this.#leaveUnlessNamed(keyOf(instance))) changed.add(instance.service);
    }
    for (const instance of joined) if (this.#join(instance)) changed.add(instance.service);
    for (const service of changed) this.#rebuild(service);
  }

  onGone(_watch: RegistryWatch, keys: readonly string[]): void {
    const gone = keys.filter((key) => this.#leaveUnlessNamed(key));
    for (const service of new Set(gone.map((key) => key.slice(0, key.indexOf("/"))))) this.#rebuild(service);
  }

  onTurn(): void {
    const watches = [...this.#watches.values()];
    if (!watches.every(({ hasResponded }) => hasResponded) || !watches.some(({ isComplete }) => isComplete)) return;
    this.#ready = true;
    this.#onArrived();
  }

  /** All registries read the same log, so the registry with the higher revision is right. */
  #setOwners(): void {
    let best: KnownOwners | undefined;
    for (const { owners } of this.#watches.values()) {
      if (owners !== undefined && owners.revision >= (best?.revision ?? 0)) best = owners;
    }
    if (best === undefined || best.byService === this.#owners) return;
    this.#owners = best.byService;
    this.routes.rpc.owners = best.byService;
  }

  /** @returns whether anything has changed */
  #join(instance: Instance): boolean {
    const { service, id } = instance;
    const before = this.#services.get(service)?.get(id);
    let joined: KnownInstance | undefined;
    try {
      joined = toKnownInstance(instance, this.#contracts);
    } catch (error) {
      this.#options.log.error({ service, id, err: error }, "an instance is left out: its descriptors cannot be used");
    }
    if (joined !== undefined && before !== undefined && isSame(joined, before)) {
      this.#contracts.release(joined.contract);
      return false;
    }
    // An instance of the same ID is removed first, so that the new one counts as the newest.
    this.#leave(service, id);
    if (joined !== undefined) this.#instancesOf(service).add(joined);
    return true;
  }

  #instancesOf(service: string): ServiceInstances {
    let instances = this.#services.get(service);
    if (instances === undefined) {
      const { connect, readContract, log } = this.#options;
      const [routes, contracts, names] = [this.routes, this.#contracts, this.#names];
      const closing = this.#closing.signal;
      instances = new ServiceInstances({ service, routes, contracts, names, connect, readContract, log, closing });
      this.#services.set(service, instances);
    }
    return instances;
  }

  /** Removes an instance unless a registry names it. @returns whether it was removed */
  #leaveUnlessNamed(key: string): boolean {
    if ([...this.#watches.values()].some(({ names }) => names.has(key))) return false;
    const slash = key.indexOf("/");
    return this.#leave(key.slice(0, slash), key.slice(slash + 1));
  }

  #leave(service: string, id: string): boolean {
    return this.#services.get(service)?.delete(id) !== undefined;
  }

  #rebuild(service: string): void {
    const instances = this.#services.get(service);
    instances?.rebuild();
    if (instances?.isEmpty) this.#services.delete(service);
  }

  #onAddresses(host: string): void {
    if (this.#closing.signal.aborted) return;
    for (const instances of this.#services.values()) if (instances.has(host)) instances.rebuild();
  }

  #lookAgain(): void {
    const all = this.#rounds++ % ROUNDS === 0;
    const seen = new Set<string>();
    for (const instances of this.#services.values()) {
      instances.resolveNames(all, seen);
      instances.checkHealth();
    }
    this.#names.keep(seen);
  }
}
