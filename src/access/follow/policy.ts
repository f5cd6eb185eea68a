/**
 * The rules that a guard has, and for how long it may rely on them.
 *
 * A stream from an authority (Policy.Watch) brings a snapshot, and then every change. A network can
 * delay or lose messages, so decisions also need a lease. The authority responds to each ping with
 * the newest revision at that moment. Once that revision is applied here, the guard may decide
 * until the lease's time after the ping was *sent*. So every decision includes all changes that are
 * older than a lease. Before the authority confirms a change that takes permissions away, it waits
 * for each guard: until the guard has acknowledged the change, or can no longer have a lease.
 *
 * A message that is not understood or does not fit ends the lease and the stream. The next stream
 * starts with a snapshot. Until `close`, streams are opened again from any authority that responds
 * (succession.ts).
 */
import { Code, StatusError } from "../../errors.js";
import { timestampMs } from "../../time.js";
import type { ChangedCallers } from "../callers/caller-changes.js";
import { Authorities } from "./authorities.js";
import type { AuthorityAccess, FollowedAuthority } from "./authority-access.js";
import { type AnsweredPing, Lease } from "./lease.js";
import { type Applied, PolicyState } from "./policy-state.js";
import type { PolicyStream } from "./policy-stream.js";
import { type FollowedGuard, Succession } from "./succession.js";

/** The lease's time until the first pong states it, in milliseconds. */
const FIRST_LEASE_TIME = 5_000;
/** A longer lease is shortened to this, in milliseconds. */
const MAX_LEASE_TIME = 60_000;

/** What a guard does when its policy changes or its lease begins or ends. */
export interface PolicyListener {
  /**
   * A revision was applied. `changed` has the callers that may have changed; undefined means none.
   * The revision is acknowledged when the returned promise has resolved; it must not reject.
   */
  onRevision(revision: bigint, changed: ChangedCallers | undefined): Promise<void>;
  /** As `onRevision`, but nothing that was known before may be relied on. */
  onSnapshot(revision: bigint): Promise<void>;
  /** Decisions are possible, for the first time or again. */
  onLeaseRunning(): void;
  /** No decision has been possible for as long as a lease lasts. */
  onCutOff(): void;
  /** The SHA-256 of each key used since the last call of this function. */
  takeUsedKeys(): Buffer[];
}

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

/**
 * How long a call may wait for a revision that its gateway has already applied, in milliseconds.
 */
const MAX_AWAITED = 2_000;
/** Maximum number of calls that wait for a revision. */
const MAX_AWAITING = 1_000;

/**
 * The rules as an authority sends them on a stream, and the lease during which they may be used.
 */
export class Policy implements FollowedGuard {
  /** The rules and keys that are applied. */
  current = new PolicyState();
  /** Decisions may be made while it runs. */
  readonly lease: Lease;
  /** The last error of each authority that has failed, by address. Its next response removes it. */
  readonly errors: ReadonlyMap<string, Error>;
  leaseTime = FIRST_LEASE_TIME;
  /**
   * The newest revision that was applied, on any stream; 0 if no lease has run for as long as one
   * lasts.
   */
  floor = 0n;
  /** Whether no lease has run yet, or again, since none had for as long as one lasts. */
  #isCutOff = true;
  /** The authority that is followed; undefined if none is. */
  source: FollowedAuthority | undefined;
  #endSource = (): void => {};
  readonly #access: AuthorityAccess;
  readonly #listener: PolicyListener;
  readonly #succession: Succession;
  #closed = false;
  /** Upper bound of the difference: the authority's clock minus `performance.now()`. */
  #clockLead = 0;
  #waiting: Waiting[] = [];
  /** Called when a revision is applied. */
  readonly #awaiting = new Set<() => void>();
  #hasRun = false;
  /** Resolves when all work that follows from the applied revisions is done. */
  #settled: Promise<void> = Promise.resolve();
  /** The number of applied messages for which that work is not done yet. */
  #unsettled = 0;

  constructor(access: AuthorityAccess, listener: PolicyListener) {
    this.#access = access;
    this.#listener = listener;
    this.lease = new Lease({
      onRunning: () => this.#onRunning(),
      onLost: () => access.log.warn("the lease ran out: nothing is decided until an authority is reached again"),
      onLostForLong: () => {
        this.#isCutOff = true;
        this.floor = 0n;
        listener.onCutOff();
      },
    });
    const { authorities = new Authorities([{ name: "the authority", channel: access.channel, log: access.log }]) } =
      access;
    this.#succession = new Succession(access, authorities, this);
    this.errors = this.#succession.errors;
  }

  get state(): "starting" | "ready" | "lost" | "closed" {
    if (this.#closed) return "closed";
    if (this.lease.runs(performance.now())) return "ready";
    return this.#hasRun ? "lost" : "starting";
  }

  /**
   * The authority's time at a moment of `performance.now()`, in milliseconds since 1970. The result
   * may be a little after the true time, but never before it.
   */
  timeAt(monotonic: number): number {
    return monotonic + this.#clockLead;
  }

  /** The applied revision; 0 until there is one. */
  get revision(): bigint {
    return this.current.revision ?? 0n;
  }

  /** Resolves when the revision is applied, or MAX_AWAITED has passed. */
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
   * @throws {StatusError} CANCELLED if the guard is closed first
   */
  ready(): Promise<void> {
    if (this.#closed) return Promise.reject(closed());
    if (this.lease.runs(performance.now())) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Resolves when the authority has noticed, or does not respond. */
  async close(): Promise<void> {
    this.#closed = true;
    this.lease.close();
    for (const { reject } of this.#waiting.splice(0)) reject(closed());
    await this.#succession.close();
  }

  #onRunning(): void {
    if (this.#hasRun) this.#access.log.info("the authority is reached again");
    this.#hasRun = true;
    this.#isCutOff = false;
    this.floor = this.revision;
    for (const { resolve } of this.#waiting.splice(0)) resolve();
    this.#listener.onLeaseRunning();
  }

  // The methods of FollowedGuard.

  get hasLease(): boolean {
    return this.lease.runs(performance.now());
  }

  get settling(): Promise<void> | undefined {
    return this.#unsettled > 0 ? this.#settled : undefined;
  }

  takeUsedKeys(): Buffer[] {
    return this.#listener.takeUsedKeys();
  }

  onFollowed(stream: PolicyStream, response: AnsweredPing | undefined): void {
    this.current = stream.state;
    this.onApplied(stream, "snapshot");
    if (response !== undefined) this.onPong(stream, response);
  }

  onApplied(stream: PolicyStream, applied: Applied): void {
    const { revision } = this;
    if (applied === "snapshot") this.#setSource(stream);
    if (!this.#isCutOff) this.floor = revision;
    for (const done of [...this.#awaiting]) done();
    const reauthorized = this.#notify(revision, applied);
    stream.unacknowledged++;
    this.#unsettled++;
    this.#settled = Promise.all([this.#settled, reauthorized]).then(() => {
      this.#unsettled--;
      stream.unacknowledged--;
      stream.acknowledge(revision);
    });
  }

  #setSource(stream: PolicyStream | undefined): void {
    this.#endSource();
    const ended = new AbortController();
    this.source = stream && { channel: stream.authority.channel, signal: ended.signal };
    this.#endSource = () => ended.abort();
  }

  #notify(revision: bigint, applied: Applied): Promise<void> | undefined {
    if (applied === "nothing") return undefined;
    return applied === "snapshot"
      ? this.#listener.onSnapshot(revision)
      : this.#listener.onRevision(revision, applied.changed);
  }

  onPong(stream: PolicyStream, { sent, pong }: AnsweredPing): void {
    const { time } = pong;
    if (time === undefined) {
      stream.fail(new Error("the authority's answer to a ping lacks its time"));
      return;
    }
    this.leaseTime = Math.min(Number(pong.leaseMs), MAX_LEASE_TIME);
    stream.setPace(this.leaseTime);
    this.#clockLead = timestampMs(time) - sent.monotonic;
    this.lease.extend(sent, this.leaseTime);
  }

  onLost({ state }: PolicyStream): void {
    this.#setSource(undefined);
    // A message did not fit, and a part of it may have been applied.
    if (state.revision === undefined) this.lease.cut(this.leaseTime);
  }
}

function closed(): StatusError {
  return new StatusError(Code.CANCELLED, "The guard was closed");
}
