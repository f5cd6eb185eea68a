/**
 * One instance of a service as its balancer knows it, and whether it is fit for the next call.
 *
 * An instance that was UNAVAILABLE is set aside for a while, longer each time in a row, and comes back by itself. One that
 * fails much more often than the others is ejected, longer each time, and comes back with one call at a time until one
 * succeeds (outlier detection; docs/decisions/0029).
 */
import { Code } from "../errors.js";
import { ConcurrencyLimit } from "../overload/concurrency-limit.js";
import type { Channel, Status } from "./channel.js";
import { isOverload } from "./status.js";

/** How long an instance is set aside, in milliseconds: the first time, and at most. It doubles in between. */
const ASIDE_MS = 100;
const MAX_ASIDE_MS = 10_000;

/** How long an instance is ejected, in milliseconds: the first time, and at most. It doubles in between. */
const EJECTION_MS = 5_000;
const MAX_EJECTION_MS = 60_000;

/** Outcomes count for one to two times as long as this, in milliseconds. */
const WINDOW_MS = 10_000;
/** Failures in the window before an instance is compared with the others. */
const MIN_FAILURES = 3;
/** From so many failures in a row every call counts as failed: earlier successes say nothing of the instance now. */
const MIN_IN_ROW = 5;
/**
 * An instance is ejected where its share of failures is at least this, and either so many times that of the others together
 * or so much above it.
 */
const MIN_FAILURE_RATE = 0.2;
const TIMES_OTHERS = 3;
const ABOVE_OTHERS = 0.5;

/** The outcomes of calls in a span of time. */
class Outcomes {
  calls = 0;
  failures = 0;

  clear(): void {
    this.calls = 0;
    this.failures = 0;
  }
}

export class Instance {
  readonly channel: Channel;
  /** Calls made for one contract are not sent to an instance with another; compared by identity. */
  #contract: unknown;
  calls = 0;
  /** Those of them that have a deadline: open streams do not show how busy an instance is. */
  withDeadline = 0;
  /** No longer to be picked; closed when its last call has ended. */
  removed = false;
  /** By path; as many as the contract has endpoints. */
  readonly #limits = new Map<string, ConcurrencyLimit>();

  /** UNAVAILABLE in a row. */
  #unavailable = 0;
  /** In milliseconds of `performance.now()`, as all times here. */
  #asideUntil = 0;
  /** Of this window and of the one before it. */
  #recent = new Outcomes();
  #earlier = new Outcomes();
  #windowStart = 0;
  #failuresInRow = 0;
  /** In a row. */
  #ejections = 0;
  #ejectedUntil = 0;
  /** Has been ejected, and has not served a call since. */
  #onProbation = false;

  constructor(channel: Channel, contract: unknown) {
    this.channel = channel;
    this.#contract = contract;
  }

  get contract(): unknown {
    return this.#contract;
  }

  /** Another contract has other endpoints. */
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

  /** The lower, the better. */
  unfitness(now: number): number {
    const { state } = this.channel;
    if (state === "closed") return Number.POSITIVE_INFINITY;
    if (state === "broken" || now < this.#asideUntil) return 2;
    if (this.#onProbation && (now < this.#ejectedUntil || this.withDeadline > 0)) return 2;
    return state === "connecting" ? 1 : 0;
  }

  /**
   * Records how a call has ended; sets the instance aside, or ejects it. One that has too many calls is not sick: without it
   * the others would have more.
   * @param all instances of the service, this one included
   */
  record(ended: Status, all: readonly Instance[], now: number): void {
    if (isOverload(ended)) return;
    this.#unavailable = ended.code === Code.UNAVAILABLE ? this.#unavailable + 1 : 0;
    const aside = Math.min(ASIDE_MS * 2 ** (this.#unavailable - 1), MAX_ASIDE_MS);
    this.#asideUntil = this.#unavailable > 0 ? now + aside : 0;
    const failed = isFailure(ended);
    if (failed === undefined) return;
    if (now - this.#windowStart > WINDOW_MS) this.#turnWindow(now);
    this.#recent.calls++;
    if (!failed) {
      this.#failuresInRow = 0;
      this.#onProbation = false;
      return;
    }
    this.#recent.failures++;
    this.#failuresInRow++;
    if (this.#isToBeEjected(all, now)) this.#eject(now);
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

  /** Whether it fails much more than the others; at least half of all instances stay. */
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
 * Whether a call's end is a failure of the instance; undefined where the end shows nothing about it. An answer that is too large is
 * none: a caller may have asked for too much.
 */
function isFailure({ code, neverSent, protocolError }: Status): boolean | undefined {
  if (code === Code.CANCELLED && !protocolError) return undefined;
  // The instance never saw it; the channel's state shows that it cannot be reached.
  if (neverSent) return undefined;
  return protocolError === true || FAULTS.has(code);
}

/** A missed deadline counts, too short or not: a caller's short deadline meets all instances alike. */
const FAULTS: ReadonlySet<Code> = new Set([
  Code.UNAVAILABLE,
  Code.DEADLINE_EXCEEDED,
  Code.INTERNAL,
  Code.UNKNOWN,
  Code.DATA_LOSS,
]);
