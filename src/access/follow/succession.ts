/**
 * Chooses the authority that a guard follows. All authorities are equal. The guard follows one
 * stream: it decides by the state and the lease of that stream. When the stream ends, or its
 * authority does not respond or is about to stop, the guard opens a second stream, the candidate,
 * to another authority. It follows the candidate as soon as the candidate has a lease, and a state
 * that is not older than the guard's. Until then the guard continues with what it has. A running
 * lease is long enough to change the authority without refusing a call.
 *
 * The authorities wait for guards (services/auth/log/leases/leases.ts). For that they rely on these
 * rules:
 *  1. The state and the lease of a candidate are not used before the candidate is followed. Then
 *     they replace the guard's state and lease at once, even if the guard's lease would have run
 *     longer.
 *  2. A candidate with an older revision than the guard has applied is not followed. A pong with
 *     an older revision than was applied when its ping was sent extends no lease. Such an
 *     authority lags, or its database was restored to an older state. An older revision is
 *     accepted only when no lease has run for as long as a lease lasts: a backup was restored.
 *  3. When a guard ends its side of a stream, the authority no longer waits for that guard. So
 *     the guard does this only when it follows another stream, and all its open streams have
 *     been re-authorized by the state of that stream.
 *
 * Each guard has its own order of the authorities (authorities.ts), and follows the first one that
 * responds. If that is not the first of its order, the guard returns to an earlier one some time
 * after it can be reached again. So the authorities share the guards, and after a restart the
 * guards do not all arrive at the same moment.
 */
import { Code, StatusError } from "../../errors.js";
import { backOff } from "../../follow.js";
import type { Authorities, AuthorityLink } from "./authorities.js";
import type { AuthorityAccess } from "./authority-access.js";
import type { AnsweredPing } from "./lease.js";
import type { Applied } from "./policy-state.js";
import { PolicyStream, type PolicyStreamListener } from "./policy-stream.js";

/**
 * The longest pause before all authorities are tried again, in milliseconds: after the first
 * failure, and after any number of them (see follow.ts).
 */
const FIRST_PAUSE = 50;
const MAX_PAUSE = 2_000;
/**
 * The longest pause while a lease runs, in milliseconds. If an authority is back before the lease
 * ends, no call fails.
 */
const MAX_PAUSE_IN_LEASE = 100;
/**
 * A candidate may be silent for this part of a lease. The time doubles after each round in which no
 * authority responded.
 */
const PATIENCE = 1 / 5;
const MAX_PATIENCE = 10_000;
/** A guard leaves an authority that stops within this part of a lease. */
const STOP_SPREAD = 1 / 5;
/**
 * A guard returns to an authority that is earlier in its order after a random number of leases
 * between these.
 */
const MIN_RETURN = 2;
const MAX_RETURN = 8;

/** The guard that this module chooses an authority for. */
export interface FollowedGuard {
  /** In milliseconds. */
  readonly leaseTime: number;
  readonly hasLease: boolean;
  /** The oldest revision that a stream to be followed may have. */
  readonly floor: bigint;
  /**
   * Resolves when all open streams have been re-authorized by what was applied; undefined if they
   * have.
   */
  readonly settling: Promise<void> | undefined;
  takeUsedKeys(): Buffer[];
  /**
   * The guard follows another stream from now on: it must decide by its state, and the pong extends
   * the lease. The pong is undefined only when no lease runs and no stream was followed before.
   */
  onFollowed(stream: PolicyStream, response: AnsweredPing | undefined): void;
  /** The state of the followed stream has changed. */
  onApplied(stream: PolicyStream, applied: Applied): void;
  /** A pong has arrived on the followed stream. */
  onPong(stream: PolicyStream, response: AnsweredPing): void;
  /** The followed stream has ended. */
  onLost(stream: PolicyStream): void;
}

export class Succession implements PolicyStreamListener {
  /**
   * The last error of each authority of the list that has failed. Its next response removes it.
   */
  readonly errors = new Map<string, Error>();
  readonly #access: AuthorityAccess;
  readonly #authorities: Authorities;
  readonly #follower: FollowedGuard;
  readonly #open = new Set<PolicyStream>();
  #followed: PolicyStream | undefined;
  #candidate: PolicyStream | undefined;
  /** The candidate's newest pong. */
  #response: AnsweredPing | undefined;
  /** When each authority failed last, in milliseconds of `performance.now()`. */
  readonly #failedAt = new WeakMap<AuthorityLink, number>();
  /** When the guard returns to an earlier authority, and when it leaves one that stops. */
  #returnAt = Number.POSITIVE_INFINITY;
  #stopAt = Number.POSITIVE_INFINITY;
  #closed = false;
  #wake = (): void => {};
  /** Resolves when all streams have ended after `close`. */
  readonly #ran: Promise<void>;

  constructor(access: AuthorityAccess, authorities: Authorities, follower: FollowedGuard) {
    this.#access = access;
    this.#authorities = authorities;
    this.#follower = follower;
    const stopListening = authorities.onChange(() => {
      for (const name of this.errors.keys()) {
        if (!authorities.all.some((one) => one.name === name)) this.errors.delete(name);
      }
      this.#wake();
    });
    this.#ran = this.#run().finally(stopListening);
  }

  /** Leaves the authority. Resolves when the authority has noticed, or does not respond. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const stream of this.#open) stream.leave();
    this.#wake();
    await this.#ran;
  }

  async #run(): Promise<void> {
    await undefined; // The first stream is opened only after the constructor has returned.
    for (let rounds = 0; !this.#closed; ) {
      const found = await this.#findAnother(rounds);
      rounds = found ? 0 : rounds + 1;
      if (!found)
        await this.#event(backOff(rounds - 1, FIRST_PAUSE, this.#follower.hasLease ? MAX_PAUSE_IN_LEASE : MAX_PAUSE));
      while (!this.#closed && !this.#needsAnother() && !this.#returns()) await this.#event(this.#untilDue());
    }
    while (this.#open.size > 0) await this.#event(Number.POSITIVE_INFINITY);
  }

  /**
   * Tries one authority after the other. @returns false if none can be followed, or the followed
   * one must be replaced
   */
  async #findAnother(rounds: number): Promise<boolean> {
    const needed = this.#needsAnother();
    const { all } = this.#authorities;
    const patience = all.length > 1 ? this.#follower.leaseTime * PATIENCE * 2 ** rounds : Number.POSITIVE_INFINITY;
    for (const authority of needed ? this.#others() : this.#earlier()) {
      await this.#try(authority, Math.min(patience, all.length > 1 ? MAX_PATIENCE : patience), needed);
      if (this.#closed || (needed && !this.#needsAnother())) break;
    }
    this.#returnAt = this.#isFirst() ? Number.POSITIVE_INFINITY : this.#returnTime();
    return !this.#needsAnother();
  }

  /** Follows the authority if it responds before it has been silent for `patience` milliseconds. */
  async #try(authority: AuthorityLink, patience: number, needed: boolean): Promise<void> {
    const candidate = this.#openStream(authority);
    this.#candidate = candidate;
    this.#response = undefined;
    for (;;) {
      const left = candidate.heard + patience - performance.now();
      if (this.#closed || this.#candidate !== candidate || (needed && !this.#needsAnother())) break;
      if (left <= 0) {
        this.#fail(candidate, new StatusError(Code.DEADLINE_EXCEEDED, "the authority does not respond"));
        break;
      }
      await this.#event(left);
    }
    if (this.#candidate !== candidate) return;
    this.#candidate = undefined;
    candidate.leave();
  }

  #openStream(authority: AuthorityLink): PolicyStream {
    const follower = this.#follower;
    const opened = new PolicyStream({
      authority,
      access: this.#access,
      leaseTime: follower.leaseTime,
      takeUsedKeys: () => follower.takeUsedKeys(),
      applied: () => follower.floor,
      listener: this,
    });
    this.#open.add(opened);
    return opened;
  }

  /** Whether the guard must go to another authority. */
  #needsAnother(): boolean {
    const followed = this.#followed;
    if (followed === undefined) return true;
    const { all } = this.#authorities;
    if (!all.includes(followed.authority)) return true;
    return all.length > 1 && (followed.isLate || performance.now() >= this.#stopAt);
  }

  #returns(): boolean {
    return performance.now() >= this.#returnAt;
  }

  #isFirst(): boolean {
    return this.#followed?.authority === this.#authorities.all[0];
  }

  #returnTime(): number {
    const leases = MIN_RETURN + Math.random() * (MAX_RETURN - MIN_RETURN);
    return performance.now() + leases * this.#follower.leaseTime;
  }

  #untilDue(): number {
    return Math.min(this.#returnAt, this.#stopAt) - performance.now();
  }

  /**
   * All authorities except the followed one: connected ones first, and then those that failed
   * longest ago.
   */
  #others(): readonly AuthorityLink[] {
    const isReady = ({ channel }: AuthorityLink): number => (channel.state === "ready" ? 0 : 1);
    const failedAt = (authority: AuthorityLink): number => this.#failedAt.get(authority) ?? 0;
    return this.#authorities.all
      .filter((authority) => authority !== this.#followed?.authority)
      .sort((a, b) => isReady(a) - isReady(b) || failedAt(a) - failedAt(b));
  }

  /** The connected authorities that come before the followed one in the order. */
  #earlier(): readonly AuthorityLink[] {
    const { all } = this.#authorities;
    const followed = this.#followed === undefined ? 0 : all.indexOf(this.#followed.authority);
    return all.slice(0, Math.max(followed, 0)).filter(({ channel }) => channel.state === "ready");
  }

  // The methods of PolicyStreamListener.

  onApplied(stream: PolicyStream, applied: Applied): void {
    if (stream === this.#followed) this.#follower.onApplied(stream, applied);
    else this.#followIfReady(stream);
  }

  onPong(stream: PolicyStream, response: AnsweredPing): void {
    const { floor } = this.#follower;
    const oldest = response.applied < floor ? response.applied : floor;
    if (response.pong.revision < oldest) {
      stream.fail(new Error(wentBack(response.pong.revision, oldest)));
      return;
    }
    this.errors.delete(stream.authority.name);
    this.#failedAt.delete(stream.authority);
    if (stream === this.#followed) {
      this.#follower.onPong(stream, response);
      this.#wake();
    } else if (stream === this.#candidate) {
      this.#response = response;
      this.#followIfReady(stream);
    }
  }

  onTrouble(stream: PolicyStream): void {
    if (stream !== this.#followed) return;
    if (stream.isStopping && this.#stopAt === Number.POSITIVE_INFINITY) {
      this.#stopAt = performance.now() + Math.random() * STOP_SPREAD * this.#follower.leaseTime;
    }
    this.#wake();
  }

  onEnd(stream: PolicyStream, error: Error | undefined): void {
    this.#open.delete(stream);
    const isCandidate = stream === this.#candidate;
    if (isCandidate) this.#candidate = undefined;
    if (isCandidate || stream === this.#followed) {
      this.#fail(stream, error ?? new StatusError(Code.UNAVAILABLE, "the authority ended the stream"));
    }
    if (stream === this.#followed) {
      this.#followed = undefined;
      this.#follower.onLost(stream);
    }
    this.#wake();
  }

  /** Follows the candidate if it has a lease and a state that is not too old. */
  #followIfReady(candidate: PolicyStream): void {
    const response = this.#response;
    const { floor, settling, hasLease } = this.#follower;
    if (candidate !== this.#candidate || (response === undefined && (hasLease || this.#followed !== undefined))) return;
    // The missing changes are on their way, or the next pong will show that the authority lags.
    if ((candidate.state.revision ?? 0n) < floor) return;
    if (settling !== undefined) {
      void settling.then(() => this.#followIfReady(candidate));
      return;
    }
    const before = this.#followed;
    this.#followed = candidate;
    this.#candidate = undefined;
    this.#stopAt = Number.POSITIVE_INFINITY;
    this.#authorities.prefer(candidate.authority);
    this.#follower.onFollowed(candidate, response);
    if (before !== undefined) void this.#leaveWhenSettled(before);
    this.#wake();
  }

  async #leaveWhenSettled(stream: PolicyStream): Promise<void> {
    await this.#follower.settling;
    stream.leave();
  }

  /** Records why an authority cannot be followed; warns once until the authority responds again. */
  #fail({ authority }: PolicyStream, error: Error): void {
    if (this.#closed || !this.#authorities.all.includes(authority)) return;
    const known = this.errors.get(authority.name)?.message === error.message;
    this.errors.set(authority.name, error);
    this.#failedAt.set(authority, performance.now());
    authority.log[known ? "debug" : "warn"]({ err: error }, "the authority cannot be followed");
  }

  /** Resolves at the next event, or after a time in milliseconds. */
  #event(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(() => this.#wake(), Math.max(ms, 0));
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = () => {};
        resolve();
      };
    });
  }
}

function wentBack(revision: bigint, applied: bigint): string {
  return (
    `the authority answers from revision ${revision}, older than ${applied}, which this process has applied: its ` +
    "database lags, or a backup was restored"
  );
}
