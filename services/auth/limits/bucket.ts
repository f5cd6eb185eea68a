/**
 * The bucket of one rate limit for one subject: how many tokens may still be lent to guards.
 *
 * Level and lent tokens together never exceed the burst. A lent token counts until its guard states
 * that it has fewer, or its loan has ended. Until then the bucket fills only up to the burst minus
 * what is lent. So at most burst + rate × t calls are admitted in any time t, whenever the guards
 * use their tokens. docs/limits.md has the proof.
 *
 * Times are milliseconds of the monotonic clock.
 */

/** The numbers of a rate limit. */
export interface RateTerms {
  /** Tokens that are added in a millisecond. */
  readonly rate: number;
  /** The most tokens that the bucket holds. */
  readonly burst: number;
}

/** What a guard has and asks for; see Need in lending.proto. */
export interface Asked {
  readonly guard: string;
  readonly kept: number;
  readonly returned: number;
  readonly waiting: number;
  readonly soon: number;
}

/** What a guard gets. */
export interface Lent {
  readonly amount: number;
  /**
   * After how many milliseconds to ask again, if not all calls that wait got a token; otherwise 0.
   * Until then there are no more.
   */
  readonly retry: number;
  /** What is left. */
  readonly left: number;
}

/** How long the lender counts a loan: its lifetime, and a twentieth more for slow clocks. */
export const LOAN_MS = 1_000;
export const COUNTED_MS = LOAN_MS * 1.05;
/** A guard that was told when to ask again keeps its turn for this time after it. */
const TURN_MS = 250;
/** The shortest time after which a guard asks again, unless the burst fills sooner. */
const MIN_RETRY_MS = 20;

interface Loan {
  readonly guard: string;
  readonly amount: number;
  readonly ends: number;
}

interface Turn {
  readonly guard: string;
  ends: number;
}

/** Shared, because most of perhaps a million buckets lend nothing at the moment. */
const NO_LOANS: Loan[] = [];
const NO_TURNS: Turn[] = [];

export class Bucket {
  #terms: RateTerms;
  #level: number;
  /** When the level was computed. */
  #at: number;
  /** In the order in which they end. */
  #lent = NO_LOANS;
  /** The tokens of `#lent`. */
  #sum = 0;
  /** The guards that were refused, longest first. */
  #turns = NO_TURNS;

  constructor(terms: RateTerms, level: number, now: number) {
    this.#terms = terms;
    this.#level = Math.min(level, terms.burst);
    this.#at = now;
  }

  /** Tokens that could be lent now. */
  left(now: number): number {
    this.#fill(now);
    return Math.floor(this.#level);
  }

  /** Whether the bucket is as one that was never used, so that it may be forgotten. */
  isFull(now: number): boolean {
    this.#fill(now);
    return this.#lent.length === 0 && this.#level >= this.#terms.burst;
  }

  /** When the bucket will be full at the latest if nothing more is lent. */
  fullAt(now: number): number {
    this.#fill(now);
    const { rate, burst } = this.#terms;
    const lent = this.#lent.length === 0 ? 0 : COUNTED_MS;
    return now + lent + (burst - this.#level) / rate;
  }

  /** Replaces the numbers. What was used stays used, in proportion. */
  change(terms: RateTerms, now: number): void {
    this.#fill(now);
    this.#level = (this.#level / this.#terms.burst) * terms.burst;
    this.#terms = terms;
    this.#clamp();
  }

  /** Lends to a guard, and counts what it keeps and returns. */
  lend({ guard, kept, returned, waiting, soon }: Asked, now: number): Lent {
    this.#fill(now);
    // A return may arrive when its loan has ended here. Its tokens were already replaced then.
    this.#level += Math.min(returned, this.#remove(guard));
    this.#clamp(kept);
    const amount = this.#amountFor(guard, waiting, soon);
    this.#level -= amount;
    this.#append(guard, kept + amount, now);
    const left = Math.floor(this.#level);
    if (amount === 0 && waiting + soon > 0) return { amount, retry: this.#queue(guard, now), left };
    this.#keepTurns((turn) => turn.guard !== guard);
    // Calls that got none are refused. If they waited on, new calls could take each next token.
    return { amount, retry: amount < waiting ? this.#retry(1) : 0, left };
  }

  #amountFor(guard: string, waiting: number, soon: number): number {
    const available = Math.floor(this.#level);
    const own = this.#turns.findIndex((turn) => turn.guard === guard);
    const others = this.#turns.length - (own < 0 ? 0 : 1);
    if (others > 0) {
      const ahead = own < 0 ? others : own;
      return available <= ahead ? 0 : Math.min(waiting + soon, Math.max(1, Math.floor(available / (others + 1))));
    }
    const needed = Math.min(waiting, available);
    // Half of the rest stays here for guards that have not asked yet.
    const rest = available - needed;
    return needed + Math.min(soon, needed === 0 ? Math.ceil(rest / 2) : Math.floor(rest / 2));
  }

  /** Gives the guard a turn. @returns after how many milliseconds it comes */
  #queue(guard: string, now: number): number {
    let place = this.#turns.findIndex((turn) => turn.guard === guard);
    if (place < 0) {
      place = this.#turns.length;
      const turn = { guard, ends: 0 };
      if (place === 0) this.#turns = [turn];
      else this.#turns.push(turn);
    }
    const retry = this.#retry(place + 1);
    this.#turns[place]!.ends = now + retry + TURN_MS;
    return retry;
  }

  /**
   * After how many milliseconds to ask again for a number of tokens: when the bucket has them,
   * but not at once.
   */
  #retry(tokens: number): number {
    const { rate, burst } = this.#terms;
    const due = Math.max(0, (tokens - this.#level) / rate);
    return Math.ceil(Math.max(due, Math.min(MIN_RETRY_MS, burst / rate / 2), 1));
  }

  #keepTurns(isKept: (turn: Turn) => boolean): void {
    if (this.#turns.length === 0 || this.#turns.every(isKept)) return;
    const kept = this.#turns.filter(isKept);
    this.#turns = kept.length === 0 ? NO_TURNS : kept;
  }

  /** Removes what is lent to the guard. @returns how many tokens that was */
  #remove(guard: string): number {
    const index = this.#lent.findIndex((loan) => loan.guard === guard);
    return index < 0 ? 0 : this.#removeAt(index);
  }

  #removeAt(index: number): number {
    const [{ amount } = { amount: 0 }] = this.#lent.splice(index, 1);
    if (this.#lent.length === 0) this.#lent = NO_LOANS;
    this.#sum -= amount;
    return amount;
  }

  #append(guard: string, amount: number, now: number): void {
    if (amount === 0) return;
    const loan = { guard, amount, ends: now + COUNTED_MS };
    // An array that grows by `push` has room for many more, which few buckets need.
    if (this.#lent.length === 0) this.#lent = [loan];
    else this.#lent.push(loan);
    this.#sum += amount;
  }

  /** Adds the tokens since the last time, step by step, because each loan that ends makes room. */
  #fill(now: number): void {
    for (let first = this.#lent[0]; first !== undefined && first.ends <= now; first = this.#lent[0]) {
      this.#add(first.ends);
      this.#removeAt(0);
    }
    this.#add(now);
    this.#keepTurns(({ ends }) => ends > now);
  }

  #add(until: number): void {
    this.#level += Math.max(0, until - this.#at) * this.#terms.rate;
    this.#at = Math.max(until, this.#at);
    this.#clamp();
  }

  /** @param more tokens that are lent, too */
  #clamp(more = 0): void {
    this.#level = Math.max(0, Math.min(this.#level, this.#terms.burst - this.#sum - more));
  }
}
