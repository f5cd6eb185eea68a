/**
 * Limits the calls in flight to one endpoint of one instance while the instance has more calls than
 * it can serve.
 *
 * When more calls are in flight, a service that is merely slow completes more calls a second. An
 * overloaded service does not: its calls wait for each other, so each call takes longer. So there
 * is no limit until all of this is true:
 *  - All calls take longer than usual, and the difference (the wait) grows.
 *  - The number of calls in flight grows, too.
 *  - At the current rate of responses, the calls in flight will take 2.5 times as long as calls
 *    took when the wait began.
 *
 * The limit is then the number of calls that complete within the usual time plus MAX_QUEUE_MS. It
 * grows while calls wait less than that. It is lifted in three cases: it was not reached for a
 * while, calls did not become faster under it, or the calls in flight hang. See
 * docs/decisions/0059, and docs/overload.md.
 *
 * Times are in milliseconds of `performance.now()`.
 */

/** By how much calls take longer than usual at the limit. */
export const MAX_QUEUE_MS = 100;
/**
 * Calls are evaluated in windows of at least this time, with at least MIN_ENDS calls that ended.
 */
export const WINDOW_MS = 100;
export const MIN_ENDS = 8;
/**
 * How many times longer the calls in flight will take than calls took in the first window with a
 * wait, and how many more calls must be in flight than in that window.
 */
const TIMES_LONGER = 2.5;
const MIN_MORE_IN_FLIGHT = 16;
/**
 * The wait of the quickest call must be at least this share of the mean wait. Calls in a queue wait
 * for similar times; calls that wait for events do not.
 */
const MIN_COMMON_WAIT = 0.7;
/** How many times longer the wait must be than in the first window with a wait. */
const TIMES_WAIT = 1.5;
/** How many times as many calls must be in flight at a window's end as at its beginning. */
const TIMES_IN_WINDOW = 1.05;
export const MIN_LIMIT = 4;
const GROWTH = 1.25;
/** A limit that was not reached for this time is lifted. */
export const UNREACHED_MS = 5_000;
/**
 * A limit under which calls do not become faster, or do not end, for this time was a mistake and is
 * lifted.
 */
export const MAX_USELESS_MS = 10_000;
/** The quickest call of this time, and of the same time before it, defines the usual time. */
const USUAL_MS = 60_000;

/** How a call ended: with a response, without one in time, or otherwise. */
export type CallEnding = "answered" | "lost" | "other";

export class ConcurrencyLimit {
  #inFlight = 0;
  #limit = Number.POSITIVE_INFINITY;
  /** When a call was last refused. */
  #refusedAt = 0;
  /** When the limit was set or lowered: only calls that began later show its effect. */
  #since = 0;

  // The calls that have ended in this window.
  #windowStart = 0;
  #responded = 0;
  #lost = 0;
  #quickest = Number.POSITIVE_INFINITY;
  #total = 0;

  /**
   * The time of the quickest response in the current and in the previous period of USUAL_MS, and
   * when the current period began.
   */
  #usual = Number.POSITIVE_INFINITY;
  #usualBefore = Number.POSITIVE_INFINITY;
  #usualSince = 0;

  /**
   * The first window in which all calls waited, for comparison; undefined after a window whose
   * quickest call did not wait.
   */
  #first: { readonly inFlight: number; readonly wait: number; readonly took: number } | undefined;
  /** Number of calls in flight when this window began. */
  #before = 0;
  /** Since when calls have waited for longer than MAX_QUEUE_MS in spite of the limit. */
  #uselessSince: number | undefined;

  /** Infinity if there is no limit. */
  get limit(): number {
    return this.#limit;
  }

  /** Whether a call may begin. If so, `end` must be called. */
  tryBegin(now: number): boolean {
    if (this.#inFlight >= this.#limit && !this.#liftUnused(now)) return false;
    this.#inFlight++;
    return true;
  }

  end(began: number, now: number, ending: CallEnding): void {
    this.#inFlight--;
    // No call in flight is left that could wait for another.
    if (this.#inFlight === 0) this.#first = undefined;
    const took = now - began;
    if (ending === "other") return;
    if (this.#responded + this.#lost === 0) this.#openWindow(now);
    if (began < this.#since) return;
    if (ending === "answered") {
      this.#responded++;
      this.#total += took;
      if (took < this.#quickest) this.#quickest = took;
    } else if (took > this.#usualTime + MAX_QUEUE_MS) this.#lost++;
    if (this.#responded + this.#lost >= MIN_ENDS && now - this.#windowStart >= WINDOW_MS) this.#closeWindow(now);
  }

  /**
   * Lifts the limit if it was not reached for a while, or if calls hang under it.
   * @returns whether it did
   */
  #liftUnused(now: number): boolean {
    const isUnused = now - this.#refusedAt > UNREACHED_MS || now - this.#windowStart > MAX_USELESS_MS;
    this.#refusedAt = now;
    if (isUnused) this.#lift();
    return isUnused;
  }

  get #usualTime(): number {
    return Math.min(this.#usual, this.#usualBefore);
  }

  /** The mean time of this window's calls; infinite if none had a response. */
  get #meanTime(): number {
    return this.#responded === 0 ? Number.POSITIVE_INFINITY : this.#total / this.#responded;
  }

  #closeWindow(now: number): void {
    // If no call had a response, all have waited too long.
    const wait = this.#responded === 0 ? Number.POSITIVE_INFINITY : this.#quickest - this.#usualTime;
    const rate = this.#responded / (now - this.#windowStart);
    if (this.#limit === Number.POSITIVE_INFINITY) {
      this.#compare(wait, rate, now);
      this.#learnUsual(now);
    } else this.#adjust(wait, rate, now);
    this.#clearWindow();
  }

  #openWindow(now: number): void {
    this.#windowStart = now;
    this.#before = this.#inFlight;
  }

  #clearWindow(): void {
    this.#responded = 0;
    this.#lost = 0;
    this.#quickest = Number.POSITIVE_INFINITY;
    this.#total = 0;
  }

  /** Sets a limit if more calls in flight did not mean more responses a second. */
  #compare(wait: number, rate: number, now: number): void {
    const first = this.#first;
    if (wait <= MAX_QUEUE_MS) this.#first = undefined;
    else if (!this.#isCommon(wait)) return;
    else if (first === undefined) this.#first = { inFlight: this.#inFlight, wait, took: this.#meanTime };
    else {
      const grows = this.#inFlight >= TIMES_IN_WINDOW * this.#before;
      const isMore = this.#inFlight >= first.inFlight + MIN_MORE_IN_FLIGHT;
      const isCrowded = this.#inFlight / rate >= TIMES_LONGER * first.took;
      if (!grows || !isMore || !isCrowded || wait < TIMES_WAIT * first.wait) return;
      this.#uselessSince = undefined;
      this.#refusedAt = now;
      this.#setLimit(this.#sustained(wait, rate), now);
    }
  }

  /** Whether all calls have waited, and not only some of them. */
  #isCommon(wait: number): boolean {
    return this.#responded === 0 || wait >= MIN_COMMON_WAIT * (this.#meanTime - this.#usualTime);
  }

  /** The number of calls in flight at this rate if each waits for MAX_QUEUE_MS (Little's law). */
  #sustained(wait: number, rate: number): number {
    if (this.#responded === 0) return Math.min(this.#limit, this.#inFlight) / 2;
    return rate * (this.#meanTime - wait + MAX_QUEUE_MS);
  }

  #adjust(wait: number, rate: number, now: number): void {
    if (wait <= MAX_QUEUE_MS) this.#uselessSince = undefined;
    else if (this.#responded > 0) {
      this.#uselessSince ??= now;
      if (now - this.#uselessSince > MAX_USELESS_MS) {
        this.#usual = this.#quickest;
        this.#usualBefore = Number.POSITIVE_INFINITY;
        this.#lift();
        return;
      }
    }
    const wasReached = this.#refusedAt >= this.#windowStart;
    if (wait > MAX_QUEUE_MS) this.#setLimit(Math.min(this.#limit, this.#sustained(wait, rate)), now);
    else if (wasReached) this.#limit = Math.ceil(this.#limit * GROWTH);
  }

  #setLimit(limit: number, now: number): void {
    this.#limit = Math.max(MIN_LIMIT, Math.ceil(limit));
    this.#since = now;
    this.#first = undefined;
  }

  #lift(): void {
    this.#limit = Number.POSITIVE_INFINITY;
    this.#since = 0;
    this.#first = undefined;
    this.#clearWindow();
  }

  #learnUsual(now: number): void {
    if (now - this.#usualSince > USUAL_MS) {
      this.#usualBefore = this.#usual;
      this.#usual = this.#quickest;
      this.#usualSince = now;
    } else if (this.#quickest < this.#usual) this.#usual = this.#quickest;
  }
}
