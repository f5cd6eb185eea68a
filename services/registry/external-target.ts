/**
 * Follows one target of a configured service: reads its contract regularly, and keeps its instance
 * in the directory.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import { formatGrpcTarget } from "../../src/address/address.js";
import type { ExternalService, ExternalTarget } from "../../src/config/configured-services.js";
import { onFileChange } from "../../src/file-changes.js";
import { type FollowAttempt, follow } from "../../src/follow.js";
import { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import type { CheckedContract } from "./contract.js";
import type { Directory } from "./directory.js";
import { type Connect, explain, JoinError, read } from "./external-reading.js";
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
  { target, weight }: ExternalTarget,
  { directory, connect, refresh, log }: ExternalOptions,
  known: ReflectedContract | undefined,
): FollowedTarget {
  const address = formatGrpcTarget(target);
  const about = { service: service.name, target: address };
  const closing = new AbortController();
  const { signal } = closing;
  let onTried = (): void => {};
  const tried = new Promise<void>((resolve) => {
    onTried = resolve;
  });
  let held: { readonly contract: ReflectedContract; readonly leave: () => void } | undefined;
  let trouble: string | undefined;
  const pauses = new Pauses(typeof service.descriptors === "string" ? service.descriptors : undefined, signal);
  const join = async (contract: ReflectedContract): Promise<void> => {
    const instance = instanceOf(service, { address, weight }, contract);
    const checked = await directory.read(instance);
    if (signal.aborted) return;
    const leave = await joined(directory, instance, checked, signal);
    if (signal.aborted) return leave();
    held = { contract, leave };
  };
  const readAgain = async ({ responded }: FollowAttempt): Promise<void> => {
    if (held === undefined && known !== undefined) {
      await join(known);
      onTried();
    }
    while (!signal.aborted) {
      const contract = await read(service, () => connect(target, service.options), signal);
      if (signal.aborted) return;
      if (held === undefined || !isSame(held.contract, contract)) await join(contract);
      if (signal.aborted) return;
      if (trouble !== undefined) log.info(about, "the contract of a configured service can be read again");
      trouble = undefined;
      responded();
      onTried();
      await pauses.wait(refresh);
    }
  };
  void follow({
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
  return {
    address,
    tried,
    closing,
    leave: () => held?.leave(),
    get contract() {
      return held?.contract;
    },
    get trouble() {
      return trouble;
    },
  };
}

async function joined(
  directory: Directory,
  instance: Instance,
  contract: CheckedContract,
  signal: AbortSignal,
): Promise<() => void> {
  try {
    return await directory.claimAndJoin(instance, { local: false, contract, signal });
  } catch (error) {
    throw new JoinError((error as Error).message, { cause: error });
  }
}

/** Waits between readings. A change of the descriptor file ends the wait. */
class Pauses {
  readonly #signal: AbortSignal;
  #changed = false;
  #wake = (): void => {};

  /** @param path undefined if there is no file */
  constructor(path: string | undefined, signal: AbortSignal) {
    this.#signal = signal;
    if (path === undefined) return;
    const onChange = (): void => {
      this.#changed = true;
      this.#wake();
    };
    onFileChange(path, onChange, signal);
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

/** The instance of a target with its contract. */
export function instanceOf(
  { name, descriptors: given, options }: ExternalService,
  { address, weight }: { readonly address: string; readonly weight: number },
  { descriptors, grpcServices }: ReflectedContract,
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
    options,
    weight,
  });
}
