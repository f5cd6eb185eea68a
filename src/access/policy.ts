/**
 * What a guard knows of the rules, and for how long it may rely on it.
 *
 * A stream to the authority (Policy.Watch) brings a snapshot and then every change. A network can delay or lose them, so
 * decisions need a lease too: each ping is answered with the newest revision at that moment, and only once that
 * revision is applied here may the guard decide, for the lease's time after the ping was *sent*. So no decision lacks
 * a change that is older than a lease. The authority, before it confirms a change that takes something away, waits
 * until each guard has acknowledged it or can have no lease any more.
 *
 * A message that is not understood or does not fit ends the lease and the stream; the next stream starts with a
 * snapshot. The stream is opened again (follow.ts) until `close`.
 */
import { Code, StatusError } from "../errors.js";
import { follow } from "../follow.js";
import { PolicyService, type WatchRequest, type WatchResponse } from "../gen/portico/auth/v1/policy.js";
import { type Stream, stream } from "../rpc/client.js";
import { timestampMs } from "../time.js";
import type { AuthorityAccess } from "./caller-cache.js";
import { type Answer, Lease, Pings } from "./lease.js";
import { type Applied, PolicyState, type RevisionListener } from "./policy-state.js";

/** The lease's time until the first answer tells, in milliseconds. */
const FIRST_LEASE_TIME = 5_000;
/** A longer lease is cut to this, in milliseconds. */
const MAX_LEASE_TIME = 60_000;
/** The longest pause before the stream is opened again, in milliseconds: after the first failure, and ever (see follow.ts). */
const FIRST_PAUSE = 50;
const MAX_PAUSE = 2_000;
/** While a lease runs, in milliseconds: the authority may be back before the lease ends, and then no call fails. */
const MAX_PAUSE_IN_LEASE = 100;
/** How long the authority has to end the stream after we have ended our side, in milliseconds. */
const LEAVE_TIME = 1_000;

/** What a guard does when its policy changes or cannot be relied on. */
export interface PolicyListener extends RevisionListener {
  /** Decisions are possible, for the first time or again. */
  onLeaseRunning(): void;
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

/** The rules of the authority, followed on a stream, and the lease in which they may be used. */
export class Policy {
  /** The rules and keys that are applied. */
  readonly current: PolicyState;
  /** While it runs, decisions may be made. */
  readonly lease: Lease;
  /** Why the authority's stream ended, until it has answered again. */
  fault: unknown;
  readonly #authority: AuthorityAccess;
  readonly #listener: PolicyListener;
  readonly #closing = new AbortController();
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
  /** Resolves when it follows the authority no more. */
  readonly #ran: Promise<void>;

  constructor(authority: AuthorityAccess, listener: PolicyListener) {
    this.#authority = authority;
    this.#listener = listener;
    this.current = new PolicyState(listener);
    this.lease = new Lease({
      onRunning: () => this.#onRunning(),
      onLost: () => authority.log.warn("the lease ran out: nothing is decided until the authority is reached again"),
      onLostForLong: () => listener.onCutOff(),
    });
    this.#ran = follow({
      source: "the authority",
      attempt: ({ answered }) => this.#watch(answered),
      onFailure: ({ error, repeated }) => {
        this.fault = error;
        authority.log[repeated ? "debug" : "warn"]({ err: error }, "the stream from the authority broke");
      },
      firstDelayMs: FIRST_PAUSE,
      maxDelayMs: () => (this.lease.runs(performance.now()) ? MAX_PAUSE_IN_LEASE : MAX_PAUSE),
      signal: this.#closing.signal,
    });
  }

  get state(): "starting" | "ready" | "lost" | "closed" {
    if (this.#closing.signal.aborted) return "closed";
    if (this.lease.runs(performance.now())) return "ready";
    return this.#hasRun ? "lost" : "starting";
  }

  /** The authority's clock at a moment of `performance.now()`, in milliseconds since 1970; rather too late than too early. */
  timeAt(monotonic: number): number {
    return monotonic + this.#clockLead;
  }

  /** The applied revision; 0 until there is one. */
  get revision(): bigint {
    return this.current.revision ?? 0n;
  }

  /** Resolves when a revision is applied, or has not come in time. */
  async awaitRevision(revision: number): Promise<void> {
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

  /**
   * Resolves when decisions may be made.
   * @throws {StatusError} CANCELLED when closed before.
   */
  ready(): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.reject(closed());
    if (this.lease.runs(performance.now())) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Resolves when the authority has heard of it, or does not answer. */
  async close(): Promise<void> {
    this.lease.close();
    this.#closing.abort();
    for (const { reject } of this.#waiting.splice(0)) reject(closed());
    await this.#ran;
  }

  #onRunning(): void {
    if (this.#hasRun) this.#authority.log.info("the authority is reached again");
    this.#hasRun = true;
    for (const { resolve } of this.#waiting.splice(0)) resolve();
    this.#listener.onLeaseRunning();
  }

  /** Follows one stream to its end. */
  async #watch(answered: () => void): Promise<void> {
    // What the stream before it has brought is judged first: this one answers for what it brings itself.
    await this.#settled;
    if (this.#closing.signal.aborted) return;
    this.current.beginStream();
    const { channel, metadata, admission, log } = this.#authority;
    const watch = stream(channel, PolicyService.watch, { metadata, admission });
    const pings = new Pings({
      send: (request) => watch.send(request),
      cancel: () => watch.cancel(),
      takeUsedKeys: () => this.#listener.takeUsedKeys(),
      isAcknowledged: () => this.#unacknowledged === 0,
      log,
    });
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
        for (const answer of pings.takeAnswers(this.current.revision)) {
          this.#extend(answer, pings);
          this.fault = undefined;
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
    let applied: Applied | undefined;
    try {
      applied = this.current.apply(message);
    } catch (error) {
      this.lease.cut(this.#leaseTime);
      throw error;
    }
    if (applied === undefined) return;
    const { revision } = this;
    this.#unacknowledged++;
    for (const done of [...this.#awaiting]) done();
    if (applied.done !== undefined) this.#settled = Promise.all([this.#settled, applied.done]).then(() => {});
    this.#settled = this.#settled.then(() => {
      this.#unacknowledged--;
      watch.send({ message: { $case: "applied", value: { revision } } });
    });
  }

  #extend({ sent, pong }: Answer, pings: Pings): void {
    const { time } = pong;
    if (time === undefined) throw new Error("the authority's answer to a ping lacks its time");
    this.#leaseTime = Math.min(Number(pong.leaseMs), MAX_LEASE_TIME);
    pings.setPace(this.#leaseTime);
    this.#clockLead = timestampMs(time) - sent.monotonic;
    this.lease.extend(sent, this.#leaseTime);
  }
}

function closed(): StatusError {
  return new StatusError(Code.CANCELLED, "The guard was closed");
}
