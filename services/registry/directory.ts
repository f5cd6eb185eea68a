/**
 * The directory: the instances that serve each service now, in memory. Instances join and leave,
 * and watches are sent the changes.
 *
 * A watch remembers only which instances have changed since its last message. Their state is read
 * when the next message is sent. So a slow watcher misses no final state. A watch takes the memory
 * of a name for each changed instance, but not of all contracts that existed in between. A watch
 * that falls too far behind is ended, and the watcher starts again.
 */
import type { Logger } from "pino";
import { aborted, alreadyExists, Code, invalidArgument, resourceExhausted, StatusError } from "../../src/errors.js";
import {
  type GrpcNames,
  Instance,
  Joined,
  type WatchRequest,
  type WatchResponse,
} from "../../src/gen/portico/registry/v1/registry.js";
import { checkInstance } from "./check-instance.js";
import { type CheckedContract, isContractOf, readContract } from "./contract.js";
import { ContractReader, type ReaderOptions } from "./contract-reader.js";
import { type InstanceEntry, type JoinOptions, sizeOf } from "./entry.js";
import { checkStore } from "./entry-store.js";
import { HeldContracts } from "./held-contracts.js";
import type { NameOwners, OwnersListener } from "./name-owners.js";
import { type NameProblem, SharedNames } from "./shared-names.js";
import { confirmedBy, createWatch, fail, followConfirmations, isIdle, report, type Watch } from "./watch.js";

const MAX_INSTANCES = 10_000;
const MAX_INSTANCES_OF_SERVICE = 1_000;
const MAX_WATCHES = 1_000;
/** The maximum number of unsent changes of a watch. A new watch has fewer. */
const MAX_BEHIND = 2 * MAX_INSTANCES;
/** The maximum size of a message to a watch, in bytes. A single larger instance is sent alone. */
const MESSAGE_SIZE = 256 * 1024;

const keyOf = ({ service, id }: Instance) => `${service}/${id}`;
const nothing = () => {};

export interface DirectoryOptions extends ReaderOptions {
  /** Which service each gRPC name belongs to. */
  readonly owners: NameOwners;
  readonly log: Logger;
}

/** The instances of one registry. */
export class Directory {
  /** In the order in which they joined. */
  readonly #entries = new Map<string, InstanceEntry>();
  readonly #services = new Map<string, readonly InstanceEntry[]>();
  readonly #contracts = new HeldContracts();
  readonly #names: SharedNames;
  readonly #owners: NameOwners;
  readonly #unfollow: () => void;
  readonly #watches = new Set<Watch>();
  readonly #log: Logger;
  readonly #reader: ContractReader;
  #closed = false;

  constructor({ owners, log, budget }: DirectoryOptions) {
    this.#owners = owners;
    this.#names = new SharedNames(owners);
    this.#log = log;
    this.#reader = new ContractReader({ log, budget });
    this.#unfollow = owners.follow((services, released) => this.#onOwners(services, released));
  }

  /** Entries by service, oldest first. The contract of the last one counts as the service's. */
  get services(): ReadonlyMap<string, readonly InstanceEntry[]> {
    return this.#services;
  }

  /**
   * Claims the instance's gRPC names for its service, except names that belong to another one. Then
   * adds the instance like `join`. Claims nothing if the instance is invalid.
   * @throws {StatusError} (rejects) as `join` and `NameOwners.claim`
   */
  async claimAndJoin(given: Instance, options: JoinOptions): Promise<() => void> {
    const { grpcServices } = options.contract ?? this.#check(given, options.local);
    await this.#owners.claim(given.service, grpcServices, options.token);
    options.signal?.throwIfAborted();
    return this.join(given, options);
  }

  /**
   * Adds an instance, which replaces the one with the same service and ID. The returned function
   * removes it.
   * @throws {StatusError} INVALID_ARGUMENT, RESOURCE_EXHAUSTED or UNAVAILABLE; ALREADY_EXISTS if an
   *   instance that registered with another token has the ID; FAILED_PRECONDITION if other
   *   instances of the service store their data in another store. Then nothing has changed
   */
  join(given: Instance, options: JoinOptions): () => void {
    if (this.#closed) throw closing();
    const contract = options.contract ?? this.#check(given, options.local);
    const { service, id, addresses, reflected, identity, metadata, bindingPrefix, weight } = given;
    const { local, token } = options;
    const isConfigured = !local && token === undefined;
    const { descriptors, grpcServices } = contract;
    const instance = Instance.fromPartial({
      service,
      id,
      addresses,
      descriptors,
      reflected,
      grpcServices: [...grpcServices],
      joined: local ? Joined.WITH_AUTHORITY : isConfigured ? Joined.CONFIGURATION : Joined.ENROLMENT,
      identity: token === undefined && identity,
      bindingPrefix,
      metadata,
      options: isConfigured ? given.options : undefined,
      weight: isConfigured ? weight : 0,
    });
    const entry: InstanceEntry = {
      instance,
      contract,
      problems: options.problems ?? [],
      token,
      store: given.store,
      onDeregistered: options.onDeregistered ?? nothing,
    };
    this.#checkCapacity(entry);
    checkStore(entry, this.#services.get(service) ?? []);

    const replaced = this.#entries.get(keyOf(instance));
    // Instances of this process and of the configuration take precedence over enrolled ones.
    if (replaced !== undefined && token !== undefined && replaced.token !== token) throw taken(instance);
    const before = this.#services.get(service)?.at(-1);
    const known = new Set(this.problemsOf(service).map(({ text }) => text));
    if (replaced !== undefined) this.#remove(replaced);
    this.#insert(entry);
    this.#announce(entry);
    // At its start, this process logs all its services in one line.
    const level = local ? "debug" : "info";
    this.#log[level]({ service, id, addresses }, replaced === undefined ? "instance joined" : "instance replaced");
    for (const { text: problem, other } of this.problemsOf(service)) {
      // An enrolled service logs the problems of its own annotations itself, and gateways do too.
      if (known.has(problem) || (other === undefined && instance.joined !== Joined.CONFIGURATION)) continue;
      this.#log.warn({ service, id, other, problem }, "a service has joined that is not served as declared");
    }
    if (before !== undefined && before.contract !== contract && before !== replaced) {
      this.#log.warn(
        { service, id, before: before.instance.id },
        "instances differ in their contract: each is called by its own",
      );
    }
    replaced?.onDeregistered(aborted(`another instance of ${service} registered with the id ${id}`));
    return () => this.#leave(entry);
  }

  /** The names of the service's newest instance that are not served as it declares them. */
  problemsOf(service: string): NameProblem[] {
    const entry = this.#services.get(service)?.at(-1);
    if (entry === undefined) return [];
    const problems = this.#names.problemsOf(service, entry.contract, entry.instance.bindingPrefix);
    return [...entry.problems.map((text) => ({ text, other: undefined })), ...problems];
  }

  /**
   * The names that would not be served as the contract declares them if a service joined with it
   * now. Names without an owner would become its own.
   */
  problemsWith(service: string, contract: CheckedContract, prefix: string): string[] {
    const free = new Set(contract.grpcServices.filter((name) => this.#owners.ownerOf(name) === undefined));
    return this.#names.problemsOf(service, contract, prefix, free).map(({ text }) => text);
  }

  /**
   * Resolves when every watcher has applied the changes of a service until now, or after a time.
   * @param timeMs in milliseconds
   * @returns the number of watchers that have not
   */
  async confirmed(service: string, timeMs: number): Promise<number> {
    const isOver = new AbortController();
    const timer = setTimeout(() => isOver.abort(), timeMs);
    const waits = [...this.#watches].map((watch) => confirmedBy(watch, `${service}/`, isOver.signal));
    const results = await Promise.all(waits);
    clearTimeout(timer);
    return results.filter((isConfirmed) => !isConfirmed).length;
  }

  /**
   * Sends every instance, then each change, until the signal is aborted.
   * @param requests confirm the messages
   */
  async *watch(
    signal: AbortSignal,
    requests: AsyncIterable<WatchRequest>,
  ): AsyncGenerator<WatchResponse, void, undefined> {
    if (this.#closed) throw closing();
    if (this.#watches.size >= MAX_WATCHES) throw resourceExhausted("too many watches");
    const watch = createWatch(
      this.#entries.keys(),
      [...this.#owners.services].map(([service]) => service),
    );
    const stop = () => {
      this.#watches.delete(watch);
      watch.confirms = false;
      report(watch);
      watch.wake();
    };
    void followConfirmations(watch, requests);
    this.#watches.add(watch);
    signal.addEventListener("abort", stop);
    try {
      for (let complete = false; !signal.aborted; ) {
        if (watch.failure !== undefined) throw watch.failure;
        const message = this.#take(watch);
        complete ||= watch.changed.size === 0;
        watch.sent++;
        yield { ...message, complete };
        while (isIdle(watch) && !signal.aborted) {
          await new Promise<void>((resolve) => {
            watch.wake = resolve;
          });
        }
      }
    } finally {
      signal.removeEventListener("abort", stop);
      stop();
    }
  }

  /** Deregisters all instances and ends all watches with UNAVAILABLE. */
  close(): void {
    this.#closed = true;
    this.#unfollow();
    for (const watch of this.#watches) fail(watch, closing());
    this.#watches.clear();
    for (const entry of [...this.#entries.values()]) {
      this.#remove(entry);
      entry.onDeregistered(closing());
    }
  }

  /**
   * Checks an instance that will join, and reads its contract. If another instance has an equal
   * contract, returns that one.
   * @throws {StatusError} (rejects) the errors of `join` and of `ContractReader.read`
   */
  async read(given: Instance): Promise<CheckedContract> {
    try {
      checkInstance(given, false);
      return this.#knownContract(given) ?? (await this.#reader.read(given));
    } catch (error) {
      throw error instanceof StatusError ? error : invalidArgument((error as Error).message, error);
    }
  }

  #check(given: Instance, local: boolean): CheckedContract {
    try {
      checkInstance(given, local);
      const { service, descriptors, grpcServices } = given;
      return this.#knownContract(given) ?? readContract(service, descriptors, grpcServices);
    } catch (error) {
      throw invalidArgument((error as Error).message, error);
    }
  }

  #knownContract({ service, descriptors, grpcServices }: Instance): CheckedContract | undefined {
    const known = new Set(this.#services.get(service)?.map((entry) => entry.contract));
    return [...known].find((contract) => isContractOf(contract, descriptors, grpcServices));
  }

  #checkCapacity({ instance, contract }: InstanceEntry): void {
    const full = (what: string) => resourceExhausted(`the registry is full: ${what}`);
    this.#contracts.check(instance.service, contract);
    if (this.#entries.has(keyOf(instance))) return;
    if (this.#entries.size >= MAX_INSTANCES) throw full(`${MAX_INSTANCES} instances`);
    if ((this.#services.get(instance.service)?.length ?? 0) >= MAX_INSTANCES_OF_SERVICE) {
      throw full(`${MAX_INSTANCES_OF_SERVICE} instances of ${instance.service}`);
    }
  }

  #insert(entry: InstanceEntry): void {
    const { instance, contract } = entry;
    this.#entries.set(keyOf(instance), entry);
    this.#services.set(instance.service, [...(this.#services.get(instance.service) ?? []), entry]);
    this.#contracts.add(instance.service, contract);
    this.#names.add(instance.service, contract, instance.bindingPrefix);
  }

  #remove(entry: InstanceEntry): void {
    const { instance, contract } = entry;
    this.#entries.delete(keyOf(instance));
    this.#names.delete(instance.service, contract, instance.bindingPrefix);
    const others = (this.#services.get(instance.service) ?? []).filter((other) => other !== entry);
    if (others.length > 0) this.#services.set(instance.service, others);
    else this.#services.delete(instance.service);
    this.#contracts.delete(instance.service, contract);
  }

  #leave(entry: InstanceEntry): void {
    const key = keyOf(entry.instance);
    if (this.#entries.get(key) !== entry) return;
    this.#remove(entry);
    this.#announce(entry);
    this.#log.info({ service: entry.instance.service, id: entry.instance.id }, "instance left");
  }

  #announce({ instance }: InstanceEntry): void {
    const key = keyOf(instance);
    for (const watch of this.#watches) {
      watch.changed.delete(key);
      watch.changed.add(key);
      if (watch.changed.size > MAX_BEHIND) {
        this.#watches.delete(watch);
        fail(watch, resourceExhausted("this watch is too slow; watch anew"));
      }
      watch.wake();
    }
  }

  /** A released name goes to another service that declares it: to the one that joined first. */
  #onOwners(services: readonly string[], released: Parameters<OwnersListener>[1]): void {
    for (const watch of this.#watches) {
      for (const service of services) watch.owners.add(service);
      watch.wake();
    }
    for (const { name, service } of released) {
      const next = this.#names.holdersOf(name).find((other) => other !== service);
      if (next === undefined) continue;
      this.#owners.claim(next, [name]).catch((error) => {
        this.#log.warn({ service: next, name, err: error }, "a gRPC name that was released stays without an owner");
      });
    }
  }

  /**
   * Takes as many changes as fit into a message. Owners come first, so that no instance is called
   * by a name of another service.
   */
  #take({ changed, owners: due }: Watch): Omit<WatchResponse, "complete"> {
    const joined: Instance[] = [];
    const left: Instance[] = [];
    const owners: GrpcNames[] = [];
    let size = 0;
    for (const service of due) {
      const names = [...this.#owners.of(service)];
      size += names.join("....").length + 256;
      if (size > MESSAGE_SIZE && owners.length > 0) break;
      due.delete(service);
      owners.push({ service, names });
    }
    if (due.size > 0) return { joined, left, owners, ownersRevision: 0n };
    for (const key of changed) {
      const instance = this.#entries.get(key)?.instance;
      size += sizeOf(instance);
      if (size > MESSAGE_SIZE && joined.length + left.length + owners.length > 0) break;
      changed.delete(key);
      if (instance !== undefined) joined.push(instance);
      else left.push(gone(key));
    }
    return { joined, left, owners, ownersRevision: BigInt(this.#owners.revision) };
  }
}

function gone(key: string): Instance {
  const slash = key.indexOf("/");
  return Instance.fromPartial({ service: key.slice(0, slash), id: key.slice(slash + 1) });
}

function taken({ service, id }: Instance): StatusError {
  return alreadyExists(`another instance of ${service} has the id ${id}; choose another`);
}

function closing(): StatusError {
  return new StatusError(Code.UNAVAILABLE, "the registry is shutting down");
}
