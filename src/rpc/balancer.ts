/**
 * A channel above channels to the instances of one service: round robin over those that are ready, of two in turn the one
 * with fewer calls in flight, so that an instance that hangs gathers no more calls than the others have.
 *
 * An instance that was UNAVAILABLE is set aside for a while, longer each time in a row, and comes back by itself. One that
 * fails much more often than the others is ejected, longer each time, and comes back with one call at a time until one
 * succeeds (docs/decisions/0029). While all are set aside, they are tried all the same.
 *
 * A call is sent again to another instance only where the first certainly never saw it, or where it is declared free of
 * side effects, only while nothing of it was answered, and never to an instance with another contract.
 */
import { Code } from "../errors.js";
import type { Call, CallListener, CallStart, Channel, Status } from "./channel.js";
import type { Metadata } from "./metadata.js";
import { status } from "./status.js";

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
/** So many failures in a row count as if every call failed: what went well before the instance fell ill is left out. */
const MIN_IN_ROW = 5;
/**
 * An instance is ejected where its share of failures is at least this, and either so many times that of the others together
 * or so much above it.
 */
const MIN_FAILURE_RATE = 0.2;
const TIMES_OTHERS = 3;
const ABOVE_OTHERS = 0.5;

/** Second tries of calls that may have been seen: so many for each call, and at most so many saved up. */
const RETRIES_PER_CALL = 0.2;
const MAX_RETRIES = 100;
const FIRST_RETRIES = 10;

/** What is known of outcomes in a span of time. */
class Outcomes {
  calls = 0;
  failures = 0;

  clear(): void {
    this.calls = 0;
    this.failures = 0;
  }
}

class Instance {
  readonly channel: Channel;
  /** Whoever has another one cannot read this one's messages; compared by identity. */
  contract: unknown;
  /** Calls in flight. */
  calls = 0;
  /** Those of them that have a deadline: open streams say nothing of how busy an instance is. */
  waiting = 0;
  /** UNAVAILABLE in a row. */
  unavailable = 0;
  /** In milliseconds of `Date.now()`. */
  asideUntil = 0;
  /** No longer to be picked; closed when its last call has ended. */
  removed = false;

  /** Of this window and of the one before it. */
  recent = new Outcomes();
  earlier = new Outcomes();
  /** When the window began, in milliseconds of `Date.now()`. */
  windowStart = 0;
  failuresInRow = 0;
  /** In a row. */
  ejections = 0;
  ejectedUntil = 0;
  /** Has been ejected, and not served a call since. */
  onProbation = false;

  constructor(channel: Channel, contract: unknown) {
    this.channel = channel;
    this.contract = contract;
  }

  /** The lower, the better. */
  unfitness(now: number): number {
    const { state } = this.channel;
    if (state === "closed") return Number.POSITIVE_INFINITY;
    if (state === "broken" || now < this.asideUntil) return 2;
    if (this.onProbation && (now < this.ejectedUntil || this.waiting > 0)) return 2;
    return state === "connecting" ? 1 : 0;
  }

  /** @param failed undefined where the end says nothing of the instance: the caller has cancelled */
  record(failed: boolean | undefined, now: number): void {
    if (failed === undefined) return;
    if (now - this.windowStart > WINDOW_MS) this.#turnWindow(now);
    this.recent.calls++;
    if (failed) {
      this.recent.failures++;
      this.failuresInRow++;
    } else {
      this.failuresInRow = 0;
      this.onProbation = false;
    }
  }

  #turnWindow(now: number): void {
    const { earlier } = this;
    this.earlier = this.recent;
    if (now - this.windowStart > 2 * WINDOW_MS) this.earlier.clear();
    this.recent = earlier;
    this.recent.clear();
    this.windowStart = now;
  }

  get failures(): number {
    return this.recent.failures + this.earlier.failures;
  }

  get outcomes(): number {
    return this.recent.calls + this.earlier.calls;
  }

  eject(now: number): void {
    if (now - this.ejectedUntil > MAX_EJECTION_MS) this.ejections = 0;
    this.ejectedUntil = now + Math.min(EJECTION_MS * 2 ** this.ejections, MAX_EJECTION_MS);
    this.ejections++;
    this.onProbation = true;
  }
}

export interface BalancerOptions {
  /** The service's name, for the error when none of its instances can be reached. */
  readonly name: string;
}

/** Any contract will do. */
const ANY = undefined;

export class Balancer implements Channel {
  readonly name: string;
  readonly #instances = new Map<string, Instance>();
  /** The same, for picking; in the order of the addresses. */
  #order: readonly Instance[] = [];
  #next = 0;
  #closed = false;
  #retries = FIRST_RETRIES;

  constructor({ name }: BalancerOptions) {
    this.name = name;
  }

  get state(): Channel["state"] {
    if (this.#closed) return "closed";
    const states = this.#order.map(({ channel }) => channel.state);
    return (["ready", "idle", "connecting"] as const).find((state) => states.includes(state)) ?? "broken";
  }

  /**
   * Says which instances there are. From then on the balancer closes their channels: that of an address which is no
   * longer among them, or has another channel, when its calls in flight have ended.
   * @param contractOf what the instance behind a channel has for a contract now
   */
  update(channels: ReadonlyMap<string, Channel>, contractOf: (channel: Channel) => unknown = () => ANY): void {
    for (const [address, instance] of this.#instances) {
      if (channels.get(address) === instance.channel) continue;
      this.#instances.delete(address);
      instance.removed = true;
      if (instance.calls === 0) instance.channel.close();
    }
    for (const [address, channel] of channels) {
      if (this.#closed) channel.close();
      else if (!this.#instances.has(address)) this.#instances.set(address, new Instance(channel, ANY));
    }
    this.#order = [...this.#instances.values()];
    for (const instance of this.#order) instance.contract = contractOf(instance.channel);
  }

  /** The instances with one contract, as a channel. */
  among(contract: unknown): Channel {
    const open: Channel["open"] = (start, listener) => new BalancedCall(start, listener, this, contract);
    const whole = this;
    return {
      open,
      get state() {
        return whole.state;
      },
      close() {},
    };
  }

  /** Of these contracts, the one of the instance whose turn it is. */
  turn(contracts: readonly unknown[]): unknown {
    const next = this.#next;
    const instance = this.pick([], ANY, contracts);
    this.#next = next;
    return instance?.contract;
  }

  open(start: CallStart, listener: CallListener): Call {
    return new BalancedCall(start, listener, this, ANY);
  }

  close(): void {
    this.#closed = true;
    const instances = this.#order;
    this.#order = [];
    this.#instances.clear();
    for (const { channel } of instances) channel.close();
  }

  /**
   * The next instance in turn among the fittest; of two that are fit the one with fewer calls.
   * @param contract of which it must be, unless ANY
   */
  pick(tried: readonly Instance[], contract: unknown, contracts?: readonly unknown[]): Instance | undefined {
    const now = Date.now();
    let best: Instance | undefined;
    let least = Number.POSITIVE_INFINITY;
    let at = 0;
    for (let step = 0, fit = 0; step < this.#order.length && fit < 2; step++) {
      const index = (this.#next + step) % this.#order.length;
      const instance = this.#order[index] as Instance;
      if (contract !== ANY && instance.contract !== contract) continue;
      if (contracts !== undefined && !contracts.includes(instance.contract)) continue;
      if (tried.length > 0 && tried.includes(instance)) continue;
      const unfitness = instance.unfitness(now);
      if (unfitness === 0) fit++;
      const better = unfitness < least || (unfitness === 0 && instance.waiting < (best as Instance).waiting);
      if (!better) continue;
      best = instance;
      least = unfitness;
      at = index;
      if (unfitness === 0 && instance.waiting === 0) break;
    }
    if (best !== undefined) this.#next = at + 1;
    return best;
  }

  /** A call has ended at an instance. */
  settle(instance: Instance, { deadline }: CallStart, ended: Status): void {
    instance.calls--;
    if (deadline !== undefined) instance.waiting--;
    if (instance.removed && instance.calls === 0) instance.channel.close();
    const now = Date.now();
    const unavailable = ended.code === Code.UNAVAILABLE;
    instance.unavailable = unavailable ? instance.unavailable + 1 : 0;
    const aside = Math.min(ASIDE_MS * 2 ** (instance.unavailable - 1), MAX_ASIDE_MS);
    instance.asideUntil = unavailable ? now + aside : 0;
    const failed = isFailure(ended);
    instance.record(failed, now);
    if (failed) this.#judge(instance, now);
  }

  /** Whether a call may be tried again at another instance. */
  mayRetry({ repeatable }: CallStart, { code, neverSent }: Status): boolean {
    return code === Code.UNAVAILABLE && (neverSent === true || (repeatable === true && this.#retries >= 1));
  }

  /** A call that may have been seen is tried again. */
  spendRetry(): void {
    this.#retries--;
  }

  /** A call begins. */
  earnRetry(): void {
    if (this.#retries < MAX_RETRIES) this.#retries += RETRIES_PER_CALL;
  }

  /** Ejects an instance that fails much more than the others, as long as at least half of all stay. */
  #judge(instance: Instance, now: number): void {
    if (instance.onProbation && now >= instance.ejectedUntil) {
      instance.eject(now);
      return;
    }
    if (instance.failures < MIN_FAILURES || now < instance.ejectedUntil) return;
    let calls = 0;
    let failures = 0;
    let ejected = 1;
    for (const other of this.#order) {
      if (other === instance) continue;
      if (other.onProbation) {
        ejected++;
        continue;
      }
      calls += other.outcomes;
      failures += other.failures;
    }
    if (calls === 0 || ejected > this.#order.length / 2) return;
    const rate = instance.failuresInRow >= MIN_IN_ROW ? 1 : instance.failures / instance.outcomes;
    const others = failures / calls;
    const more = rate >= TIMES_OTHERS * others || rate - others >= ABOVE_OTHERS;
    if (rate >= MIN_FAILURE_RATE && more) instance.eject(now);
  }
}

/** Whether a call's end is a fault of the instance; undefined where the end says nothing of it. */
function isFailure({ code, neverSent, protocolError }: Status): boolean | undefined {
  if (code === Code.CANCELLED && !protocolError) return undefined;
  // It was never seen: the channel's state says the rest.
  if (neverSent) return undefined;
  return protocolError === true || FAULTS.has(code);
}

/** A deadline counts whoever made it: the caller of all instances alike, or the instance that does not answer. */
const FAULTS: ReadonlySet<Code> = new Set([
  Code.UNAVAILABLE,
  Code.DEADLINE_EXCEEDED,
  Code.INTERNAL,
  Code.UNKNOWN,
  Code.DATA_LOSS,
]);

/** What is tried with one instance after the other: the caller's Call, and each instance's listener. */
class BalancedCall implements Call, CallListener {
  readonly #start: CallStart;
  readonly #listener: CallListener;
  readonly #balancer: Balancer;
  /** Of the instances that may have the call. */
  readonly #contract: unknown;
  readonly #tried: Instance[] = [];
  #instance: Instance | undefined;
  #call: Call | undefined;
  /** What has been sent, kept for sending it again: at most one message. */
  #message: Uint8Array | undefined;
  #ended = false;
  #paused = false;
  /** The caller waits for `onDrain`. */
  #full = false;
  /** Cancelled, answered, or past its first message. */
  #committed = false;

  constructor(start: CallStart, listener: CallListener, balancer: Balancer, contract: unknown) {
    this.#start = start;
    this.#listener = listener;
    this.#balancer = balancer;
    this.#contract = contract;
    balancer.earnRetry();
    if (!this.#try()) queueMicrotask(() => this.#listener.onEnd(this.#unreachable()));
  }

  send(message: Uint8Array): boolean {
    if (this.#message !== undefined) this.#commit();
    else if (!this.#committed) this.#message = message;
    this.#full = this.#call?.send(message) === false;
    return !this.#full;
  }

  end(): void {
    this.#ended = true;
    this.#call?.end();
  }

  cancel(): void {
    this.#commit();
    this.#call?.cancel();
  }

  pause(): void {
    this.#paused = true;
    this.#call?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#call?.resume();
  }

  onHeaders(metadata: Metadata): void {
    this.#commit();
    this.#listener.onHeaders?.(metadata);
  }

  onMessage(message: Uint8Array): void {
    this.#commit();
    this.#listener.onMessage(message);
  }

  onDrain(): void {
    this.#full = false;
    this.#listener.onDrain?.();
  }

  onEnd(status: Status): void {
    this.#balancer.settle(this.#instance as Instance, this.#start, status);
    const again = !this.#committed && this.#balancer.mayRetry(this.#start, status) && this.#try();
    if (again && !status.neverSent) this.#balancer.spendRetry();
    if (again) this.#resend();
    else this.#listener.onEnd(status.neverSent ? this.#unreachable(status.cause) : status);
  }

  #commit(): void {
    this.#committed = true;
    this.#message = undefined;
  }

  /** Opens the call at the next instance; false when there is none left. */
  #try(): boolean {
    const instance = this.#balancer.pick(this.#tried, this.#contract);
    if (instance === undefined) return false;
    this.#tried.push(instance);
    this.#instance = instance;
    instance.calls++;
    if (this.#start.deadline !== undefined) instance.waiting++;
    this.#call = instance.channel.open(this.#start, this);
    return true;
  }

  /** Does again what the caller has done so far. */
  #resend(): void {
    if (this.#paused) this.#call?.pause();
    if (this.#message !== undefined && this.#call?.send(this.#message) && this.#full) this.onDrain();
    if (this.#ended) this.#call?.end();
  }

  #unreachable(cause?: Error): Status {
    return status(Code.UNAVAILABLE, `no instance of ${this.#balancer.name} is reachable`, { neverSent: true, cause });
  }
}
