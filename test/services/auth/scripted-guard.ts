/**
 * A guard as an authority sees it, controlled by the test: it pings, applies changes, and counts
 * its lease from its pings. Like a real guard, it comes back after a refusal: an authority whose
 * own guard has no lease for a moment refuses its stream.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { RESTRICTIONS } from "../../../src/access/decide/restrictions.js";
import { SYSTEM } from "../../../src/access/guard.js";
import { PolicyService, type WatchRequest, type WatchResponse } from "../../../src/gen/portico/auth/v1/policy.js";
import { Access, type Rule } from "../../../src/gen/portico/auth/v1/rules.js";
import type { Channel } from "../../../src/rpc/channel.js";
import { type CallOptions, type CallStream, stream } from "../../../src/rpc/client.js";
import { until } from "../../support/until.js";

type Message = NonNullable<WatchResponse["message"]>;

/** Default interval between pings, in milliseconds. */
const INTERVAL = 50;
/** Delay before it comes back, in milliseconds. */
const RETRY = 20;

export interface ScriptedGuardOptions {
  readonly enrolment?: string | undefined;
  /** Interval between pings, in milliseconds. */
  readonly interval?: number;
  /** The kinds of restrictions that it says it understands. Default: all. */
  readonly restrictions?: readonly string[];
}

export class ScriptedGuard {
  /** The rules of the namespace `default` that it has applied, by ID. */
  readonly rules = new Map<string, Rule>();
  /** IDs of those rules that it had applied at a pong that gave it a lease. */
  readonly leased = new Set<string>();
  revision = 0n;
  /** Why its last stream ended; undefined before any has ended. */
  ended: unknown;
  /** While set, it applies nothing. */
  stuck = false;
  /** When its lease ends, by the monotonic clock. */
  #lease = 0;
  readonly #channel: Channel;
  readonly #options: CallOptions;
  readonly #restrictions: readonly string[];
  #stream: CallStream<WatchRequest, WatchResponse> | undefined;
  /** When each ping was sent, by its sequence number. */
  readonly #sent = new Map<bigint, number>();
  #pongs: Extract<Message, { $case: "pong" }>["value"][] = [];
  #waiting: Message[] = [];
  #sequence = 0n;
  #lastPong = 0n;
  #hasLeft = false;
  #isCut = false;
  readonly #timer: NodeJS.Timeout;

  /** With an enrolment token, the guard is of another process; without, of the authority's. */
  constructor(t: Test, channel: Channel, options: ScriptedGuardOptions = {}) {
    const { enrolment, interval = INTERVAL, restrictions = RESTRICTIONS } = options;
    this.#channel = channel;
    this.#restrictions = restrictions;
    this.#options = enrolment ? { metadata: [["authorization", `Bearer ${enrolment}`]] } : { admission: SYSTEM };
    this.#timer = setInterval(() => this.ping(), interval);
    t.teardown(() => this.cut());
    void this.#follow();
  }

  /** Whether it may decide now. */
  get decides(): boolean {
    return !this.#hasLeft && performance.now() < this.#lease;
  }

  /** Whether it would grant a call by the rule now. */
  grants(rule: string): boolean {
    return this.decides && this.rules.get(rule)?.access === Access.GRANTED;
  }

  /** Its state, for the message of a failed wait. */
  get status(): string {
    const ended = this.ended === undefined ? "" : `, its last stream ended (${this.ended})`;
    return `${this.decides ? "decides" : "has no lease"}, at revision ${this.revision}${ended}`;
  }

  ping(): void {
    this.#sent.set(++this.#sequence, performance.now());
    this.#stream?.send({ message: { $case: "ping", value: { sequence: this.#sequence, usedKeys: [] } } });
  }

  /** Stops the regular pings: the test sends them. Resolves when no pong is expected. */
  async silence(): Promise<void> {
    clearInterval(this.#timer);
    await until(() => this.#lastPong === this.#sequence, {
      what: () => `a pong for the last ping arrives; ${this.status}`,
    });
  }

  /** It decides nothing until the next pong, as if its lease had ended. */
  forgetLease(): void {
    this.#lease = 0;
    this.leased.clear();
  }

  /** Applies what it was sent while it was stuck. */
  goOn(): void {
    this.stuck = false;
    for (const message of this.#waiting.splice(0)) this.#apply(message);
  }

  /** Breaks the connection for good. Its lease continues. */
  cut(): void {
    this.#isCut = true;
    clearInterval(this.#timer);
    this.#stream?.cancel();
  }

  /** Says that it makes no more decisions, and makes none. */
  leave(): void {
    clearInterval(this.#timer);
    this.#hasLeft = true;
    this.#stream?.end();
  }

  async #follow(): Promise<void> {
    while (!this.#isCut && !this.#hasLeft) {
      this.#pongs = [];
      this.#waiting = [];
      try {
        await this.#read();
        this.ended = "ended";
      } catch (error) {
        this.ended = error;
      }
      await sleep(RETRY);
    }
  }

  /** Watches the policy until the stream ends. */
  async #read(): Promise<void> {
    const following = stream(this.#channel, PolicyService.watch, this.#options);
    this.#stream = following;
    following.send({ message: { $case: "start", value: { service: "", restrictions: [...this.#restrictions] } } });
    this.ping();
    for await (const { message } of following.responses) {
      if (message?.$case === "pong") {
        this.#lastPong = bigger(this.#lastPong, message.value.sequence);
        this.#pongs.push(message.value);
        this.#extend();
      } else if (message !== undefined && this.stuck) this.#waiting.push(message);
      else if (message !== undefined) this.#apply(message);
    }
  }

  #apply(message: Message): void {
    if (message.$case === "snapshot") {
      this.rules.clear();
      for (const { namespace, rules } of message.value.namespaces) {
        if (namespace === "default") for (const rule of rules) this.rules.set(rule.id, rule);
      }
      this.revision = message.value.revision;
    } else if (message.$case === "changes") {
      for (const { change } of message.value.changes) {
        if (change?.$case === "ruleCreated") this.rules.set(change.value.rule!.id, change.value.rule!);
        if (change?.$case === "ruleDeleted") this.rules.delete(change.value.id);
      }
      this.revision = message.value.revision;
    }
    this.#extend();
    this.#stream?.send({ message: { $case: "applied", value: { revision: this.revision } } });
  }

  /** A pong counts once its revision is applied. */
  #extend(): void {
    for (const { sequence, revision, leaseMs } of this.#pongs) {
      if (revision > this.revision) continue;
      this.#lease = Math.max(this.#lease, (this.#sent.get(sequence) ?? 0) + Number(leaseMs));
    }
    this.#pongs = this.#pongs.filter(({ revision }) => revision > this.revision);
    if (this.decides) for (const rule of this.rules.keys()) this.leased.add(rule);
  }
}

function bigger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
