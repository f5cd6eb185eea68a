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
import { type Endpoint, endpointsOf, readDescriptors, SELF_GOVERNED } from "../src/endpoint.js";
import { type Instance, RegistryService, type WatchResponse } from "../src/gen/portico/registry/v1/registry.js";
import type { SYSTEM } from "../src/guard.js";
import type { Codec } from "../src/json/codec.js";
import { compileCodecs } from "../src/json/compile.js";
import type { Logger } from "../src/log.js";
import { Balancer } from "../src/rpc/balancer.js";
import type { Channel } from "../src/rpc/channel.js";
import { stream } from "../src/rpc/client.js";
import type { Metadata } from "../src/rpc/metadata.js";
import { Routes, type Target } from "./route.js";

export interface CatalogOptions {
  /** Leads to the registry. */
  readonly channel: Channel;
  /** The enrolment token, where the registry is another process. */
  readonly metadata?: Metadata | undefined;
  readonly admission?: typeof SYSTEM | undefined;
  /**
   * Opens a channel to an instance's address, `in-process:<id>` for one that names none: a new channel each time,
   * which the catalog closes. An address is only what an instance says of itself: anyone enrolled may say any.
   */
  readonly connect: (address: string, instance: { readonly service: string; readonly id: string }) => Channel;
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

interface Known {
  readonly service: string;
  readonly id: string;
  readonly addresses: ReadonlySet<string>;
  readonly guarded: boolean;
  readonly endpoints: readonly Endpoint[];
  readonly contract: Contract;
}

/** One service: its instances by id, in the order they joined. */
interface Served {
  readonly instances: Map<string, Known>;
  /** By id and address. The balancer closes them. */
  channels: ReadonlyMap<string, Channel>;
  readonly balancer: Balancer;
}

class FollowedCatalog implements Catalog {
  readonly routes = new Routes();
  readonly #options: CatalogOptions;
  /** By hash: many services and instances come with the same descriptors. */
  readonly #contracts = new Map<string, Contract>();
  readonly #services = new Map<string, Served>();
  readonly #closing = new AbortController();
  /** Known from an earlier watch, and not named by this one yet. */
  #stale = new Set<Known>();
  #grace: NodeJS.Timeout | undefined;
  #ready = false;
  readonly arrived: Promise<void>;
  #onArrived = (): void => {};

  constructor(options: CatalogOptions) {
    this.#options = options;
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

  #join({ service, id, addresses, guarded, descriptors, grpcServices }: Instance): void {
    let joined: Known | undefined;
    try {
      const contract = this.#contract(descriptors, this.#options.omitZeros === true && !SELF_GOVERNED.has(service));
      const endpoints = endpointsOf(service, contract.types, grpcServices);
      contract.uses++;
      this.#contracts.set(contract.hash, contract);
      const reached = addresses.length === 0 ? [`in-process:${id}`] : addresses;
      joined = { service, id, addresses: new Set(reached), guarded, endpoints, contract };
    } catch (error) {
      this.#options.log.error({ service, id, err: error }, "an instance is left out: its descriptors cannot be used");
    }
    // A replaced one is taken out first, so that the new one counts as the newest.
    this.#leave(service, id);
    if (joined === undefined) return;
    let served = this.#services.get(service);
    if (served === undefined) {
      served = { instances: new Map(), channels: new Map(), balancer: new Balancer({ name: service }) };
      this.#services.set(service, served);
    }
    served.instances.set(id, joined);
  }

  /** @throws {Error} when the bytes are no descriptors. */
  #contract(descriptors: Uint8Array, omitZeros: boolean): Contract {
    const hash = createHash("sha256").update(descriptors).update(String(omitZeros)).digest("base64");
    const known = this.#contracts.get(hash);
    if (known !== undefined) return known;
    const types = readDescriptors(descriptors);
    const { maxMessage } = this.#options;
    return { hash, types, codec: compileCodecs(types, { omitZeros, maxMessage }), uses: 0 };
  }

  #leave(service: string, id: string): boolean {
    const instances = this.#services.get(service)?.instances;
    const known = instances?.get(id);
    if (known === undefined) return false;
    instances?.delete(id);
    this.#stale.delete(known);
    known.contract.uses--;
    if (known.contract.uses === 0) this.#contracts.delete(known.contract.hash);
    return true;
  }

  /** Makes routes and channels fit the service's instances. */
  #rebuild(service: string): void {
    const served = this.#services.get(service);
    if (served === undefined) return;
    const instances = [...served.instances.values()];
    served.channels = new Map(instances.flatMap((instance) => this.#connect(instance, served.channels)));
    served.balancer.update(served.channels);
    if (instances.length === 0) {
      this.routes.delete(service);
      this.#services.delete(service);
    } else {
      this.#route(service, served.balancer, instances);
    }
  }

  #connect({ service, id, addresses }: Known, channels: ReadonlyMap<string, Channel>): [string, Channel][] {
    return [...addresses].flatMap((address): [string, Channel][] => {
      try {
        const key = `${id} ${address}`;
        return [[key, channels.get(key) ?? this.#options.connect(address, { service, id })]];
      } catch (error) {
        this.#options.log.error({ service, id, address, err: error }, "an address is left out: no channel leads to it");
        return [];
      }
    });
  }

  /** By the newest instance whose endpoints can be routed. */
  #route(service: string, channel: Channel, instances: readonly Known[]): void {
    // The balancer chooses after the metadata is made, so one foreign instance is enough to keep the token back.
    const guarded = instances.every((instance) => instance.guarded);
    for (const { id, endpoints, contract } of instances.toReversed()) {
      try {
        const targets = endpoints.map((endpoint) => new ContractTarget(endpoint, channel, guarded, contract));
        this.routes.set(service, targets);
        return;
      } catch (error) {
        this.#options.log.error({ service, id, err: error }, "a service's endpoints cannot be routed");
      }
    }
    this.routes.delete(service);
  }
}

/** What descriptors say, compiled. */
interface Contract {
  /** Of the descriptors, and of how their JSON is written. */
  readonly hash: string;
  readonly types: FileRegistry;
  readonly codec: (type: DescMessage) => Codec;
  /** How many instances have it. */
  uses: number;
}

/** Codecs are compiled when first used: a service may have thousands of endpoints that nobody calls. */
class ContractTarget implements Target {
  readonly #contract: Contract;
  #request: Codec | undefined;
  #response: Codec | undefined;

  constructor(
    readonly endpoint: Endpoint,
    readonly channel: Channel,
    readonly guarded: boolean,
    contract: Contract,
  ) {
    this.#contract = contract;
  }

  get types(): FileRegistry {
    return this.#contract.types;
  }

  get request(): Codec {
    this.#request ??= this.#contract.codec(this.endpoint.method.input);
    return this.#request;
  }

  get response(): Codec {
    this.#response ??= this.#contract.codec(this.endpoint.method.output);
    return this.#response;
  }
}
