/**
 * The directory: the instances that serve each service now, in memory. They join and leave; watches are sent the changes.
 *
 * A watch remembers which instances have changed since it was last sent something, not what happened to them: what it
 * is sent is read when it is sent. So a slow watcher misses no outcome, and costs a name for each changed instance
 * rather than every contract there ever was in between. One that falls too far behind is cut, and starts anew.
 */
import type { Logger } from "pino";
import {
  aborted,
  alreadyExists,
  Code,
  failedPrecondition,
  invalidArgument,
  resourceExhausted,
  StatusError,
} from "../../src/errors.js";
import { type GrpcNames, Instance, Joined, type WatchResponse } from "../../src/gen/portico/registry/v1/registry.js";
import { checkInstance } from "./check-instance.js";
import { type CheckedContract, isContractOf, readContract } from "./contract.js";
import { ContractReader, type ReaderOptions } from "./contract-reader.js";
import type { InstanceEntry, JoinOptions } from "./entry.js";
import { HeldFiles } from "./held-files.js";
import type { NameOwners, OwnersListener } from "./name-owners.js";
import { type NameProblem, SharedNames } from "./shared-names.js";

const MAX_INSTANCES = 10_000;
const MAX_INSTANCES_OF_SERVICE = 1_000;
/** Of descriptors in all, in bytes. */
const MAX_BYTES = 256 * 1024 ** 2;
/** Of descriptors in all, parsed: about a kilobyte each. Files that several contracts have are parsed and counted once. */
const MAX_ELEMENTS = 300_000;
const MAX_WATCHES = 1_000;
/** Changed instances that a watch has not been sent; more than there can be at its start. */
const MAX_BEHIND = 2 * MAX_INSTANCES;
/** Of a message to a watch, in bytes, unless one instance alone is larger. */
const MESSAGE_SIZE = 256 * 1024;

interface Watch {
  /** Keys of instances, in the order in which they changed last. */
  readonly changed: Set<string>;
  /** Services whose gRPC names have changed. */
  readonly owners: Set<string>;
  failure: StatusError | undefined;
  wake: () => void;
}

const keyOf = ({ service, id }: Instance) => `${service}/${id}`;
const nothing = () => {};

/** What a directory is opened with. */
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
  /** How many entries hold each contract. */
  readonly #contracts = new Map<CheckedContract, number>();
  readonly #names: SharedNames;
  readonly #owners: NameOwners;
  readonly #unfollow: () => void;
  #bytes = 0;
  readonly #files = new HeldFiles();
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

  /** Entries by service, oldest first: the last one's contract is the service's. */
  get services(): ReadonlyMap<string, readonly InstanceEntry[]> {
    return this.#services;
  }

  /**
   * Gives the service of an instance that is to join those of its gRPC names that are nobody's; then adds it, as `join`.
   * Nothing is given where the instance is wrong.
   * @throws {StatusError} (rejects with one) as `join` and `NameOwners.claim`
   */
  async claimAndJoin(given: Instance, options: JoinOptions): Promise<() => void> {
    const { grpcServices } = options.contract ?? this.#check(given, options.local);
    await this.#owners.claim(given.service, grpcServices, options.token);
    return this.join(given, options);
  }

  /**
   * Adds an instance, in place of the one with its service and id. The returned function takes it out again.
   * @throws {StatusError} INVALID_ARGUMENT, RESOURCE_EXHAUSTED or UNAVAILABLE, ALREADY_EXISTS where the id is held by an
   * instance that did not register with the same token, and FAILED_PRECONDITION where others of the service keep what they are
   * given in another store; then nothing has changed.
   */
  join(given: Instance, options: JoinOptions): () => void {
    if (this.#closed) throw closing();
    const contract = options.contract ?? this.#check(given, options.local);
    const { service, id, addresses, reflected, identity, metadata, bindingPrefix } = given;
    const { local, token } = options;
    const { descriptors, grpcServices } = contract;
    const instance = Instance.fromPartial({
      service,
      id,
      addresses,
      descriptors,
      reflected,
      grpcServices: [...grpcServices],
      joined: local ? Joined.WITH_AUTHORITY : token === undefined ? Joined.CONFIGURATION : Joined.ENROLMENT,
      identity: token === undefined && identity,
      bindingPrefix,
      metadata,
    });
    const entry: InstanceEntry = {
      instance,
      contract,
      token,
      store: given.store,
      onDeregistered: options.onDeregistered ?? nothing,
    };
    this.#checkRoom(entry);
    this.#checkStore(entry);

    const replaced = this.#entries.get(keyOf(instance));
    // What this process and the configuration say comes before what an enrolled service says of itself.
    if (replaced !== undefined && token !== undefined && replaced.token !== token) throw taken(instance);
    const before = this.#services.get(service)?.at(-1);
    const known = new Set(this.problemsOf(service).map(({ text }) => text));
    if (replaced !== undefined) this.#remove(replaced);
    this.#insert(entry);
    this.#announce(entry);
    // Whoever opens this process says in one line which services it has.
    const level = local ? "debug" : "info";
    this.#log[level]({ service, id, addresses }, replaced === undefined ? "instance joined" : "instance replaced");
    for (const { text: problem, other } of this.problemsOf(service)) {
      // What is wrong with its own annotations, an enrolled service says in its own log, and gateways in theirs.
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

  /** What is not served as the newest instance of a service declares it. */
  problemsOf(service: string): NameProblem[] {
    const entry = this.#services.get(service)?.at(-1);
    return entry === undefined ? [] : this.#names.problemsOf(service, entry.contract, entry.instance.bindingPrefix);
  }

  /** Sends every instance, then each change, until the signal is aborted. */
  async *watch(signal: AbortSignal): AsyncGenerator<WatchResponse, void, undefined> {
    if (this.#closed) throw closing();
    if (this.#watches.size >= MAX_WATCHES) throw resourceExhausted("too many watches");
    const watch: Watch = {
      changed: new Set(this.#entries.keys()),
      owners: new Set([...this.#owners.services].map(([service]) => service)),
      failure: undefined,
      wake: nothing,
    };
    const stop = () => {
      this.#watches.delete(watch);
      watch.wake();
    };
    this.#watches.add(watch);
    signal.addEventListener("abort", stop);
    try {
      for (let complete = false; !signal.aborted; ) {
        if (watch.failure !== undefined) throw watch.failure;
        const message = this.#take(watch);
        complete ||= watch.changed.size === 0;
        yield { ...message, complete };
        while (isIdle(watch) && !signal.aborted) {
          await new Promise<void>((resolve) => {
            watch.wake = resolve;
          });
        }
      }
    } finally {
      signal.removeEventListener("abort", stop);
      this.#watches.delete(watch);
    }
  }

  /** Puts everyone out with UNAVAILABLE. */
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
   * Checks an instance that will join, and reads its contract: the one of an instance that has an equal one, or by the reader.
   * @throws {StatusError} (rejects) as `join` throws, and as the reader's `read`
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

  #checkRoom({ instance, contract }: InstanceEntry): void {
    const full = (what: string) => resourceExhausted(`the registry is full: ${what}`);
    const more = this.#contracts.has(contract) ? 0 : contract.descriptors.length;
    if (this.#bytes + more > MAX_BYTES) throw full(`${MAX_BYTES} bytes of descriptors`);
    if (this.#files.elements + this.#files.moreBy(contract) > MAX_ELEMENTS)
      throw full(`${MAX_ELEMENTS} elements of descriptors`);
    if (this.#entries.has(keyOf(instance))) return;
    if (this.#entries.size >= MAX_INSTANCES) throw full(`${MAX_INSTANCES} instances`);
    if ((this.#services.get(instance.service)?.length ?? 0) >= MAX_INSTANCES_OF_SERVICE) {
      throw full(`${MAX_INSTANCES_OF_SERVICE} instances of ${instance.service}`);
    }
  }

  /** What one instance was given, callers would not find at another. */
  #checkStore({ instance, store }: InstanceEntry): void {
    if (store === undefined) return;
    const { service, id } = instance;
    for (const other of this.#services.get(service) ?? []) {
      if (other.instance.id === id || other.store === undefined || other.store.id === store.id) continue;
      const [mine, theirs] = [store, other.store].map(({ name }) => name.slice(0, 200));
      const isLocal = other.instance.joined === Joined.WITH_AUTHORITY;
      const who = isLocal ? "the one in the authority's own process" : `one that runs (${other.instance.id})`;
      const remedy = isLocal
        ? `. On the authority's machine, name that store in PORTICO_SERVICE_STORE, or the authority's data folder in PORTICO_DATA; ` +
          `or leave ${service} out of PORTICO_OWN_SERVICES there`
        : "";
      throw failedPrecondition(
        `this instance of ${service} keeps its data in ${mine}, and ${who} in ${theirs}: name one ` +
          "store for both in PORTICO_SERVICE_STORE, which is a database where they run on several machines; or stop the other" +
          remedy,
      );
    }
  }

  #insert(entry: InstanceEntry): void {
    const { instance, contract } = entry;
    this.#entries.set(keyOf(instance), entry);
    this.#services.set(instance.service, [...(this.#services.get(instance.service) ?? []), entry]);
    const holders = this.#contracts.get(contract) ?? 0;
    if (holders === 0) {
      this.#bytes += contract.descriptors.length;
      this.#files.add(contract);
    }
    this.#contracts.set(contract, holders + 1);
    this.#names.add(instance.service, contract, instance.bindingPrefix);
  }

  #remove(entry: InstanceEntry): void {
    const { instance, contract } = entry;
    this.#entries.delete(keyOf(instance));
    this.#names.delete(instance.service, contract, instance.bindingPrefix);
    const others = (this.#services.get(instance.service) ?? []).filter((other) => other !== entry);
    if (others.length > 0) this.#services.set(instance.service, others);
    else this.#services.delete(instance.service);
    const holders = (this.#contracts.get(contract) ?? 0) - 1;
    if (holders > 0) {
      this.#contracts.set(contract, holders);
    } else {
      this.#contracts.delete(contract);
      this.#bytes -= contract.descriptors.length;
      this.#files.delete(contract);
    }
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

  /** Names that were released go to the services that have them all the same, the one that joined first. */
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

  /** Takes as many changes as fit in a message: first owners, so that no instance is called by a name of another service. */
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

/** In bytes, roughly: what the message would be, or a bit more. */
function sizeOf(instance: Instance | undefined): number {
  if (instance === undefined) return 256;
  return instance.descriptors.length + 256 + [...instance.addresses, ...instance.grpcServices].join("....").length;
}

function gone(key: string): Instance {
  const slash = key.indexOf("/");
  return Instance.fromPartial({ service: key.slice(0, slash), id: key.slice(slash + 1) });
}

/** Whether there is nothing to send it. */
function isIdle({ changed, owners, failure }: Watch): boolean {
  return changed.size === 0 && owners.size === 0 && failure === undefined;
}

function fail(watch: Watch, failure: StatusError): void {
  watch.failure = failure;
  watch.changed.clear();
  watch.wake();
}

function taken({ service, id }: Instance): StatusError {
  return alreadyExists(`another instance of ${service} has the id ${id}; choose another`);
}

function closing(): StatusError {
  return new StatusError(Code.UNAVAILABLE, "the registry is shutting down");
}
