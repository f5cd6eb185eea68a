/**
 * One instance of a service, as its balancer sees it, and whether it is fit for the next call.
 *
 * When a call to the instance ends with UNAVAILABLE, the balancer backs off from it for a while.
 * The time doubles with each UNAVAILABLE in a row. When an instance fails much more often than the
 * others, the balancer ejects it. The time doubles with each ejection. Afterwards the instance gets
 * one call at a time until one succeeds (outlier detection; docs/decisions/0029).
 */
import { Code } from "../errors.js";
import { ConcurrencyLimit } from "../overload/concurrency-limit.js";
import type { Channel, Status } from "./channel.js";
import { EQUAL, type Share } from "./shares.js";
import { isOverload } from "./status.js";

/**
 * How long the balancer backs off from an instance, in milliseconds: the first time, and at most.
 */
const BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 10_000;

/** How long an instance is ejected, in milliseconds: the first time, and at most. */
const EJECTION_MS = 5_000;
const MAX_EJECTION_MS = 60_000;

/** Length of a window, in milliseconds. An outcome counts in its own window and in the next one. */
const WINDOW_MS = 10_000;
/** An instance is compared with the others only after this number of failures in both windows. */
const MIN_FAILURES = 3;
/**
 * After this number of failures in a row the failure rate counts as 1: earlier successes say
 * nothing about the instance now.
 */
const MIN_IN_ROW = 5;
/**
 * Eject an instance when its failure rate is at least MIN_FAILURE_RATE, and also is at least three
 * times the rate of the other instances, or at least 50 percentage points above it.
 */
const MIN_FAILURE_RATE = 0.2;
const TIMES_OTHERS = 3;
const ABOVE_OTHERS = 0.5;

/** The outcomes of the calls in a window. */
class Outcomes {
  calls = 0;
  failures = 0;

  clear(): void {
    this.calls = 0;
    this.failures = 0;
  }
}

export type InstanceState = "ready" | "idle" | "connecting" | "unreachable" | "ejected" | "not_serving";

export class Instance {
  readonly channel: Channel;
  /**
   * The contract of the instance, compared by identity. A call that was encoded for one contract is
   * never sent to an instance with another.
   */
  #contract: unknown;
  /** Calls in flight. */
  calls = 0;
  /**
   * Calls in flight that have a deadline. Open streams have none, and do not show how busy an
   * instance is.
   */
  withDeadline = 0;
  /** The instance is never picked again. Its channel is closed when its last call has ended. */
  removed = false;
  share: Share = EQUAL;
  /** See shares.ts. */
  credit = 0;
  /** The instance says that it does not serve now (gRPC health). */
  notServing = false;
  /** By path. There are at most as many entries as the contract has endpoints. */
  readonly #limits = new Map<string, ConcurrencyLimit>();

  /** Calls in a row that ended with UNAVAILABLE. */
  #unavailable = 0;
  /** In milliseconds of `performance.now()`, like all times here. */
  #backoffUntil = 0;
  /** The outcomes of the current window, and of the window before it. */
  #recent = new Outcomes();
  #earlier = new Outcomes();
  #windowStart = 0;
  #failuresInRow = 0;
  /** Ejections in a row. */
  #ejections = 0;
  #ejectedUntil = 0;
  /** The instance was ejected, and no call has succeeded since. */
  #onProbation = false;

  constructor(channel: Channel, contract: unknown) {
    this.channel = channel;
    this.#contract = contract;
  }

  get contract(): unknown {
    return this.#contract;
  }

  /** Another contract has other endpoints, so the limits start again. */
  set contract(contract: unknown) {
    if (contract !== this.#contract) this.#limits.clear();
    this.#contract = contract;
  }

  /** The limit of calls in flight to an endpoint. */
  limitOf(path: string): ConcurrencyLimit {
    let limit = this.#limits.get(path);
    if (limit === undefined) {
      limit = new ConcurrencyLimit();
      this.#limits.set(path, limit);
    }
    return limit;
  }

  /** Why the instance gets calls or not, for metrics. */
  state(now: number): InstanceState {
    const { state } = this.channel;
    if (state === "broken" || state === "closed") return "unreachable";
    if (this.notServing) return "not_serving";
    if (this.#onProbation && now < this.#ejectedUntil) return "ejected";
    return state;
  }

  /** How unfit the instance is for the next call: 0 is fit. */
  unfitness(now: number): number {
    const { state } = this.channel;
    if (state === "closed") return Number.POSITIVE_INFINITY;
    if (state === "broken" || this.notServing || now < this.#backoffUntil) return 2;
    if (this.#onProbation && (now < this.#ejectedUntil || this.withDeadline > 0)) return 2;
    return state === "connecting" ? 1 : 0;
  }

  /**
   * Records how a call ended. Backs off from the instance, or ejects it. An overloaded instance is
   * not treated as failing: if it were removed, the others would get its calls too.
   * @param all all instances of the service, including this one
   * @returns whether it was ejected
   */
  record(ended: Status, all: readonly Instance[], now: number): boolean {
    if (isOverload(ended)) return false;
    this.#unavailable = ended.code === Code.UNAVAILABLE ? this.#unavailable + 1 : 0;
    const backoff = Math.min(BACKOFF_MS * 2 ** (this.#unavailable - 1), MAX_BACKOFF_MS);
    this.#backoffUntil = this.#unavailable > 0 ? now + backoff : 0;
    const failed = isFailure(ended);
    if (failed === undefined) return false;
    if (now - this.#windowStart > WINDOW_MS) this.#turnWindow(now);
    this.#recent.calls++;
    if (!failed) {
      this.#failuresInRow = 0;
      this.#onProbation = false;
      return false;
    }
    this.#recent.failures++;
    this.#failuresInRow++;
    if (!this.#isToBeEjected(all, now)) return false;
    this.#eject(now);
    return true;
  }

  #turnWindow(now: number): void {
    const earlier = this.#earlier;
    this.#earlier = this.#recent;
    if (now - this.#windowStart > 2 * WINDOW_MS) this.#earlier.clear();
    this.#recent = earlier;
    this.#recent.clear();
    this.#windowStart = now;
  }

  get #failures(): number {
    return this.#recent.failures + this.#earlier.failures;
  }

  get #calls(): number {
    return this.#recent.calls + this.#earlier.calls;
  }

  /**
   * Whether the instance fails much more often than the others. At least half of all instances
   * stay.
   */
  #isToBeEjected(all: readonly Instance[], now: number): boolean {
    if (this.#onProbation && now >= this.#ejectedUntil) return true;
    if (this.#failures < MIN_FAILURES || now < this.#ejectedUntil) return false;
    let calls = 0;
    let failures = 0;
    let ejected = 1;
    for (const other of all) {
      if (other === this) continue;
      if (other.#onProbation) {
        ejected++;
        continue;
      }
      calls += other.#calls;
      failures += other.#failures;
    }
    if (calls === 0 || ejected > all.length / 2) return false;
    const rate = this.#failuresInRow >= MIN_IN_ROW ? 1 : this.#failures / this.#calls;
    const others = failures / calls;
    return rate >= MIN_FAILURE_RATE && (rate >= TIMES_OTHERS * others || rate - others >= ABOVE_OTHERS);
  }

  #eject(now: number): void {
    if (now - this.#ejectedUntil > MAX_EJECTION_MS) this.#ejections = 0;
    this.#ejectedUntil = now + Math.min(EJECTION_MS * 2 ** this.#ejections, MAX_EJECTION_MS);
    this.#ejections++;
    this.#onProbation = true;
  }
}

/**
 * Whether the status of a call shows a failure of the instance; undefined when it shows nothing
 * about it. A response that is too large is no failure: the caller may have asked for too much.
 */
function isFailure({ code, neverSent, protocolError }: Status): boolean | undefined {
  if (code === Code.CANCELLED && !protocolError) return undefined;
  // The instance never saw the call; the channel's state shows that it cannot be reached.
  if (neverSent) return undefined;
  return protocolError === true || FAILURE_CODES.has(code);
}

/**
 * A missed deadline always counts, even a short one: short deadlines affect all instances alike.
 */
const FAILURE_CODES: ReadonlySet<Code> = new Set([
  Code.UNAVAILABLE,
  Code.DEADLINE_EXCEEDED,
  Code.INTERNAL,
  Code.UNKNOWN,
  Code.DATA_LOSS,
]);
