/**
 * Follows one target of a configured service: reads its contract regularly, and keeps its instance
 * in the directory.
 */
import { setMaxListeners } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { Lookup } from "../../src/address/resolved-names.js";
import { formatServiceTarget } from "../../src/address/srv.js";
import type { ExternalService, ExternalTarget } from "../../src/config/configured-services.js";
import { onFileChange } from "../../src/file-changes.js";
import { type FollowAttempt, follow } from "../../src/follow.js";
import { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import type { ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import { applyHttpRules } from "./apply-http-rules.js";
import type { Directory } from "./directory.js";
import type { JoinOptions } from "./entry.js";
import { type Connect, explain, JoinError, read } from "./external-reading.js";
import { type HttpRules, readHttpRules } from "./http-rules.js";
import type { ReflectedContract } from "./reflection-client.js";

/**
 * The maximum pause after the first failed reading, in milliseconds (see follow.ts). Later pauses
 * are at most as long as the time between readings.
 */
const FIRST_RETRY = 500;

/** How external services are reached. */
export interface ExternalOptions {
  readonly directory: Directory;
  readonly connect: Connect;
  /** Resolves the SRV names of targets. Default: the resolver of the operating system. */
  readonly lookup?: Lookup | undefined;
  /** The files that `connect` needs. A change causes another reading. Default: none. */
  readonly secretFiles?: ((options: ServiceOptions) => readonly string[]) | undefined;
  /**
   * The time between readings in milliseconds, and so the time until a changed contract is seen.
   */
  readonly refresh: number;
  readonly log: Logger;
}

/** A target that is followed. */
export interface FollowedTarget {
  readonly address: string;
  /** Resolves when one attempt was made to read the contract. */
  readonly tried: Promise<void>;
  /** Ends the reading of its contract when aborted. */
  readonly closing: AbortController;
  /** The contract that its instance joined with. */
  readonly contract: ReflectedContract | undefined;
  /** Why the contract cannot be read; undefined if it was read. */
  readonly trouble: string | undefined;
  /** Removes its instance. */
  readonly leave: () => void;
}

/**
 * Reads a target's contract regularly, and keeps its instance as last read.
 * @param known its contract, if it was read before; then the instance joins at once
 */
export function followTarget(
  service: ExternalService,
  target: ExternalTarget,
  options: ExternalOptions,
  known: ReflectedContract | undefined,
): FollowedTarget {
  return new TargetFollower(service, target, options, known);
}

class TargetFollower implements FollowedTarget {
  readonly #service: ExternalService;
  readonly #target: ExternalTarget;
  readonly #options: ExternalOptions;
  readonly #pauses: Pauses;
  readonly #rules: Promise<HttpRules>;
  readonly address: string;
  readonly tried: Promise<void>;
  readonly closing = new AbortController();
  contract: ReflectedContract | undefined;
  trouble: string | undefined;
  leave = (): void => {};
  #onTried = (): void => {};

  constructor(
    service: ExternalService,
    target: ExternalTarget,
    options: ExternalOptions,
    known: ReflectedContract | undefined,
  ) {
    const { signal } = this.closing;
    const { descriptors } = service;
    const files = typeof descriptors === "string" ? [descriptors] : (options.secretFiles?.(service.options) ?? []);
    this.#service = service;
    this.#target = target;
    this.#options = options;
    this.#pauses = new Pauses(files, signal);
    this.#rules = readHttpRules(service.options.httpRules);
    this.#rules.catch(() => {}); // Reported by each attempt.
    this.address = formatServiceTarget(target.target);
    this.tried = new Promise<void>((resolve) => {
      this.#onTried = resolve;
    });
    void follow({
      source: this.address,
      attempt: (attempt) => this.#readAgain(attempt, known),
      onFailure: ({ error }) => this.#failed(error),
      firstDelayMs: FIRST_RETRY,
      maxDelayMs: options.refresh,
      pause: (ms) => this.#pauses.wait(ms),
      signal,
    });
  }

  async #readAgain({ responded }: FollowAttempt, known: ReflectedContract | undefined): Promise<void> {
    const { refresh, log } = this.#options;
    const { signal } = this.closing;
    if (this.contract === undefined && known !== undefined) {
      await this.#join(known);
      this.#onTried();
    }
    while (!signal.aborted) {
      const contract = await read(this.#service, this.#target.target, this.#options, signal);
      if (signal.aborted) return;
      if (this.contract === undefined || !isSame(this.contract, contract)) await this.#join(contract);
      if (signal.aborted) return;
      const about = { service: this.#service.name, target: this.address };
      if (this.trouble !== undefined) log.info(about, "the contract of a configured service can be read again");
      this.trouble = undefined;
      responded();
      this.#onTried();
      await this.#pauses.wait(refresh);
    }
  }

  async #join(contract: ReflectedContract): Promise<void> {
    const { directory } = this.#options;
    const { signal } = this.closing;
    const { instance, problems } = instanceOf(this.#service, this.#target, contract, await this.#rules);
    const checked = await directory.read(instance);
    if (signal.aborted) return;
    const leave = await joined(directory, instance, { contract: checked, problems, signal });
    if (signal.aborted) return leave();
    this.contract = contract;
    this.leave = leave;
  }

  #failed(error: Error): void {
    const about = { service: this.#service.name, target: this.address };
    const reason = explain(this.#service, this.address, error);
    if (reason !== this.trouble)
      this.#options.log.warn({ ...about, reason }, "the contract of a configured service cannot be read");
    this.trouble = reason;
    this.#onTried();
  }
}

async function joined(
  directory: Directory,
  instance: Instance,
  checked: Pick<JoinOptions, "contract" | "problems" | "signal">,
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

function isSame(one: ReflectedContract, other: ReflectedContract): boolean {
  return one.descriptors.equals(other.descriptors) && `${one.grpcServices}` === `${other.grpcServices}`;
}

/**
 * The instance of a target with its contract, as the HTTP rules of the service make it, and what of
 * these rules cannot be used.
 */
export function instanceOf(
  { name, descriptors: given, options }: ExternalService,
  { target, weight }: ExternalTarget,
  contract: ReflectedContract,
  rules: HttpRules,
): { readonly instance: Instance; readonly problems: readonly string[] } {
  const { descriptors, problems } = applyHttpRules(contract, rules);
  const address = formatServiceTarget(target);
  const instance = Instance.fromPartial({
    service: name,
    id: address,
    addresses: [address],
    descriptors,
    grpcServices: [...contract.grpcServices],
    identity: options.identity,
    bindingPrefix: options.bindingPrefix,
    metadata: options.metadata,
    reflected: given === undefined,
    options: { ...options, httpRules: rules.json },
    weight,
  });
  return { instance, problems };
}
