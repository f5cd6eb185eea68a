/**
 * The authority's time: by it tokens expire, changes are dated, and guards judge (each pong carries it).
 *
 * It follows the machine's wall clock forward and never goes back. So what has expired stays expired, also when the clock
 * is set back, and after a restart: then it is at least the newest time in the store (stored-time.ts).
 *  - A wall clock that is behind by up to a day is caught up with: time goes on a tenth more slowly until then.
 *  - A wall clock that is off by more than a day, against the time that has passed since the last reading, is not
 *    believed. Time goes on by itself, and changes are refused, because the time of their entries could be wrong. Both end by themselves once the wall clock is right again.
 *  - At a start, a wall clock that is ahead is believed, however far: the authority may have been off that long.
 *
 * Where there are other clocks to compare it with, the database's and those of other authorities on it, a wall clock that
 * is ahead of each of them by more than ten seconds is not used: the newest of them is followed in its place. So is one of
 * them where the wall clock is behind by more than a day and it is not. So one wrong clock of several neither stops changes
 * nor gets into the store.
 *
 * The time that has passed is measured by a clock that cannot be set and that counts the time a machine sleeps.
 */
import { uptime } from "node:os";
import type { Logger } from "pino";
import { RefusedError } from "../changelog/refusals.js";

/** How far the wall clock may be off and still be followed, in milliseconds. */
export const MAX_JUMP = 24 * 60 * 60_000;
/** How fast time goes while the wall clock is behind it. */
const CATCH_UP_RATE = 0.9;
/** How far the wall clock may be ahead of every other clock and still be used, in milliseconds. */
export const MAX_AHEAD = 10_000;
/** A wall clock that is less behind is not worth a line in the log, in milliseconds. */
const NOTEWORTHY = 10_000;

/** The clocks of the machine. */
export interface Clocks {
  /** Milliseconds since 1970 by the machine's clock, which may be set. */
  readonly wall: () => number;
  /** Milliseconds since any moment, by a clock that is never set and counts the time a machine sleeps. */
  readonly elapsed: () => number;
}

/** How far the wall clock may get away from the monotonic one before the uptime is read, in milliseconds. */
const MAX_DRIFT = 100;

/**
 * Milliseconds since the machine started, with the time that it slept. The system reads its uptime from a file, which
 * takes longer than all else that a decision needs. So it is read only where the wall clock does not go with the monotonic
 * one, which stands still while the machine sleeps; in between, the monotonic one counts.
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
  /** The newest time in the store, in milliseconds since 1970; undefined in a fresh one. */
  readonly stored: number | undefined;
  /** Whether the operator vouches for the wall clock, whatever other clocks say. */
  readonly accept: boolean;
}

/** The authority's time. */
export class AuthorityClock {
  readonly #clocks: Clocks;
  readonly #log: Logger;
  /** At the last reading. */
  #time: number;
  #elapsed: number;
  /** Other clocks: how much more than `elapsed` each says. */
  #others: readonly number[] = [];
  #isAccepted = false;
  #isStarted = false;
  /** What the wall clock said where another clock is followed in its place, and by how much that said less. */
  #unused: { readonly wall: number; readonly ahead: number } | undefined;
  /** What the clock said, where it is not believed. */
  #disbelieved: number | undefined;
  #behind = false;

  constructor({ clocks, log }: Options) {
    this.#clocks = clocks;
    this.#log = log;
    this.#time = clocks.wall();
    this.#elapsed = clocks.elapsed();
  }

  /** What the wall clock says, right or wrong, in milliseconds since 1970: for others, who compare theirs with it. */
  get wall(): number {
    return this.#clocks.wall();
  }

  /** What is wrong with the wall clock and what to do about it, for the operator; undefined where it is used. */
  get error(): string | undefined {
    this.now();
    if (this.#disbelieved !== undefined) return this.#whyRefused(this.#disbelieved);
    return this.#unused && this.#whyUnused(this.#unused);
  }

  /** @param others what other clocks say now, in milliseconds since 1970; none where there are none to compare with */
  compare(others: readonly number[]): void {
    const elapsed = this.#clocks.elapsed();
    this.#others = others.filter(Number.isFinite).map((time) => time - elapsed);
  }

  /** Must come before the time is used, where there is a store, and after `compare`, where there are other clocks. */
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
    this.#notify(clock, isBelieved);
    return this.#time;
  };

  /**
   * Raises the time to that of another authority on the store. One that is off by more than a day is not believed. Does
   * nothing before `start`, which sets the time.
   */
  atLeast(time: number): void {
    if (!this.#isStarted) return;
    const now = this.now();
    if (time > now && time - now <= MAX_JUMP) this.#time = time;
  }

  /** @throws {RefusedError} while the wall clock is not believed: nothing may be changed. */
  readonly check = (): void => {
    this.now();
    if (this.#disbelieved === undefined) return;
    throw new RefusedError("clock", `The authority changes nothing while ${this.#whyRefused(this.#disbelieved)}`);
  };

  /** What the wall clock says; or another clock, where the wall clock is wrong and that one is not. */
  #choose(wall: number, expected: number): number {
    if (this.#others.length === 0 && this.#unused === undefined) return wall;
    // One that is behind the time so far by more than a day is wrong, or of an authority that has gone.
    const isUsable = (time: number): boolean => !this.#isAccepted && expected - time <= MAX_JUMP;
    const others = this.#others.map((offset) => offset + this.#elapsed).filter(isUsable);
    const newest = Math.max(...others);
    // Two thresholds, so that a clock at one of them is not said to be wrong and right in turns.
    const isAhead = others.length > 0 && wall - newest > (this.#unused ? MAX_AHEAD / 2 : MAX_AHEAD);
    const isBehind = expected - wall > MAX_JUMP;
    const [near = wall] = isBehind ? others.filter((time) => time - expected <= MAX_JUMP) : [];
    const chosen = isAhead ? newest : near;
    this.#tellUnused(wall, chosen);
    return chosen;
  }

  #tellUnused(wall: number, chosen: number): void {
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

  #notify(wall: number, isBelieved: boolean): void {
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
