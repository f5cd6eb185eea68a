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
 * The time that has passed is measured by a clock that cannot be set and that counts the time a machine sleeps.
 */
import { uptime } from "node:os";
import type { Logger } from "pino";
import { Code, StatusError } from "../../../src/errors.js";

/** How far the wall clock may be off and still be followed, in milliseconds. */
export const MAX_JUMP = 24 * 60 * 60_000;
/** How fast time goes while the wall clock is behind it. */
const CATCH_UP_RATE = 0.9;
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
export interface Start {
  /** The newest time in the store, in milliseconds since 1970; undefined in a fresh one. */
  readonly stored: number | undefined;
  /** Whether the operator vouches for the wall clock. */
  readonly accept: boolean;
}

/** The authority's time. */
export class Clock {
  readonly #clocks: Clocks;
  readonly #log: Logger;
  /** At the last reading. */
  #time: number;
  #elapsed: number;
  /** What the wall clock said, where it is not believed. */
  #disbelieved: number | undefined;
  #behind = false;

  constructor({ clocks, log }: Options) {
    this.#clocks = clocks;
    this.#log = log;
    this.#time = clocks.wall();
    this.#elapsed = clocks.elapsed();
  }

  /** Must come before the time is used, where there is a store. */
  start({ stored, accept }: Start): void {
    if (stored === undefined) return;
    const { wall, elapsed } = this.#clocks;
    const clock = wall();
    const ahead = clock - stored;
    this.#elapsed = elapsed();
    this.#time = accept ? clock : Math.max(clock, stored);
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
    const isBelieved = Math.abs(wall - expected) <= MAX_JUMP;
    if (isBelieved) this.#time = Math.max(wall, this.#time + passed * CATCH_UP_RATE);
    else this.#time = expected;
    this.#elapsed = elapsed;
    this.#tell(wall, isBelieved);
    return this.#time;
  };

  /** Raises the time to that of another authority on the store. One that is off by more than a day is not believed. */
  atLeast(time: number): void {
    const now = this.now();
    if (time > now && time - now <= MAX_JUMP) this.#time = time;
  }

  /** @throws {StatusError} UNAVAILABLE while the wall clock is not believed: nothing may be changed. */
  readonly check = (): void => {
    const own = this.now();
    if (this.#disbelieved === undefined) return;
    throw new StatusError(
      Code.UNAVAILABLE,
      `The authority changes nothing while its clock is wrong: it says ${utc(this.#disbelieved)}, and should say about ` +
        `${utc(own)}. Set it right; if it is right, start the authority with --accept-time`,
    );
  };

  #tell(wall: number, isBelieved: boolean): void {
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
