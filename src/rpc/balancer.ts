/**
 * A channel over the channels to all instances of one service. It distributes the calls round robin
 * over the ready instances. Of the next two it takes the one with fewer calls in flight, so an
 * instance that hangs does not collect more calls than the others. Instances with different weights
 * or priorities get calls by these instead (shares.ts).
 *
 * The balancer backs off from an instance that cannot be reached, and ejects an instance that fails
 * often (instance.ts). When no instance is fit, it still tries them, and opens a failed connection
 * again for the call. So a service that is back can be called before anything else has noticed it.
 *
 * A call is retried at another instance only when all of these hold:
 * - The first instance certainly never saw the call, or the endpoint is declared free of side
 *   effects.
 * - No part of a response has arrived.
 * - The other instance has the same contract.
 * - The first instance did not refuse the call for overload. Otherwise the other instances are most
 *   likely overloaded too.
 */

import type { Metadata } from "../call/metadata.js";
import { Code } from "../errors.js";
import type { CallEnding, ConcurrencyLimit } from "../overload/concurrency-limit.js";
import type { AttemptTrace } from "../telemetry/call-trace.js";
import type { CallListener, CallStart, Channel, OutgoingCall, Status } from "./channel.js";
import { Instance, type InstanceState } from "./instance.js";
import { EQUAL, isUneven, nextByShare, type Share, spendCredit } from "./shares.js";
import { isOverload, overloaded, status, tooManyCalls } from "./status.js";

/**
 * Budget for retries of calls that an instance may have seen. Each call adds RETRIES_PER_CALL to
 * it, up to MAX_RETRIES.
 */
const RETRIES_PER_CALL = 0.2;
const MAX_RETRIES = 100;
const FIRST_RETRIES = 10;

/** Matches any contract. */
const ANY = undefined;

export class Balancer implements Channel {
  readonly name: string;
  /** The number of calls that were refused for overload. */
  refused = 0;
  /** How often an instance was ejected. */
  ejections = 0;
  /** The maximum number of calls at the same time, streams included. */
  maxCalls = Number.POSITIVE_INFINITY;
  /** Calls in flight. */
  calls = 0;
  readonly #instances = new Map<string, Instance>();
  /** The same instances as an array for `pick`, in the order of the addresses. */
  #order: readonly Instance[] = [];
  #uneven = false;
  #next = 0;
  #closed = false;
  #retries = FIRST_RETRIES;

  /** @param name name of the service, for the error when no instance can be reached */
  constructor(name: string) {
    this.name = name;
  }

  get state(): Channel["state"] {
    if (this.#closed) return "closed";
    const states = this.#order.map(({ channel }) => channel.state);
    return (["ready", "idle", "connecting"] as const).find((state) => states.includes(state)) ?? "broken";
  }

  /**
   * Replaces the instances. The balancer owns their channels from then on. When an address is no
   * longer in the map, or the map has another channel for it, the balancer closes the old channel
   * after the last call on it has ended.
   * @param contractOf returns the current contract of the instance behind a channel; contracts are
   * compared by identity
   * @param shareOf returns the weight and the priority of the instance behind a channel
   */
  update(
    channels: ReadonlyMap<string, Channel>,
    contractOf: (channel: Channel) => unknown = () => ANY,
    shareOf: (channel: Channel) => Share = () => EQUAL,
  ): void {
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
    for (const instance of this.#order) {
      instance.contract = contractOf(instance.channel);
      instance.share = shareOf(instance.channel);
    }
    this.#uneven = isUneven(this.#order);
  }

  /** Records whether the instance behind a channel says that it serves. */
  setServing(channel: Channel, serving: boolean): void {
    for (const instance of this.#order) if (instance.channel === channel) instance.notServing = !serving;
  }

  /** How many instances have each state; `ready` is always there. */
  get states(): ReadonlyMap<InstanceState, number> {
    const now = performance.now();
    const states = new Map<InstanceState, number>([["ready", 0]]);
    for (const instance of this.#order) {
      const state = instance.state(now);
      states.set(state, (states.get(state) ?? 0) + 1);
    }
    return states;
  }

  /** The instances, in the order in which `update` got them. */
  protected get instances(): readonly Instance[] {
    return this.#order;
  }

  /** A channel over only the instances that have this contract. */
  among(contract: unknown): Channel {
    const balancer = this;
    return {
      open: (start, listener) => new BalancedCall(start, listener, balancer, contract),
      get state() {
        return balancer.state;
      },
      close() {},
    };
  }

  /**
   * Returns the contract of the instance that would take the next call, among the instances that
   * have one of these contracts.
   */
  turn(contracts: readonly unknown[]): unknown {
    if (this.#uneven) {
      const mayTake = ({ contract }: Instance): boolean => contracts.includes(contract);
      return nextByShare(this.#order, mayTake, performance.now())?.contract;
    }
    const next = this.#next;
    const instance = this.pick([], performance.now(), ANY, contracts);
    this.#next = next;
    return instance?.contract;
  }

  open(start: CallStart, listener: CallListener): OutgoingCall {
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
   * Picks the instance for a call. Of the next two fit instances it picks the one with fewer calls.
   * When none is fit, it picks the least unfit one.
   * @param contract the contract that the instance must have, or ANY
   */
  pick(
    tried: readonly Instance[],
    now: number,
    contract: unknown,
    contracts?: readonly unknown[],
  ): Instance | undefined {
    if (this.#uneven) return this.#pickByShare(tried, now, contract);
    let best: Instance | undefined;
    let lowest = Number.POSITIVE_INFINITY;
    let at = 0;
    for (let step = 0, fit = 0; step < this.#order.length && fit < 2; step++) {
      const index = (this.#next + step) % this.#order.length;
      const instance = this.#order[index] as Instance;
      if (contract !== ANY && instance.contract !== contract) continue;
      if (contracts !== undefined && !contracts.includes(instance.contract)) continue;
      if (tried.length > 0 && tried.includes(instance)) continue;
      const unfitness = instance.unfitness(now);
      if (unfitness === 0) fit++;
      const better = unfitness < lowest || (unfitness === 0 && instance.withDeadline < (best as Instance).withDeadline);
      if (!better) continue;
      best = instance;
      lowest = unfitness;
      at = index;
      if (unfitness === 0 && instance.withDeadline === 0) break;
    }
    if (best !== undefined) this.#next = at + 1;
    return best;
  }

  #pickByShare(tried: readonly Instance[], now: number, contract: unknown): Instance | undefined {
    const mayTake = (instance: Instance): boolean =>
      (contract === ANY || instance.contract === contract) && !tried.includes(instance);
    const chosen = nextByShare(this.#order, mayTake, now);
    if (chosen !== undefined) spendCredit(this.#order, chosen, now);
    return chosen;
  }

  settle(instance: Instance, { deadlineMonotonicMs: deadline }: CallStart, ended: Status, now: number): void {
    instance.calls--;
    if (deadline !== undefined) instance.withDeadline--;
    if (instance.removed && instance.calls === 0) instance.channel.close();
    if (instance.record(ended, this.#order, now)) this.ejections++;
  }

  /** Whether a call may be retried at another instance. */
  mayRetry({ repeatable }: CallStart, ended: Status): boolean {
    if (ended.code !== Code.UNAVAILABLE || isOverload(ended)) return false;
    return ended.neverSent === true || (repeatable === true && this.#retries >= 1);
  }

  spendRetry(): void {
    this.#retries--;
  }

  earnRetry(): void {
    if (this.#retries < MAX_RETRIES) this.#retries += RETRIES_PER_CALL;
  }
}

/**
 * A call that tries one instance after another. It is the caller's OutgoingCall, and the listener
 * of each attempt.
 */
class BalancedCall implements OutgoingCall, CallListener {
  readonly #start: CallStart;
  readonly #listener: CallListener;
  readonly #balancer: Balancer;
  readonly #contract: unknown;
  readonly #tried: Instance[] = [];
  #instance: Instance | undefined;
  #call: OutgoingCall | undefined;
  /**
   * The limit of calls to this endpoint of the instance. Set only for a call that may be refused.
   */
  #limit: ConcurrencyLimit | undefined;
  /** The span of the current attempt, if the call is traced. */
  #attempt: AttemptTrace | undefined;
  /** When the current attempt began, in milliseconds of `performance.now()`. */
  #began = 0;
  /** At least one instance had too many calls. */
  #overloaded = false;
  /** The service has its maximum number of calls. */
  #isTooMany = false;
  /**
   * The message that was sent, stored for a retry. After a second message the call is not retried.
   */
  #message: Uint8Array | undefined;
  #ended = false;
  #paused = false;
  /** The caller waits for `onDrain`. */
  #full = false;
  /**
   * The call must not be retried: it was cancelled, has a response, or has sent a second message.
   */
  #committed = false;

  constructor(start: CallStart, listener: CallListener, balancer: Balancer, contract: unknown) {
    this.#start = start;
    this.#listener = listener;
    this.#balancer = balancer;
    this.#contract = contract;
    if (balancer.calls < balancer.maxCalls) {
      balancer.earnRetry();
      if (this.#try(performance.now())) {
        balancer.calls++;
        return;
      }
    } else this.#isTooMany = true;
    const ending = this.#unserved();
    start.trace?.end(ending.code);
    queueMicrotask(() => listener.onEnd(ending));
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
    const now = performance.now();
    this.#balancer.settle(this.#instance as Instance, this.#start, status, now);
    this.#limit?.end(this.#began, now, endingOf(status));
    this.#attempt?.end(status.code);
    const again = !this.#committed && this.#balancer.mayRetry(this.#start, status) && this.#try(now);
    if (again && !status.neverSent) this.#balancer.spendRetry();
    if (again) return void this.#resend();
    this.#balancer.calls--;
    const ending = status.neverSent ? this.#unserved(status.cause) : status;
    this.#start.trace?.end(ending.code);
    this.#listener.onEnd(ending);
  }

  #commit(): void {
    this.#committed = true;
    this.#message = undefined;
  }

  /** Opens the call at the next instance. @returns false when no instance is left */
  #try(now: number): boolean {
    let instance: Instance | undefined;
    do {
      instance = this.#balancer.pick(this.#tried, now, this.#contract);
      if (instance === undefined) return false;
      this.#tried.push(instance);
    } while (this.#start.refusable && !this.#tryBegin(instance, now));
    this.#instance = instance;
    instance.calls++;
    if (this.#start.deadlineMonotonicMs !== undefined) instance.withDeadline++;
    // While another instance can take the call, the call does not wait for a connection.
    if (instance.channel.state === "broken" && this.#balancer.state === "broken") instance.channel.connectSoon?.();
    this.#call = instance.channel.open(this.#start.trace === undefined ? this.#start : this.#traced(instance), this);
    return true;
  }

  /** How the call begins at an instance, with the span of this attempt as the parent. */
  #traced({ channel }: Instance): CallStart {
    const attempt = this.#start.trace?.attempt(channel.target);
    this.#attempt = attempt;
    return { ...this.#start, metadata: this.#start.metadata.concat(attempt?.metadata ?? []) };
  }

  #tryBegin(instance: Instance, now: number): boolean {
    this.#began = now;
    this.#limit = instance.limitOf(this.#start.path);
    if (this.#limit.tryBegin(now)) return true;
    this.#overloaded = true;
    return false;
  }

  /** Repeats on the new attempt what the caller has done so far. */
  #resend(): void {
    if (this.#paused) this.#call?.pause();
    if (this.#message !== undefined && this.#call?.send(this.#message) && this.#full) this.onDrain();
    if (this.#ended) this.#call?.end();
  }

  /** The status of a call that no instance received. */
  #unserved(cause?: Error): Status {
    const { name, maxCalls } = this.#balancer;
    if (this.#isTooMany || this.#overloaded) {
      this.#balancer.refused++;
      return { ...(this.#isTooMany ? tooManyCalls(name, maxCalls) : overloaded(name)), neverSent: true };
    }
    return status(Code.UNAVAILABLE, `no instance of ${name} is reachable`, { neverSent: true, cause });
  }
}

function endingOf(ended: Status): CallEnding {
  if (ended.code === Code.OK) return "answered";
  const isLost = ended.code === Code.DEADLINE_EXCEEDED || ended.code === Code.CANCELLED || isOverload(ended);
  return isLost ? "lost" : "other";
}
