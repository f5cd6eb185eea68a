/**
 * The catalog: which services exist, which endpoints they have, and the channels that lead to them. It follows the
 * registry's watch, and keeps what it knows while the registry is away, so that calls go on.
 *
 * A registry that comes back knows at first only the instances that have registered again. So an instance that it does not
 * name has some time to do so before it counts as gone.
 */
import type { SYSTEM } from "../../src/access/admission.js";
import { type Attempt, follow } from "../../src/follow.js";
import { type Instance, RegistryService, type WatchResponse } from "../../src/gen/portico/registry/v1/registry.js";
import type { Logger } from "../../src/log.js";
import type { Channel } from "../../src/rpc/channel.js";
import { stream } from "../../src/rpc/client.js";
import type { Metadata } from "../../src/rpc/metadata.js";
import { Contracts, type ContractsOptions } from "./contracts.js";
import { type Lookup, lookupAll, ResolvedNames } from "./dns.js";
import { type ConnectOptions, Instances, type KnownInstance, toKnownInstance } from "./instances.js";
import { Routes } from "./routes.js";

export interface CatalogOptions extends ConnectOptions, ContractsOptions {
  /** Leads to the registry. */
  readonly channel: Channel;
  /** The enrolment token, where the registry is another process. */
  readonly metadata?: Metadata | undefined;
  readonly admission?: typeof SYSTEM | undefined;
  /** Resolves a host name; default: as this machine does. */
  readonly lookup?: Lookup;
  /** Between two rounds of name resolution, in milliseconds; default 5 s. */
  readonly lookMs?: number;
  /** How long an instance that the registry does not know after an interruption has to register again; default 10 s. */
  readonly graceMs?: number;
  readonly log: Logger;
}

/** Pauses between attempts to reach the registry, in milliseconds. */
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5000;
const GRACE_MS = 10_000;

const RESOLVE_MS = 5_000;
/** Every name is resolved again in each sixth round; in the others only names whose addresses cannot be reached. */
const ROUNDS = 6;

export class Catalog {
  readonly routes = new Routes();
  /** Resolves when it is ready. */
  readonly arrived: Promise<void>;
  readonly #options: CatalogOptions;
  readonly #contracts: Contracts;
  readonly #names: ResolvedNames;
  readonly #services = new Map<string, Instances>();
  readonly #closing = new AbortController();
  /** Instances known from an earlier watch that the present one has not named yet. */
  #stale = new Set<KnownInstance>();
  #grace: NodeJS.Timeout | undefined;
  readonly #resolving: NodeJS.Timeout;
  #rounds = 0;
  #ready = false;
  #onArrived = (): void => {};

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#contracts = new Contracts(options);
    this.#names = new ResolvedNames(options.lookup ?? lookupAll, (host) => this.#onAddresses(host));
    this.#resolving = setInterval(() => this.#resolveNames(), options.lookMs ?? RESOLVE_MS);
    this.#resolving.unref();
    this.arrived = new Promise((resolve) => {
      this.#onArrived = resolve;
    });
    void follow({
      source: "the registry",
      attempt: (attempt) => this.#watch(attempt),
      onFailure: ({ error, delayMs }) =>
        options.log.warn({ err: error, retryMs: Math.round(delayMs) }, "the registry cannot be followed"),
      firstDelayMs: FIRST_RETRY_MS,
      maxDelayMs: MAX_RETRY_MS,
      signal: this.#closing.signal,
    });
  }

  /** Whether the registry has named all its instances once. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Stops following, and closes every channel. */
  close(): void {
    this.#closing.abort();
    clearTimeout(this.#grace);
    clearInterval(this.#resolving);
    for (const instances of this.#services.values()) instances.close();
  }

  async #watch({ signal, answered }: Attempt): Promise<void> {
    const { channel, metadata, admission } = this.#options;
    const watch = stream(channel, RegistryService.watch, { metadata, admission, signal });
    watch.send({});
    watch.end();
    clearTimeout(this.#grace);
    this.#grace = undefined;
    this.#stale = new Set([...this.#services.values()].flatMap((instances) => [...instances]));
    for await (const news of watch.responses) {
      this.#apply(news);
      answered();
    }
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
    if (this.#stale.size > 0) this.#grace ??= setTimeout(() => this.#dropStale(), this.#options.graceMs ?? GRACE_MS);
  }

  #dropStale(): void {
    this.#grace = undefined;
    const gone = [...this.#stale].filter(({ service, id }) => this.#leave(service, id));
    for (const service of new Set(gone.map(({ service }) => service))) this.#rebuild(service);
  }

  #join(instance: Instance): void {
    const { service, id } = instance;
    let joined: KnownInstance | undefined;
    try {
      joined = toKnownInstance(instance, this.#contracts);
    } catch (error) {
      this.#options.log.error({ service, id, err: error }, "an instance is left out: its descriptors cannot be used");
    }
    // An instance of the same ID is removed first, so that the new one counts as the newest.
    this.#leave(service, id);
    if (joined !== undefined) this.#instancesOf(service).add(joined);
  }

  #instancesOf(service: string): Instances {
    let instances = this.#services.get(service);
    if (instances === undefined) {
      const { connect, readContract, log } = this.#options;
      const [routes, contracts, names] = [this.routes, this.#contracts, this.#names];
      const closing = this.#closing.signal;
      instances = new Instances({ service, routes, contracts, names, connect, readContract, log, closing });
      this.#services.set(service, instances);
    }
    return instances;
  }

  #leave(service: string, id: string): boolean {
    const known = this.#services.get(service)?.delete(id);
    if (known === undefined) return false;
    this.#stale.delete(known);
    return true;
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

  #resolveNames(): void {
    const all = this.#rounds++ % ROUNDS === 0;
    const seen = new Set<string>();
    for (const instances of this.#services.values()) instances.resolveNames(all, seen);
    this.#names.keep(seen);
  }
}
