/**
 * Which authority a guard follows, of several that are equal. One stream is followed: the guard decides by its state and
 * its lease. When that stream ends, or its authority falls silent or is about to stop, another authority is asked on a second
 * stream, the candidate. The candidate is followed from the moment at which it can answer for the guard: it has a
 * state no older than the guard's, and a lease. Until then the guard goes on with what it has, so a lease that runs
 * is long enough to go from one authority to another without refusing a call.
 *
 * The rules, on which the authorities' waiting for guards rests (services/auth/log/leases/leases.ts):
 *  1. What a candidate has brought is not used before it is followed. Then it replaces state and lease at once, even where
 *     the lease before would have run longer.
 *  2. A candidate with an older revision than the guard has applied is not followed, and an answer that names an older
 *     revision than was applied when its ping was sent extends no lease: that authority lags, or its database went back.
 *     Only when no lease has run for as long as a lease lasts, an older revision counts: a backup was restored.
 *  3. A guard closes its side of the stream before, which tells that authority not to wait for it, only when it follows
 *     another one and its open streams have been judged by the state from there.
 *
 * Each guard has an order of its own over the authorities (authorities.ts), and follows the first that answers. Where that is
 * not its first one, it returns some time after that one can be reached again: so the authorities share the guards, and
 * after a restart not all guards come at the same moment.
 */
import { Code, StatusError } from "../../errors.js";
import { backOff } from "../../follow.js";
import type { Authorities, AuthorityLink } from "./authorities.js";
import type { AuthorityAccess } from "./authority-access.js";
import type { AnsweredPing } from "./lease.js";
import type { Applied } from "./policy-state.js";
import { PolicyStream, type PolicyStreamListener } from "./policy-stream.js";

/** The longest pause before all authorities are tried again, in milliseconds: after the first failure, and ever (see follow.ts). */
const FIRST_PAUSE = 50;
const MAX_PAUSE = 2_000;
/** While a lease runs, in milliseconds: an authority may be back before the lease ends, and then no call fails. */
const MAX_PAUSE_IN_LEASE = 100;
/** A candidate may be silent for this part of a lease; twice as long after each round in which none answered. */
const PATIENCE = 1 / 5;
const MAX_PATIENCE = 10_000;
/** A guard goes away from an authority that stops within this part of a lease. */
const STOP_SPREAD = 1 / 5;
/** After so many leases, at least and at most, a guard returns to an authority that comes earlier in its order. */
const MIN_RETURN = 2;
const MAX_RETURN = 8;

/** The guard whose authority is chosen. */
export interface FollowedGuard {
  /** In milliseconds. */
  readonly leaseTime: number;
  readonly hasLease: boolean;
  /** The oldest revision that it may be given. */
  readonly floor: bigint;
  /** While open streams are judged by what was applied; undefined where all have been. */
  readonly settling: Promise<void> | undefined;
  takeUsedKeys(): Buffer[];
  /**
   * Another stream is followed from now on. Its state is to be decided by, and the answer extends the lease. It has no answer
   * yet where no lease runs, and none was followed before.
   */
  onFollowed(stream: PolicyStream, response: AnsweredPing | undefined): void;
  /** The state of the followed stream has changed. */
  onApplied(stream: PolicyStream, applied: Applied): void;
  /** The followed stream has brought an answer. */
  onPong(stream: PolicyStream, response: AnsweredPing): void;
  /** The followed stream has ended. */
  onLost(stream: PolicyStream): void;
}

export class Succession implements PolicyStreamListener {
  /** Why each authority that has failed did, until it responds again. */
  readonly errors = new Map<string, Error>();
  readonly #access: AuthorityAccess;
  readonly #authorities: Authorities;
  readonly #follower: FollowedGuard;
  readonly #open = new Set<PolicyStream>();
  #followed: PolicyStream | undefined;
  #candidate: PolicyStream | undefined;
  /** The newest answer to the candidate. */
  #response: AnsweredPing | undefined;
  /** When each authority failed last, in milliseconds of `performance.now()`. */
  readonly #failedAt = new WeakMap<AuthorityLink, number>();
  /** When the guard returns, or leaves an authority that stops. */
  #returnAt = Number.POSITIVE_INFINITY;
  #stopAt = Number.POSITIVE_INFINITY;
  #closed = false;
  #wake = (): void => {};
  /** Resolves when no authority is followed any more. */
  readonly #ran: Promise<void>;

  constructor(access: AuthorityAccess, authorities: Authorities, follower: FollowedGuard) {
    this.#access = access;
    this.#authorities = authorities;
    this.#follower = follower;
    const stopListening = authorities.onChange(() => this.#wake());
    this.#ran = this.#run().finally(stopListening);
  }

  /** Leaves the authority. Resolves when it has heard of it, or does not respond. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const stream of this.#open) stream.leave();
    this.#wake();
    await this.#ran;
  }

  async #run(): Promise<void> {
    await undefined; // Who opens a guard has it before its first stream is opened.
    for (let rounds = 0; !this.#closed; ) {
      const found = await this.#findAnother(rounds);
      rounds = found ? 0 : rounds + 1;
      if (!found)
        await this.#event(backOff(rounds - 1, FIRST_PAUSE, this.#follower.hasLease ? MAX_PAUSE_IN_LEASE : MAX_PAUSE));
      while (!this.#closed && !this.#needsAnother() && !this.#returns()) await this.#event(this.#untilDue());
    }
    while (this.#open.size > 0) await this.#event(Number.POSITIVE_INFINITY);
  }

  /** Tries one authority after the other. @returns false where none can be followed that needs no other in its place */
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

  /** Follows the authority if it answers before it has been silent for `patience`, in milliseconds. */
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

  /** All but the one that is followed: first those that are connected, and of these those that have not failed lately. */
  #others(): readonly AuthorityLink[] {
    const isReady = ({ channel }: AuthorityLink): number => (channel.state === "ready" ? 0 : 1);
    const failedAt = (authority: AuthorityLink): number => this.#failedAt.get(authority) ?? 0;
    return this.#authorities.all
      .filter((authority) => authority !== this.#followed?.authority)
      .sort((a, b) => isReady(a) - isReady(b) || failedAt(a) - failedAt(b));
  }

  /** Those that are connected and come before the one that is followed. */
  #earlier(): readonly AuthorityLink[] {
    const { all } = this.#authorities;
    const followed = this.#followed === undefined ? 0 : all.indexOf(this.#followed.authority);
    return all.slice(0, Math.max(followed, 0)).filter(({ channel }) => channel.state === "ready");
  }

  // Events of streams.

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

  /** Follows the candidate where it can answer for the guard. */
  #followIfReady(candidate: PolicyStream): void {
    const response = this.#response;
    const { floor, settling, hasLease } = this.#follower;
    if (candidate !== this.#candidate || (response === undefined && (hasLease || this.#followed !== undefined))) return;
    // The changes up to there are on their way, or the answer will show that it lags.
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

  /** Notes why an authority cannot be followed; says it once until it responds again. */
  #fail({ authority }: PolicyStream, error: Error): void {
    if (this.#closed) return;
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
