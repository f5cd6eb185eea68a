/**
 * What this process may admit of one budget of a limit for one subject: the tokens that its lender
 * has lent it, and what it knows about the next ones.
 *
 * A rate's tokens may be used until the loan's end. It counts from when the request was sent, and
 * each request renews it. Tokens of a quota may be used until the day or month ends. Slots of
 * `concurrent` are taken while a call is open.
 *
 * A loan ends by the monotonic clock, and also by the wall clock, as leases do (follow/lease.ts):
 * while a machine is suspended, its lender counts on. Other times are milliseconds of
 * `performance.now()`.
 */
import type { LimitState } from "../call/limited-call.js";
import { Budget, type Loan, type Need } from "../gen/portico/auth/v1/lending.js";
import type { Limit } from "../gen/portico/auth/v1/limits.js";
import type { Moment } from "../moment.js";
import { parseQuota, parseRate } from "./limit.js";
import type { Rate } from "./rate.js";

/** For how long ahead tokens are borrowed, by the calls of the last time, in milliseconds. */
const AHEAD_MS: Readonly<Record<number, number>> = {
  [Budget.RATE]: 250,
  [Budget.QUOTA]: 2_000,
  [Budget.CONCURRENT]: 0,
};
/** Tokens that nobody has used for this time go back to the lender, in milliseconds. */
const IDLE_MS: Readonly<Record<number, number>> = {
  [Budget.RATE]: 250,
  [Budget.QUOTA]: 30_000,
  [Budget.CONCURRENT]: 250,
};
/** A loan that ends within this time is renewed, in milliseconds. */
const RENEW_MS = 500;
/** A pool that was not used for this time is forgotten, in milliseconds. */
const FORGET_MS = 1_000;
/** Where calls wait, this many more are expected, whatever the demand was before. */
const FIRST_AHEAD = 2;
/** Refusals are reported this often, in milliseconds. */
const REPORT_MS = 1_000;
/** Refusals that no lender has counted for this time are dropped, in milliseconds. */
const STATE_MS = 30_000;
/** The shortest time over which the calls are counted, in milliseconds. */
const MIN_COUNTED_MS = 20;

export class Pool {
  readonly namespace: string;
  readonly subject: string;
  readonly budget: Budget;
  limit: Limit;
  revision: bigint;
  /** The ID of its lender. */
  lender: string;
  /** What to call when a response has arrived, for each call that waits for tokens. */
  readonly waiting = new Set<() => void>();
  /** Whether a request with this pool is under way. */
  asked = false;
  /** Increases when a response under way must not be applied any more. */
  epoch = 0;
  /** Tokens, or slots that are not taken. */
  #tokens = 0;
  #start = 0;
  #end: Moment = { monotonic: 0, wall: 0 };
  /** Slots that calls have taken. */
  #open = 0;
  #returned = 0;
  #refused = 0;
  /** How many of `#refused` the request under way states. */
  #stated = 0;
  /** Calls that a shadow has let pass before it knew whether there are tokens. */
  #owed = 0;
  /** Until then there are no more than `#tokens`, as the lender has said. */
  #emptyUntil = 0;
  /** When the lender has said so last, and when it has responded last. */
  #emptied = Number.NEGATIVE_INFINITY;
  #heard = Number.NEGATIVE_INFINITY;
  #left = 0;
  /** Calls since the last request, and when that was. */
  #calls = 0;
  #since: number;
  /** Calls in a millisecond. */
  #demand = 0;
  /** When the last request was sent. */
  #asked = 0;
  #timer: NodeJS.Timeout | undefined;
  #used: number;

  /** In numbers, because each response says them. */
  #allowed: Rate;

  constructor(
    { namespace, subject, budget }: Pick<Pool, "namespace" | "subject" | "budget">,
    { limit, revision }: Pick<Pool, "limit" | "revision">,
    lender: string,
    now: number,
  ) {
    this.namespace = namespace;
    this.subject = subject;
    this.budget = budget;
    this.limit = limit;
    this.#allowed = allowedBy(limit, budget);
    this.revision = revision;
    this.lender = lender;
    this.#since = now;
    this.#used = now;
  }

  /** Whether a call may be admitted now. */
  has({ monotonic, wall }: Moment): boolean {
    if (this.#tokens === 0) return false;
    if (monotonic >= this.#end.monotonic || wall >= this.#end.wall || wall < this.#start) this.#drop();
    return this.#tokens > 0;
  }

  /** Takes a token, after `has`. @returns whether to ask for more */
  take(now: number): boolean {
    this.#tokens--;
    if (this.budget === Budget.CONCURRENT) this.#open++;
    this.called(now);
    return this.#tokens <= Math.floor((this.#demand * this.#ahead) / 2);
  }

  /** A call has asked for a token, whether there was one or not. */
  called(now: number): void {
    this.#calls++;
    this.#used = now;
  }

  /** A call that had taken a slot has ended. */
  release(now: number): void {
    this.#open--;
    this.#tokens++;
    this.#used = now;
  }

  /** Whether the lender has said that there are no more tokens now. */
  isEmpty(now: number): boolean {
    return now < this.#emptyUntil;
  }

  /** Whether the lender has said since a time that there are no tokens. */
  emptySince(time: number): boolean {
    return this.#emptied >= time;
  }

  /** Whether the lender has responded since a time. */
  heardSince(time: number): boolean {
    return this.#heard >= time;
  }

  /** After how many seconds to try again, at least 1. */
  retryAfter(now: number): number {
    return Math.max(1, Math.ceil((this.#emptyUntil - now) / 1000));
  }

  refuse(): void {
    this.#refused++;
  }

  /** A shadow lets a call pass that has no token yet. */
  owe(): void {
    this.#owed++;
  }

  /** Whether tokens are needed, whatever the demand will be. */
  get isNeeded(): boolean {
    return this.waiting.size > 0 || this.#owed > 0;
  }

  /** Whether it was called since the last request. */
  get wasCalled(): boolean {
    return this.#calls > 0;
  }

  /** What the next request states and asks for. */
  need(at: Moment): Need {
    this.has(at); // Tokens whose loan has ended are gone.
    const now = at.monotonic;
    const passed = now - this.#since;
    if (passed >= MIN_COUNTED_MS) {
      this.#demand = this.#calls / passed;
      this.#calls = 0;
      this.#since = now;
    }
    const needed = this.waiting.size + this.#owed;
    const expected = Math.max(Math.ceil(this.#demand * this.#ahead), needed > 0 ? FIRST_AHEAD : 0);
    const soon = Math.max(0, expected - this.#tokens);
    this.#asked = now;
    const { namespace, limit, revision, budget, subject } = this;
    const need = {
      ...{ namespace, limit: limit.id, revision, budget, subject, kept: BigInt(this.#tokens + this.#open) },
      ...{ returned: BigInt(this.#returned), waiting: BigInt(needed), soon: BigInt(soon) },
      refused: BigInt(this.#refused),
    };
    this.#returned = 0;
    this.#stated = this.#refused;
    return need;
  }

  /**
   * The lender has counted the refused calls of the request. Without its response the next request
   * states them again, so none is lost when a stream ends; some may be counted twice.
   */
  reported(): void {
    this.#refused = Math.max(0, this.#refused - this.#stated);
    this.#stated = 0;
  }

  /**
   * Applies the response to a request that was sent at `sent`.
   * @returns after how many milliseconds to ask again if the pool is needed then; 0 for not
   */
  receive(loan: Loan, sent: Moment, at: Moment): number {
    const retry = Number(loan.retryMs);
    if (loan.other) return retry;
    this.has(at);
    const lifetime = Number(loan.lifetimeMs);
    this.#start = sent.wall;
    this.#end = { monotonic: sent.monotonic + lifetime, wall: sent.wall + lifetime };
    this.#tokens += Number(loan.amount);
    this.has(at); // The response may have been under way for longer.
    this.#left = Number(loan.left);
    this.#heard = at.monotonic;
    this.#emptyUntil = retry > 0 ? at.monotonic + retry : 0;
    if (retry > 0) this.#emptied = at.monotonic;
    this.#payOwed();
    return retry;
  }

  #payOwed(): void {
    const paid = Math.min(this.#owed, this.#tokens);
    // A slot is not used up: the next call takes it.
    if (this.budget !== Budget.CONCURRENT) this.#tokens -= paid;
    this.#refused += this.#owed - paid;
    this.#owed = 0;
  }

  /** Calls the function after a time, instead of any that waits. */
  later(ms: number, act: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, Math.min(ms, MAX_TIMER)).unref();
  }

  /** To be called when the pool is not used any more. */
  close(): void {
    clearTimeout(this.#timer);
  }

  /**
   * To be called some times in a second. Returns unused tokens, and renews loans.
   * @returns whether to send a request
   */
  tend(at: Moment): boolean {
    this.has(at);
    const now = at.monotonic;
    if (this.#tokens > 0 && this.waiting.size === 0 && now - this.#used >= IDLE_MS[this.budget]!) {
      if (this.budget !== Budget.CONCURRENT) this.#returned += this.#tokens;
      this.#tokens = 0;
      this.#demand = 0;
      return true;
    }
    // A limit that was deleted has no lender that counts them.
    if (now - this.#used > STATE_MS) this.#refused = 0;
    const isEnding = this.budget !== Budget.QUOTA && this.#end.monotonic - now < RENEW_MS;
    return ((this.#tokens > 0 || this.#open > 0) && isEnding) || (this.#refused > 0 && now - this.#asked >= REPORT_MS);
  }

  /** Whether the lender counts something as lent. */
  get holds(): boolean {
    return this.#tokens + this.#open + this.#returned > 0;
  }

  /** Whether nothing would be lost without it. */
  isForgettable(now: number): boolean {
    return !this.holds && !this.isNeeded && this.#refused === 0 && !this.asked && now - this.#used > FORGET_MS;
  }

  /** Its tokens were lent by another lender, and may not be used any more. */
  changeLender(lender: string): void {
    if (lender === this.lender) return;
    this.lender = lender;
    this.epoch++;
    // A loan of a quota is on disk, so it stays.
    if (this.budget !== Budget.QUOTA) this.#drop();
    this.#emptyUntil = 0;
  }

  /** Its limit was changed. Tokens of the old one go back. */
  change(limit: Limit, revision: bigint): void {
    this.limit = limit;
    this.#allowed = allowedBy(limit, this.budget);
    if (revision === this.revision) return;
    this.revision = revision;
    this.epoch++;
    if (this.budget !== Budget.CONCURRENT) this.#returned += this.#tokens;
    this.#drop();
    this.#emptyUntil = 0;
    // The lender counts anew, too.
    this.#refused = 0;
    this.#stated = 0;
  }

  /** What is left, for headers. */
  state(now: number): LimitState {
    const { limit, budget } = this;
    const { calls, seconds } = this.#allowed;
    const known = Math.max(0, this.#tokens) + this.#left;
    const empty = this.isEmpty(now) ? this.retryAfter(now) : undefined;
    if (budget === Budget.CONCURRENT) {
      const remaining = Math.min(known, limit.concurrent);
      return {
        limit: limit.id,
        quota: limit.concurrent,
        window: undefined,
        concurrent: true,
        remaining,
        reset: undefined,
      };
    }
    if (budget === Budget.QUOTA) {
      const reset = empty ?? Math.max(1, Math.ceil((this.#end.monotonic - now) / 1000));
      return { limit: limit.id, quota: calls, window: undefined, concurrent: false, remaining: known, reset };
    }
    const burst = Number(limit.burst);
    const remaining = Math.min(known, burst);
    const reset = empty ?? Math.max(1, Math.ceil(((burst - remaining) * seconds) / calls));
    return { limit: limit.id, quota: calls, window: seconds, concurrent: false, remaining, reset };
  }

  get #ahead(): number {
    return AHEAD_MS[this.budget] ?? 0;
  }

  #drop(): void {
    this.#tokens = 0;
  }
}

/** A rate as it is, a quota without seconds, and nothing for calls at once. */
function allowedBy({ rate, quota }: Limit, budget: Budget): Rate {
  if (budget === Budget.RATE) return parseRate(rate);
  return { calls: budget === Budget.QUOTA ? parseQuota(quota).calls : 0, seconds: 0 };
}

/** The maximum delay of `setTimeout`, in milliseconds. */
const MAX_TIMER = 2 ** 31 - 1;
