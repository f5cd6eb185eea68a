/**
 * The lease is the time for which a guard may decide, counted from a moment before the authority was asked. It is
 * measured by the monotonic clock, which cannot be set, and also ends by the wall clock, because the monotonic clock
 * stands still while a machine is suspended.
 */

/** One moment by both clocks, in milliseconds of `performance.now()` and of `Date.now()`. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

const ENDED: Moment = { monotonic: 0, wall: 0 };

/** This moment, by both clocks. */
export function now(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Told when a lease begins and ends. */
export interface LeaseListener {
  /** It runs, for the first time or again. */
  onRunning(): void;
  /** It has run out. */
  onLost(): void;
  /** It has been lost for as long as it had lasted. */
  onLostForLong(): void;
}

/** The lease of one guard. */
export class Lease {
  readonly #listener: LeaseListener;
  #end = ENDED;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #closed = false;

  constructor(listener: LeaseListener) {
    this.#listener = listener;
  }

  /** When it ends, as a moment of `performance.now()`. */
  get end(): number {
    return this.#end.monotonic;
  }

  /** @param monotonic a moment of `performance.now()` */
  runs(monotonic: number): boolean {
    return monotonic < this.#end.monotonic && Date.now() < this.#end.wall;
  }

  /** Lets it run for a time, in milliseconds, after a moment. */
  extend(from: Moment, time: number): void {
    if (this.#closed) return;
    // It ran out a moment ago, and the timer that tells is late.
    if (this.#running && !this.runs(performance.now())) this.#lose(time);
    this.#end = { monotonic: from.monotonic + time, wall: from.wall + time };
    if (!this.runs(performance.now())) return;
    this.#watch(time);
    if (this.#running) return;
    this.#running = true;
    this.#listener.onRunning();
  }

  /** Ends it now; it may be extended again. */
  cut(time: number): void {
    this.#end = ENDED;
    if (this.#running) this.#lose(time);
  }

  /** Ends it for good. */
  close(): void {
    this.#closed = true;
    this.#end = ENDED;
    this.#running = false;
    clearTimeout(this.#timer);
  }

  #watch(time: number): void {
    clearTimeout(this.#timer);
    const left = Math.ceil(this.#end.monotonic - performance.now()) + 1;
    this.#timer = setTimeout(() => this.#lose(time), left);
  }

  /**
   * The second timer starts only when the first has fired, and does not count from the same moment: when the process
   * was stopped or suspended for longer than both, an answer that is already there is read before the second one fires.
   */
  #lose(time: number): void {
    this.#running = false;
    this.#listener.onLost();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#listener.onLostForLong(), time);
  }
}
