/**
 * External services, which join by the configuration. They know nothing of the registry, so the
 * registry reads their contracts regularly. Each target is an instance from the first successful
 * reading of its contract until the configuration no longer has its service, or the registry
 * closes. If a target goes away, its endpoints stay, so that callers get UNAVAILABLE and not
 * NOT_FOUND.
 */
import { setMaxListeners } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import { formatGrpcTarget, type GrpcTarget } from "../../src/address/address.js";
import { ConfigError, SETTINGS } from "../../src/config/config.js";
import type { ExternalService, ExternalTarget } from "../../src/config/configured-services.js";
import { SecretFileError } from "../../src/config/secret-files.js";
import { Code, StatusError } from "../../src/errors.js";
import { onFileChange } from "../../src/file-changes.js";
import { type FollowAttempt, follow } from "../../src/follow.js";
import { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import { ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import type { Channel } from "../../src/rpc/channel.js";
import { applyHttpRules } from "./apply-http-rules.js";
import { checkServiceName } from "./check-instance.js";
import { type CheckedContract, grpcServicesOf, MAX_DESCRIPTORS } from "./contract.js";
import type { Directory } from "./directory.js";
import { HttpRulesError, readHttpRules } from "./http-rules.js";
import { type ReflectedContract, reflect } from "./reflection-client.js";

/** The maximum time of one reading, in milliseconds. */
const READ_TIME = 10_000;
/**
 * The maximum pause after the first failed reading, in milliseconds (see follow.ts). Later pauses
 * are at most as long as the time between readings.
 */
const FIRST_RETRY = 500;

/** How external services are reached. */
export interface ExternalOptions {
  readonly directory: Directory;
  /** Opens a channel to a target, for one reading. */
  readonly connect: (target: GrpcTarget, options: ServiceOptions) => Channel;
  /** The files that `connect` needs. A change causes another reading. Default: none. */
  readonly secretFiles?: ((options: ServiceOptions) => readonly string[]) | undefined;
  /**
   * The time between readings in milliseconds, and so the time until a changed contract is seen.
   */
  readonly refresh: number;
  readonly log: Logger;
}

/** The external services, which are followed until `close`. */
export class ExternalServices {
  readonly #options: ExternalOptions;
  /** By all of the service's entry in the configuration. */
  #followed = new Map<string, Followed>();
  #names: ReadonlySet<string> = new Set();

  constructor(options: ExternalOptions) {
    this.#options = options;
  }

  /**
   * Follows these services instead of the previous ones. A service whose entry is the same is not
   * interrupted.
   * @throws {ConfigError} if a service has an invalid name; then nothing has changed
   */
  set(services: readonly ExternalService[]): void {
    checkNames(services);
    this.#names = new Set(services.map(({ name }) => name));
    const before = this.#followed;
    const entries = new Map(services.map((service) => [keyOf(service), service]));
    for (const [entry, { stop }] of before) if (!entries.has(entry)) stop();
    this.#followed = new Map(
      [...entries].map(([entry, service]) => [entry, before.get(entry) ?? followService(service, this.#options)]),
    );
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Resolves when one attempt was made to read the contract of each target. */
  async tried(): Promise<void> {
    await Promise.all([...this.#followed.values()].map(({ tried }) => tried));
  }

  close(): void {
    this.set([]);
  }
}

/** A text that differs if anything of the entries differs. */
function keyOf({ name, targets, descriptors, options }: ExternalService): string {
  const given = typeof descriptors === "string" ? descriptors : descriptors?.toString("base64");
  return JSON.stringify([
    name,
    targets,
    given,
    Buffer.from(ServiceOptions.encode(options).finish()).toString("base64"),
  ]);
}

interface Followed {
  /** As in ExternalServices. */
  readonly tried: Promise<unknown>;
  readonly stop: () => void;
}

/** Follows every target of a service until it is stopped. */
function followService(service: ExternalService, options: ExternalOptions): Followed {
  // One controller for each target, because each target adds several listeners to its signal.
  const targets = service.targets.map((target) => ({ target, closing: new AbortController() }));
  const tried = targets.map(
    ({ target, closing: { signal } }) =>
      new Promise<void>((onTried) => void followTarget(service, target, { ...options, onTried }, signal)),
  );
  const stop = (): void => {
    for (const { closing } of targets) closing.abort();
  };
  return { tried: Promise.all(tried), stop };
}

/** @throws {ConfigError} if a name is invalid or used twice */
export function checkNames(services: readonly ExternalService[]): void {
  const seen = new Set<string>();
  for (const { name } of services) {
    try {
      checkServiceName(name, false);
    } catch (error) {
      throw new ConfigError(`services in the configuration file: ${(error as Error).message}`);
    }
    if (seen.has(name)) {
      throw new ConfigError(`services in the configuration file: "${name}" is there twice; list its targets in one`);
    }
    seen.add(name);
  }
}

/**
 * The contract of a service, from the first target that responds with it.
 * @param connect as in `ExternalOptions`
 * @param timeMs the maximum time of a reading
 * @throws {Error} (rejects) with the error of the first target and what to do, for the operator
 */
export async function readOnce(
  service: ExternalService,
  connect: ExternalOptions["connect"],
  timeMs: number,
): Promise<ReflectedContract> {
  const decided = new AbortController();
  const reading = service.targets.map(({ target }) =>
    read(service, () => connect(target, service.options), decided.signal, timeMs),
  );
  try {
    return await Promise.any(reading);
  } catch (error) {
    const [first] = (error as AggregateError).errors;
    throw new Error(explain(service, formatGrpcTarget(service.targets[0]!.target), first), { cause: first });
  } finally {
    decided.abort();
  }
}

/** Reads a target's contract regularly, and keeps its instance as last read. */
async function followTarget(
  service: ExternalService,
  { target, weight }: ExternalTarget,
  {
    directory,
    connect,
    secretFiles = () => [],
    refresh,
    log,
    onTried,
  }: ExternalOptions & { readonly onTried: () => void },
  signal: AbortSignal,
): Promise<void> {
  const address = formatGrpcTarget(target);
  const about = { service: service.name, target: address };
  let held: { readonly contract: ReflectedContract; readonly leave: () => void } | undefined;
  let trouble: string | undefined;
  const { descriptors } = service;
  const files = typeof descriptors === "string" ? [descriptors] : secretFiles(service.options);
  const pauses = new Pauses(files, signal);
  signal.addEventListener("abort", () => held?.leave());
  const rules = readHttpRules(service.options.httpRules);
  rules.catch(() => {}); // Reported by each attempt.
  const readAgain = async ({ responded }: FollowAttempt): Promise<void> => {
    while (!signal.aborted) {
      const contract = await read(service, () => connect(target, service.options), signal);
      if (signal.aborted) return;
      if (held === undefined || !isSame(held.contract, contract)) {
        const httpRules = await rules;
        const { descriptors, problems } = applyHttpRules(contract, httpRules);
        const instance = instanceOf(service, { address, weight }, { ...contract, descriptors }, httpRules.json);
        const read = await directory.read(instance);
        if (signal.aborted) return;
        const leave = await joined(directory, instance, { contract: read, problems });
        if (signal.aborted) return leave();
        held = { contract, leave };
      }
      if (trouble !== undefined) log.info(about, "the contract of a configured service can be read again");
      trouble = undefined;
      responded();
      onTried();
      await pauses.wait(refresh);
    }
  };
  await follow({
    source: address,
    attempt: readAgain,
    onFailure({ error }) {
      const reason = explain(service, address, error);
      if (reason !== trouble) log.warn({ ...about, reason }, "the contract of a configured service cannot be read");
      trouble = reason;
      onTried();
    },
    firstDelayMs: FIRST_RETRY,
    maxDelayMs: refresh,
    pause: (ms) => pauses.wait(ms),
    signal,
  });
}

/** The error of an instance that could not join although its contract could be read. */
class JoinError extends Error {}

async function joined(
  directory: Directory,
  instance: Instance,
  checked: { readonly contract: CheckedContract; readonly problems: readonly string[] },
): Promise<() => void> {
  try {
    return await directory.claimAndJoin(instance, { local: false, ...checked });
  } catch (error) {
    throw new JoinError((error as Error).message, { cause: error });
  }
}

/** Waits between readings. A change of a file ends the wait. */
class Pauses {
  readonly #signal: AbortSignal;
  #changed = false;
  #wake = (): void => {};

  constructor(files: readonly string[], signal: AbortSignal) {
    this.#signal = signal;
    const onChange = (): void => {
      this.#changed = true;
      this.#wake();
    };
    // Each file adds listeners.
    setMaxListeners(0, signal);
    for (const path of files) onFileChange(path, onChange, signal);
  }

  /** Resolves after `ms` milliseconds, when the file has changed, or when the signal is aborted. */
  async wait(ms: number): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (!this.#changed) {
      const either = AbortSignal.any([this.#signal, woken.signal]);
      await wait(ms, undefined, { signal: either }).catch(() => {});
    }
    this.#changed = false;
  }
}

async function read(
  service: ExternalService,
  connect: () => Channel,
  signal: AbortSignal,
  timeMs = READ_TIME,
): Promise<ReflectedContract> {
  const { descriptors } = service;
  if (typeof descriptors === "string") return readDescriptorFile(descriptors);
  if (descriptors !== undefined) return { descriptors, grpcServices: grpcServicesOf(descriptors) };
  // A new channel each time, because a channel that failed would wait before its next attempt.
  const channel = connect();
  try {
    return await reflect(channel, performance.now() + timeMs, signal);
  } finally {
    channel.close();
  }
}

async function readDescriptorFile(path: string): Promise<ReflectedContract> {
  const { size } = await stat(path);
  if (size > MAX_DESCRIPTORS) throw new Error(`the file has ${size} bytes; at most ${MAX_DESCRIPTORS} are accepted`);
  const descriptors = await readFile(path);
  return { descriptors, grpcServices: grpcServicesOf(descriptors) };
}

function isSame(one: ReflectedContract, other: ReflectedContract): boolean {
  return one.descriptors.equals(other.descriptors) && `${one.grpcServices}` === `${other.grpcServices}`;
}

function instanceOf(
  { name, descriptors: given, options }: ExternalService,
  { address, weight }: { readonly address: string; readonly weight: number },
  { descriptors, grpcServices }: ReflectedContract,
  httpRules: string,
): Instance {
  return Instance.fromPartial({
    service: name,
    id: address,
    addresses: [address],
    descriptors,
    grpcServices: [...grpcServices],
    identity: options.identity,
    bindingPrefix: options.bindingPrefix,
    metadata: options.metadata,
    reflected: given === undefined,
    options: { ...options, httpRules },
    weight,
  });
}

/** The reason of the failure and what to do, for the operator. */
function explain({ descriptors, options }: ExternalService, address: string, error: unknown): string {
  const { message, cause } = error as Error;
  if (cause instanceof SecretFileError) return cause.message;
  if (error instanceof HttpRulesError) return message;
  // The store cannot take the names of its gRPC services, which is not the service's error.
  if (error instanceof JoinError && cause instanceof StatusError && cause.code === Code.UNAVAILABLE) return message;
  if (typeof descriptors === "string") return `${descriptors}: ${message}; correct the file`;
  const code = error instanceof StatusError ? error.code : undefined;
  if (code === Code.UNAUTHENTICATED || code === Code.PERMISSION_DENIED)
    return `${message}; set "credential" of the service, or correct its file in ${SETTINGS.credentials.variable}`;
  if (code === Code.UNIMPLEMENTED)
    return `${message}; turn it on, or name a file in "descriptors" of the configuration`;
  if (code === Code.UNAVAILABLE || code === Code.DEADLINE_EXCEEDED) {
    const why = cause instanceof Error ? cause.message : message;
    const trust = address.startsWith("grpcs:") ? ` or ${options.tls?.ca || SETTINGS.tlsCa.variable}` : "";
    return `${address} cannot be reached (${why}); start it, or correct "target" in the configuration${trust}`;
  }
  return `${message}; correct the service, or name a file in "descriptors" of the configuration`;
}
