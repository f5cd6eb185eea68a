/**
 * What a guard knows of the rules, and for how long it may rely on it.
 *
 * A stream to the authority (Policy.Watch) brings a snapshot and then every change. Against a network that delays or
 * loses them stands the lease: each ping is answered with the newest revision at that moment, and only once that
 * revision is applied here may the guard decide, for the lease's time after the ping was *sent*. So whatever happens, a
 * decision lacks no change that is older than a lease; and the authority, before it confirms a change that takes
 * something away, waits until each guard has acknowledged it or can have no lease any more.
 *
 * Anything that cannot be understood or does not fit ends the lease and the stream; the next stream starts with a
 * snapshot. The stream is opened again for ever, until `close`.
 */
import type { Logger } from "pino";
import { Code, StatusError } from "../errors.js";
import { follow } from "../follow.js";
import {
  type Change,
  PolicyService,
  type WatchRequest,
  type WatchResponse,
  type WatchResponse_Changes,
  type WatchResponse_Pong,
  type WatchResponse_Snapshot,
} from "../gen/portico/auth/v1/policy.js";
import { type Stream, stream } from "../rpc/client.js";
import { timestampMs } from "../time.js";
import type { AuthorityAccess, KnownCaller } from "./caller-cache.js";
import { ContextKeys } from "./context-keys.js";
import { Lease, type Moment, now } from "./lease.js";
import { RuleSet } from "./rules.js";

/** How often a guard pings in the time of a lease. */
const PINGS_A_LEASE = 5;
/** A stream on which this many pings wait for their answer is broken; the lease has run out by then. */
const MAX_UNANSWERED = 6;
/** The lease's time until the first answer tells, in milliseconds. */
const FIRST_LEASE_TIME = 5_000;
/** A longer lease is cut to this, in milliseconds. */
const LONGEST_LEASE_TIME = 60_000;
/** The least time between two pings, in milliseconds. */
const SHORTEST_INTERVAL = 20;
/** The longest pause before the stream is opened again, in milliseconds: after the first failure, and ever (see follow.ts). */
const FIRST_PAUSE = 50;
const MAX_PAUSE = 2_000;
/** While a lease runs, in milliseconds: the authority may be back before the lease ends, and then no call fails. */
const MAX_PAUSE_IN_LEASE = 100;
/** How long the authority has to end the stream after we have ended our side, in milliseconds. */
const LEAVE_TIME = 1_000;

export interface PolicyListener {
  /**
   * A revision holds. `changed` tells callers who may no longer be what they were; undefined means there are none. The
   * revision is acknowledged when what is returned has resolved; it must not reject.
   */
  onRevision(revision: bigint, changed: ((caller: KnownCaller) => boolean) | undefined): Promise<void>;
  /** As `onRevision`, where nothing that was known before may be relied on. */
  onSnapshot(revision: bigint): Promise<void>;
  /** No decision has been possible for as long as a lease lasts. */
  onCutOff(): void;
  /** The SHA-256 of each key used since the last time. */
  takeUsedKeys(): Buffer[];
}

type Watch = Stream<WatchRequest, WatchResponse>;

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

/** How long a call may wait for a revision that its gateway has applied already, in milliseconds. */
const MAX_AWAITED = 2_000;
/** Most calls that wait so. */
const MAX_AWAITING = 1_000;

const NO_RULES = new RuleSet();
const NEWER = "is it newer than this guard?";

export class Policy {
  readonly #authority: AuthorityAccess;
  readonly #listener: PolicyListener;
  readonly #lease: Lease;
  readonly #closing = new AbortController();
  /** The keys of contexts that the authority lets this guard have. */
  readonly keys = new ContextKeys();
  #rules = new Map<string, RuleSet>();
  /** The applied revision; undefined until there is a snapshot. */
  #revision: bigint | undefined;
  /** The snapshot that is coming, as far as it has come. */
  #parts: WatchResponse_Snapshot[] = [];
  #leaseTime = FIRST_LEASE_TIME;
  /** What the authority's clock is ahead of `performance.now()`, at most. */
  #clockLead = 0;
  #waiting: Waiting[] = [];
  /** Who waits for a revision to be applied. */
  readonly #awaiting = new Set<() => void>();
  #hasRun = false;
  /** Resolves when all that hangs on the applied revisions is done. */
  #settled: Promise<void> = Promise.resolve();
  /** How many applied messages are not acknowledged yet. */
  #unacknowledged = 0;
  #fault: unknown;
  /** Resolves when it follows the authority no more. */
  readonly #ran: Promise<void>;

  constructor(authority: AuthorityAccess, listener: PolicyListener) {
    this.#authority = authority;
    this.#listener = listener;
    this.#lease = new Lease({
      onRunning: () => this.#onRunning(),
      onLost: () => authority.log.warn("the lease ran out: nothing is decided until the authority is reached again"),
      onLostForLong: () => listener.onCutOff(),
    });
    this.#ran = follow({
      source: "the authority",
      attempt: ({ answered }) => this.#watch(answered),
      onFailure: ({ error, repeated }) => {
        this.#fault = error;
        authority.log[repeated ? "debug" : "warn"]({ err: error }, "the stream from the authority broke");
      },
      firstDelayMs: FIRST_PAUSE,
      maxDelayMs: () => (this.mayDecide(performance.now()) ? MAX_PAUSE_IN_LEASE : MAX_PAUSE),
      signal: this.#closing.signal,
    });
  }

  get state(): "starting" | "ready" | "lost" | "closed" {
    if (this.#closing.signal.aborted) return "closed";
    if (this.mayDecide(performance.now())) return "ready";
    return this.#hasRun ? "lost" : "starting";
  }

  /** Why the authority's stream ended, until it has answered again. */
  get fault(): unknown {
    return this.#fault;
  }

  /** Whether a decision may be made at a moment of `performance.now()`. */
  mayDecide(monotonic: number): boolean {
    return this.#lease.runs(monotonic);
  }

  /** The authority's clock at a moment of `performance.now()`, in milliseconds since 1970; rather too late than too early. */
  timeAt(monotonic: number): number {
    return monotonic + this.#clockLead;
  }

  /** The applied revision; 0 until there is one. */
  get revision(): bigint {
    return this.#revision ?? 0n;
  }

  /** Until when decisions may be made, as a moment of `performance.now()`. */
  get leaseEnd(): number {
    return this.#lease.end;
  }

  /** Resolves when a revision is applied, or has not come in time. */
  async applied(revision: number): Promise<void> {
    if (this.#awaiting.size >= MAX_AWAITING) return;
    const end = performance.now() + MAX_AWAITED;
    for (let left = MAX_AWAITED; left > 0 && this.revision < revision; left = end - performance.now()) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          this.#awaiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, left);
        this.#awaiting.add(done);
      });
    }
  }

  rulesOf(namespace: string): RuleSet {
    return this.#rules.get(namespace) ?? NO_RULES;
  }

  /**
   * Resolves when decisions may be made.
   * @throws {StatusError} CANCELLED when closed before.
   */
  ready(): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.reject(closed());
    if (this.mayDecide(performance.now())) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Resolves when the authority has heard of it, or does not answer. */
  async close(): Promise<void> {
    this.#lease.close();
    this.#closing.abort();
    for (const { reject } of this.#waiting.splice(0)) reject(closed());
    await this.#ran;
  }

  #onRunning(): void {
    if (this.#hasRun) this.#authority.log.info("the authority is reached again");
    this.#hasRun = true;
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  /** Follows one stream to its end. */
  async #watch(answered: () => void): Promise<void> {
    // What the stream before it has brought is judged first: this one answers for what it brings itself.
    await this.#settled;
    if (this.#closing.signal.aborted) return;
    this.#parts = [];
    const { channel, metadata, admission, log } = this.#authority;
    const watch = stream(channel, PolicyService.watch, { metadata, admission });
    const isAcknowledged = (): boolean => this.#unacknowledged === 0;
    const pings = new Pings({ watch, listener: this.#listener, log, isAcknowledged });
    // The end of our side tells the authority that it need not wait for this guard's lease.
    let leaving: NodeJS.Timeout | undefined;
    const leave = (): void => {
      pings.stop();
      watch.end();
      leaving = setTimeout(() => watch.cancel(), LEAVE_TIME);
    };
    this.#closing.signal.addEventListener("abort", leave);
    try {
      watch.send({ message: { $case: "start", value: {} } });
      pings.start(this.#leaseTime);
      for await (const { message } of watch.responses) {
        if (message?.$case === "pong") pings.answered(message.value);
        else this.#apply(message, watch);
        for (const answer of pings.takeAnswers(this.#revision)) {
          this.#extend(answer, pings);
          this.#fault = undefined;
          answered();
        }
      }
    } finally {
      this.#closing.signal.removeEventListener("abort", leave);
      clearTimeout(leaving);
      pings.stop();
      watch.cancel();
    }
  }

  #apply(message: WatchResponse["message"], watch: Watch): void {
    try {
      if (message?.$case === "snapshot") {
        this.#parts.push(message.value);
        if (!message.value.last) return;
        this.#applySnapshot(this.#parts.splice(0));
      } else if (this.#parts.length > 0) throw new Error("the authority broke off a snapshot");
      else if (message?.$case === "changes") this.#applyChanges(message.value);
      else throw new Error(`the authority sent a message of a kind that is not known here; ${NEWER}`);
    } catch (error) {
      // A part of it may have been applied, so what is here can no longer be relied on.
      this.#revision = undefined;
      this.#lease.cut(this.#leaseTime);
      throw error;
    }
    const applied = this.#revision ?? 0n;
    this.#unacknowledged++;
    for (const done of [...this.#awaiting]) done();
    this.#settled = this.#settled.then(() => {
      this.#unacknowledged--;
      watch.send({ message: { $case: "applied", value: { revision: applied } } });
    });
  }

  #applySnapshot(parts: readonly WatchResponse_Snapshot[]): void {
    const snapshot = new Map<string, RuleSet>();
    for (const { namespace, rules } of parts.flatMap((part) => part.namespaces)) {
      const set = snapshot.get(namespace) ?? new RuleSet();
      for (const rule of rules) set.add(rule);
      snapshot.set(namespace, set);
    }
    const revision = parts.at(-1)?.revision ?? 0n;
    if (parts.some((part) => part.revision !== revision)) throw new Error("the authority mixed two snapshots");
    this.#rules = snapshot;
    this.keys.clear();
    for (const key of parts.flatMap((part) => part.contextKeys)) this.keys.set(key);
    this.#revision = revision;
    this.#settleAfter(this.#listener.onSnapshot(revision));
  }

  #applyChanges({ revision, changes }: WatchResponse_Changes): void {
    if (this.#revision === undefined) throw new Error("the authority sent changes without a snapshot before them");
    const changed = new ChangedCallers();
    for (const { change } of changes) this.#applyChange(change, changed);
    this.#revision = revision;
    if (changes.length === 0) return;
    this.#settleAfter(this.#listener.onRevision(revision, changed.some ? (caller) => changed.has(caller) : undefined));
  }

  #applyChange(change: Change["change"], changed: ChangedCallers): void {
    switch (change?.$case) {
      case "ruleCreated": {
        const { namespace, rule } = change.value;
        if (rule === undefined) throw new Error(`a rule created in ${namespace} is missing from its change`);
        const rules = this.#rules.get(namespace) ?? new RuleSet();
        rules.add(rule);
        this.#rules.set(namespace, rules);
        return;
      }
      case "ruleDeleted": {
        const { namespace, id } = change.value;
        if (!this.rulesOf(namespace).delete(id)) throw new Error(`rule "${id}" of ${namespace} is deleted but unknown`);
        return;
      }
      case "accountChanged":
        changed.accounts.add(accountKey(change.value));
        return;
      case "tokensRevoked":
        for (const sha256 of change.value.sha256) changed.tokens.add(sha256.toString("hex"));
        return;
      case "namespaceDeleted":
        this.#rules.delete(change.value.namespace);
        changed.namespaces.add(change.value.namespace);
        return;
      case "contextKey":
        this.keys.set(change.value);
        return;
      default:
        throw new Error(`the authority sent a change of a kind that is not known here; ${NEWER}`);
    }
  }

  #settleAfter(done: Promise<void>): void {
    this.#settled = Promise.all([this.#settled, done]).then(() => {});
  }

  #extend({ sent, pong }: Answer, pings: Pings): void {
    const { time } = pong;
    if (time === undefined) throw new Error("the authority's answer to a ping lacks its time");
    this.#leaseTime = Math.min(Number(pong.leaseMs), LONGEST_LEASE_TIME);
    pings.setPace(this.#leaseTime);
    this.#clockLead = timestampMs(time) - sent.monotonic;
    this.#lease.extend(sent, this.#leaseTime);
  }
}

/** An answer to a ping, with the moment at which the ping was sent. */
interface Answer {
  readonly sent: Moment;
  readonly pong: WatchResponse_Pong;
}

interface PingOptions {
  readonly watch: Watch;
  readonly listener: PolicyListener;
  readonly log: Logger;
  /** Whether everything that is applied has been acknowledged to the authority. */
  readonly isAcknowledged: () => boolean;
}

/** The pings of one stream and their answers. */
class Pings {
  readonly #watch: Watch;
  readonly #listener: PolicyListener;
  readonly #log: Logger;
  readonly #isAcknowledged: () => boolean;
  readonly #unanswered = new Map<bigint, Moment>();
  #answers: Answer[] = [];
  #sequence = 0n;
  #interval = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ watch, listener, log, isAcknowledged }: PingOptions) {
    this.#watch = watch;
    this.#listener = listener;
    this.#log = log;
    this.#isAcknowledged = isAcknowledged;
  }

  start(leaseTime: number): void {
    this.setPace(leaseTime);
    this.#ping();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  setPace(leaseTime: number): void {
    const interval = Math.max(leaseTime / PINGS_A_LEASE, SHORTEST_INTERVAL);
    if (interval === this.#interval) return;
    this.#interval = interval;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#ping(), interval);
  }

  #ping(): void {
    if (this.#unanswered.size + this.#answers.length >= MAX_UNANSWERED) {
      // The authority answers when it knows that the last answer's revision is applied.
      if (!this.#isAcknowledged()) return;
      this.#log.warn("the authority does not answer pings, or not with what it has sent");
      this.#watch.cancel();
      return;
    }
    this.#unanswered.set(++this.#sequence, now());
    const usedKeys = this.#listener.takeUsedKeys();
    this.#watch.send({ message: { $case: "ping", value: { sequence: this.#sequence, usedKeys } } });
  }

  answered(pong: WatchResponse_Pong): void {
    const sent = this.#unanswered.get(pong.sequence);
    if (sent === undefined) return;
    // Pings are answered in order, and an answer that was overtaken by a later one does not come any more.
    for (const sequence of this.#unanswered.keys()) if (sequence <= pong.sequence) this.#unanswered.delete(sequence);
    this.#answers.push({ sent, pong });
  }

  /** The answers that count once a revision is applied, each given out once. */
  takeAnswers(applied: bigint | undefined): Answer[] {
    if (applied === undefined || this.#answers.length === 0) return [];
    const counting = this.#answers.filter(({ pong }) => pong.revision <= applied);
    this.#answers = this.#answers.filter(({ pong }) => pong.revision > applied);
    return counting;
  }
}

/** Which callers some changes are about. */
class ChangedCallers {
  readonly accounts = new Set<string>();
  /** SHA-256 in hexadecimal. */
  readonly tokens = new Set<string>();
  readonly namespaces = new Set<string>();

  get some(): boolean {
    return this.accounts.size + this.tokens.size + this.namespaces.size > 0;
  }

  has(caller: KnownCaller): boolean {
    if (this.tokens.has(caller.sha256)) return true;
    if (caller.enrolment !== undefined) return false;
    return this.namespaces.has(caller.namespace) || this.accounts.has(accountKey(caller));
  }
}

/** A namespace's name has no colon, so no two accounts share a key. */
function accountKey({ namespace, account }: { namespace: string; account: string }): string {
  return `${namespace}:${account}`;
}

function closed(): StatusError {
  return new StatusError(Code.CANCELLED, "The guard was closed");
}
