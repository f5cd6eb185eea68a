/**
 * Limits the calls in flight to one endpoint of one instance, while the instance has more of them than it can answer.
 *
 * A service that is only slow answers more calls a second when more are in flight. In one that has too many they wait for each
 * other: more in flight are answered no faster, and each takes longer. So there is no limit until all calls take longer than
 * usual, by a wait that grows, while calls in flight grow too, and are so many that at the rate of answers they will take 2.5
 * times as long as the first that waited. Then the limit is as many as are answered in the usual time and MAX_QUEUE_MS. It grows
 * while calls wait less, and is lifted when it was not reached for a while, when fewer calls in flight were not answered sooner,
 * or when the calls in flight hang. See docs/decisions/0059, and docs/overload.md.
 *
 * Times are in milliseconds of `performance.now()`.
 */

/** How much longer than usual calls take at the limit. */
export const MAX_QUEUE_MS = 100;
/** Calls are judged together that end within this time, and at least so many. */
export const WINDOW_MS = 100;
export const MIN_ENDS = 8;
/** How many times as long the calls in flight will take at the rate of answers, and how many more must be in flight at least. */
const TIMES_LONGER = 2.5;
const MIN_MORE_IN_FLIGHT = 16;
/** What share of the wait of all calls the quickest must have waited: calls in a queue wait alike, calls for events do not. */
const MIN_COMMON_WAIT = 0.7;
/** How many times as long calls must wait. */
const TIMES_WAIT = 1.5;
/** How many times as many calls must be in flight at a window's end as at its beginning. */
const TIMES_IN_WINDOW = 1.05;
export const MIN_LIMIT = 4;
const GROWTH = 1.25;
/** A limit that was not reached for so long holds no more. */
export const UNREACHED_MS = 5_000;
/** A limit under which calls do not get faster, or do not end, for so long was a mistake. */
export const MAX_USELESS_MS = 10_000;
/** For so long, and up to twice that, the quickest call says what is usual. */
const USUAL_MS = 60_000;

/** How a call ended: with an answer, without one in time, or otherwise. */
export type CallEnding = "answered" | "lost" | "other";

export class ConcurrencyLimit {
  #inFlight = 0;
  #limit = Number.POSITIVE_INFINITY;
  /** When a call was refused last. */
  #refusedAt = 0;
  /** The limit was set or lowered then: it shows in calls that began later. */
  #since = 0;

  // The calls that have ended in this window.
  #windowStart = 0;
  #responded = 0;
  #lost = 0;
  #quickest = Number.POSITIVE_INFINITY;
  #total = 0;

  /** The quickest answer of this time and of the time before, and when this one began. */
  #usual = Number.POSITIVE_INFINITY;
  #usualBefore = Number.POSITIVE_INFINITY;
  #usualSince = 0;

  /** The first window in which all calls waited, for comparison; undefined once the quickest of a window has not. */
  #first: { readonly inFlight: number; readonly wait: number; readonly took: number } | undefined;
  /** Calls in flight when this window began. */
  #before = 0;
  /** Since when calls have waited under the limit as they did without. */
  #uselessSince: number | undefined;

  /** Infinity for none. */
  get limit(): number {
    return this.#limit;
  }

  /** Whether a call may begin; then `end` must follow. */
  tryBegin(now: number): boolean {
    if (this.#inFlight >= this.#limit && !this.#liftUnused(now)) return false;
    this.#inFlight++;
    return true;
  }

  end(began: number, now: number, ending: CallEnding): void {
    this.#inFlight--;
    // No call is left to wait for another.
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

  /** @returns whether there was a limit that had not been reached for a while, or under which calls hang */
  #liftUnused(now: number): boolean {
    const isUnused = now - this.#refusedAt > UNREACHED_MS || now - this.#windowStart > MAX_USELESS_MS;
    this.#refusedAt = now;
    if (isUnused) this.#lift();
    return isUnused;
  }

  get #usualTime(): number {
    return Math.min(this.#usual, this.#usualBefore);
  }

  /** What calls of this window took; without a response, no time is too long. */
  get #meanTime(): number {
    return this.#responded === 0 ? Number.POSITIVE_INFINITY : this.#total / this.#responded;
  }

  #closeWindow(now: number): void {
    // Where none was answered, all have waited too long.
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

  /** Sets a limit where more calls in flight were not answered faster. */
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

  /** Whether all calls have waited, and not only some. */
  #isCommon(wait: number): boolean {
    return this.#responded === 0 || wait >= MIN_COMMON_WAIT * (this.#meanTime - this.#usualTime);
  }

  /** How many calls in flight are answered at this rate where they wait for MAX_QUEUE_MS (Little's law). */
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
