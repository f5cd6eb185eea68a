/**
 * The authority's time. It decides when tokens expire, dates changes, and is the time for the
 * guards' decisions (each pong carries it).
 *
 * The time follows the machine's wall clock forward and never goes back. So what has expired stays
 * expired, even if the clock is set back. After a restart, the time is at least the newest time in
 * the store (stored-time.ts).
 *  - If the wall clock is behind by at most a day, time runs 10% more slowly until the wall clock
 *    has caught up.
 *  - If the wall clock is wrong by more than a day, compared with the time that has passed since
 *    the last reading, it is not trusted. Time then runs without it, and changes are refused,
 *    because their entries could get a wrong time. This ends by itself once the wall clock is right
 *    again.
 *  - At a start, a wall clock that is ahead is trusted, however far it is ahead: the authority may
 *    have been off for that long.
 *
 * Other clocks to compare with are the database's clock and the clocks of other authorities on it.
 * If the wall clock is ahead of each of them by more than ten seconds, the newest of them is used
 * instead. If the wall clock is behind by more than a day and another clock is not, that clock is
 * used instead. So a single wrong clock neither stops changes nor gets into the store.
 *
 * The time that has passed is measured by a clock that cannot be set and that includes the time in
 * which the machine sleeps.
 */
import { uptime } from "node:os";
import type { Logger } from "pino";
import { RefusedError } from "../changelog/refusals.js";

/** Maximum error of a wall clock that is still followed, in milliseconds. */
export const MAX_JUMP = 24 * 60 * 60_000;
/** How fast time runs while the wall clock is behind it. */
const CATCH_UP_RATE = 0.9;
/** How far the wall clock may be ahead of every other clock and still be used, in milliseconds. */
export const MAX_AHEAD = 10_000;
/** The log names a wall clock that is behind by more than this, in milliseconds. */
const NOTEWORTHY = 10_000;

/** The clocks of the machine. */
export interface Clocks {
  /** Milliseconds since 1970 by the machine's clock, which may be set. */
  readonly wall: () => number;
  /** Milliseconds by a clock that is never set and that runs while the machine sleeps. */
  readonly elapsed: () => number;
}

/**
 * Maximum drift between wall clock and monotonic clock before the uptime is read, in milliseconds.
 */
const MAX_DRIFT = 100;

/**
 * Milliseconds since the machine started, including the time in which it slept. The system reads
 * its uptime from a file, which is slower than all the rest of a decision. So the uptime is read
 * only when the wall clock and the monotonic clock drift apart, because the monotonic clock stops
 * while the machine sleeps. In between, the monotonic clock is used.
 */
export function countUptime({ uptime, wall, monotonic }: Record<"uptime" | "wall" | "monotonic", () => number>) {
  let [read, readWall, readMonotonic] = [uptime(), wall(), monotonic()];
  return (): number => {
    const passed = monotonic() - readMonotonic;
    if (Math.abs(wall() - readWall - passed) <= MAX_DRIFT) return read + passed;
    [read, readWall, readMonotonic] = [uptime(), wall(), monotonic()];
    return read;
  };
}

/** The clocks of this machine. */
export const MACHINE_CLOCKS: Clocks = {
  wall: Date.now,
  elapsed: countUptime({ uptime: () => uptime() * 1000, wall: Date.now, monotonic: () => performance.now() }),
};

interface Options {
  readonly clocks: Clocks;
  readonly log: Logger;
}

/** How the authority's time begins. */
export interface ClockStart {
  /** The newest time in the store, in milliseconds since 1970; undefined in a new store. */
  readonly stored: number | undefined;
  /** Whether the operator says that the wall clock is right, even if other clocks differ. */
  readonly accept: boolean;
}

/** The authority's time. */
export class AuthorityClock {
  readonly #clocks: Clocks;
  readonly #log: Logger;
  /** The authority's time and `elapsed` at the last reading. */
  #time: number;
  #elapsed: number;
  /** Other clocks, each as its difference to `elapsed`. */
  #others: readonly number[] = [];
  #isAccepted = false;
  #isStarted = false;
  /** The wall clock while another clock is used instead, and how far it is ahead of that clock. */
  #unused: { readonly wall: number; readonly ahead: number } | undefined;
  /** The wall clock's time while it is not trusted. */
  #disbelieved: number | undefined;
  #behind = false;

  constructor({ clocks, log }: Options) {
    this.#clocks = clocks;
    this.#log = log;
    this.#time = clocks.wall();
    this.#elapsed = clocks.elapsed();
  }

  /** The wall clock, right or wrong, in milliseconds since 1970. For other authorities. */
  get wall(): number {
    return this.#clocks.wall();
  }

  /**
   * What is wrong with the wall clock and what to do, for the operator; undefined if it is used.
   */
  get error(): string | undefined {
    this.now();
    if (this.#disbelieved !== undefined) return this.#whyRefused(this.#disbelieved);
    return this.#unused && this.#whyUnused(this.#unused);
  }

  /** @param others current times of other clocks, in milliseconds since 1970; may be empty */
  compare(others: readonly number[]): void {
    const elapsed = this.#clocks.elapsed();
    this.#others = others.filter(Number.isFinite).map((time) => time - elapsed);
  }

  /** With a store, must be called before the time is used; with other clocks, after `compare`. */
  start({ stored, accept }: ClockStart): void {
    const wall = this.#clocks.wall();
    this.#isStarted = true;
    this.#isAccepted = accept;
    this.#elapsed = this.#clocks.elapsed();
    const clock = this.#choose(wall, stored ?? Number.NEGATIVE_INFINITY);
    this.#time = accept ? clock : Math.max(clock, stored ?? clock);
    if (stored === undefined) return;
    const ahead = clock - stored;
    if (accept && Math.abs(ahead) > NOTEWORTHY) {
      const lost = ahead < 0 ? "; tokens that had expired by that may be good again" : "";
      this.#log.warn(`the clock is accepted: it is ${utc(clock)}, and the store's time was ${utc(stored)}${lost}`);
    } else if (ahead > MAX_JUMP) {
      this.#log.warn(
        `the clock says ${utc(clock)}, more than a day after the newest time in the store, ${utc(stored)}. It is believed: ` +
          "the authority may have been off. If it is wrong, stop, set the clock right, and start with --accept-time",
      );
    }
  }

  /** Milliseconds since 1970; never less than before. */
  readonly now = (): number => {
    const wall = this.#clocks.wall();
    const elapsed = this.#clocks.elapsed();
    const passed = Math.max(elapsed - this.#elapsed, 0);
    const expected = this.#time + passed;
    this.#elapsed = elapsed;
    const clock = this.#choose(wall, expected);
    const isBelieved = Math.abs(clock - expected) <= MAX_JUMP;
    if (isBelieved) this.#time = Math.max(clock, this.#time + passed * CATCH_UP_RATE);
    else this.#time = expected;
    this.#logTrust(clock, isBelieved);
    return this.#time;
  };

  /**
   * Raises the time to the time of another authority on the store. A time that differs by more than
   * a day is ignored. Does nothing before `start`, which sets the time.
   */
  atLeast(time: number): void {
    if (!this.#isStarted) return;
    const now = this.now();
    if (time > now && time - now <= MAX_JUMP) this.#time = time;
  }

  /** @throws {RefusedError} while the wall clock is not trusted: then no changes may be made. */
  readonly check = (): void => {
    this.now();
    if (this.#disbelieved === undefined) return;
    throw new RefusedError("clock", `The authority changes nothing while ${this.#whyRefused(this.#disbelieved)}`);
  };

  /**
   * The wall clock's time, or another clock's if the wall clock is wrong and the other is right.
   */
  #choose(wall: number, expected: number): number {
    if (this.#others.length === 0 && this.#unused === undefined) return wall;
    // A clock that is more than a day behind is wrong, or belongs to an authority that is gone.
    const isUsable = (time: number): boolean => !this.#isAccepted && expected - time <= MAX_JUMP;
    const others = this.#others.map((offset) => offset + this.#elapsed).filter(isUsable);
    const newest = Math.max(...others);
    // Two thresholds, so that a clock near one of them does not switch between wrong and right.
    const isAhead = others.length > 0 && wall - newest > (this.#unused ? MAX_AHEAD / 2 : MAX_AHEAD);
    const isBehind = expected - wall > MAX_JUMP;
    const [near = wall] = isBehind ? others.filter((time) => time - expected <= MAX_JUMP) : [];
    const chosen = isAhead ? newest : near;
    this.#logUnused(wall, chosen);
    return chosen;
  }

  #logUnused(wall: number, chosen: number): void {
    const before = this.#unused;
    this.#unused = chosen === wall ? undefined : { wall, ahead: wall - chosen };
    if (this.#unused !== undefined && before === undefined) this.#log.error(this.#whyUnused(this.#unused));
    else if (this.#unused === undefined && before !== undefined) {
      this.#log.warn(`the clock is right again: it says ${utc(wall)}, as others do, and is used`);
    }
  }

  #whyUnused({ wall, ahead }: { wall: number; ahead: number }): string {
    const seconds = Math.round(Math.abs(ahead) / 1000);
    return (
      `the clock of the authority's machine is wrong: it says ${utc(wall)}, ${seconds} s ${ahead > 0 ? "ahead of" : "behind"} ` +
      "the database's clock and those of other authorities. Time goes on by theirs. Set it right; if it is right and they " +
      "are wrong, set them right, or start this authority with --accept-time"
    );
  }

  #whyRefused(said: number): string {
    return (
      `its clock is wrong: it says ${utc(said)}, and should say about ${utc(this.#time)}. Set it right; if it is right, ` +
      "start the authority with --accept-time"
    );
  }

  #logTrust(wall: number, isBelieved: boolean): void {
    if (isBelieved !== (this.#disbelieved === undefined)) {
      if (isBelieved) this.#log.warn(`the clock is right again: it says ${utc(wall)}; changes are made again`);
      else {
        this.#log.error(
          `the clock says ${utc(wall)}, and should say about ${utc(this.#time)}. It is not believed: calls go on, and ` +
            "changes are refused until it is right. If it is right, start the authority with --accept-time",
        );
      }
    }
    this.#disbelieved = isBelieved ? undefined : wall;
    const behind = isBelieved && this.#time - wall > (this.#behind ? 0 : NOTEWORTHY);
    if (behind && !this.#behind) {
      this.#log.warn(
        `the clock was set back, to ${utc(wall)}: the authority's time, ${utc(this.#time)}, goes on, more slowly until the ` +
          "clock has caught up, so that nothing expired is good again",
      );
    }
    this.#behind = behind;
  }
}

function utc(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms after 1970` : date.toISOString();
}
