/**
 * A channel above channels to the instances of one service: round robin over those that are ready. An instance that was
 * UNAVAILABLE is set aside for a while, longer each time in a row, and comes back by itself; while all are set aside,
 * they are tried all the same. A call is sent again to another instance only where the first certainly never saw it, or
 * where it is declared free of side effects, and only while nothing of it was answered.
 */
import { Code } from "../errors.js";
import type { Call, CallListener, CallStart, Channel, Status } from "./channel.js";
import type { Metadata } from "./metadata.js";
import { status } from "./status.js";

/** How long an instance is set aside, in milliseconds: the first time, and at most. It doubles in between. */
const ASIDE_MS = 100;
const MOST_ASIDE_MS = 10_000;

interface Instance {
  readonly channel: Channel;
  /** Calls in flight. */
  calls: number;
  /** Failures in a row. */
  failures: number;
  /** In milliseconds of `Date.now()`. */
  asideUntil: number;
  /** No longer to be picked; closed when its last call has ended. */
  removed: boolean;
}

export interface BalancerOptions {
  /** The service's name, for the error when none of its instances can be reached. */
  readonly name: string;
}

export class Balancer implements Channel {
  readonly #name: string;
  readonly #instances = new Map<string, Instance>();
  /** The same, for picking; in the order of the addresses. */
  #order: readonly Instance[] = [];
  #next = 0;
  #closed = false;

  constructor({ name }: BalancerOptions) {
    this.#name = name;
  }

  get state(): Channel["state"] {
    if (this.#closed) return "closed";
    const states = this.#order.map(({ channel }) => channel.state);
    return (["ready", "idle", "connecting"] as const).find((state) => states.includes(state)) ?? "broken";
  }

  /**
   * Says which instances there are. From then on the balancer closes their channels: that of an address which is no
   * longer among them, or has another channel, when its calls in flight have ended.
   */
  update(channels: ReadonlyMap<string, Channel>): void {
    for (const [address, instance] of this.#instances) {
      if (channels.get(address) === instance.channel) continue;
      this.#instances.delete(address);
      instance.removed = true;
      if (instance.calls === 0) instance.channel.close();
    }
    for (const [address, channel] of channels) {
      if (this.#closed) channel.close();
      else if (!this.#instances.has(address)) {
        this.#instances.set(address, { channel, calls: 0, failures: 0, asideUntil: 0, removed: false });
      }
    }
    this.#order = [...this.#instances.values()];
  }

  open(start: CallStart, listener: CallListener): Call {
    return new BalancedCall(start, listener, (tried) => this.#pick(tried), this.#name);
  }

  close(): void {
    this.#closed = true;
    const instances = this.#order;
    this.#order = [];
    this.#instances.clear();
    for (const { channel } of instances) channel.close();
  }

  /** The next instance in turn among the fittest. */
  #pick(tried: readonly Instance[]): Instance | undefined {
    const now = Date.now();
    let best: Instance | undefined;
    let least = Number.POSITIVE_INFINITY;
    let at = 0;
    for (let step = 0; step < this.#order.length && least > 0; step++) {
      const index = (this.#next + step) % this.#order.length;
      const instance = this.#order[index] as Instance;
      const unfitness = tried.includes(instance) ? Number.POSITIVE_INFINITY : unfitnessOf(instance, now);
      if (unfitness >= least) continue;
      best = instance;
      least = unfitness;
      at = index;
    }
    if (best !== undefined) this.#next = at + 1;
    return best;
  }
}

type Pick = (tried: readonly Instance[]) => Instance | undefined;

function unfitnessOf({ channel, asideUntil }: Instance, now: number): number {
  const { state } = channel;
  if (state === "closed") return Number.POSITIVE_INFINITY;
  if (state === "broken" || now < asideUntil) return 2;
  return state === "connecting" ? 1 : 0;
}

function settle(instance: Instance, { code }: Status): void {
  instance.calls--;
  if (instance.removed && instance.calls === 0) instance.channel.close();
  instance.failures = code === Code.UNAVAILABLE ? instance.failures + 1 : 0;
  const aside = Math.min(ASIDE_MS * 2 ** (instance.failures - 1), MOST_ASIDE_MS);
  instance.asideUntil = instance.failures === 0 ? 0 : Date.now() + aside;
}

/** What is tried with one instance after the other: the caller's Call, and each instance's listener. */
class BalancedCall implements Call, CallListener {
  readonly #start: CallStart;
  readonly #listener: CallListener;
  readonly #pick: Pick;
  readonly #name: string;
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

  constructor(start: CallStart, listener: CallListener, pick: Pick, name: string) {
    this.#start = start;
    this.#listener = listener;
    this.#pick = pick;
    this.#name = name;
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
    settle(this.#instance as Instance, status);
    const again = status.code === Code.UNAVAILABLE && (status.neverSent || this.#start.repeatable);
    if (again && !this.#committed && this.#try()) this.#resend();
    else this.#listener.onEnd(status.neverSent ? this.#unreachable(status.cause) : status);
  }

  #commit(): void {
    this.#committed = true;
    this.#message = undefined;
  }

  /** Opens the call at the next instance; false when there is none left. */
  #try(): boolean {
    const instance = this.#pick(this.#tried);
    if (instance === undefined) return false;
    this.#tried.push(instance);
    this.#instance = instance;
    instance.calls++;
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
    return status(Code.UNAVAILABLE, `no instance of ${this.#name} is reachable`, { neverSent: true, cause });
  }
}
