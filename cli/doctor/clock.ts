/** This machine's clock, compared with other clocks. */
import { type Finding, findingsOf, utc } from "./finding.js";

const { ok, problem, unchecked } = findingsOf("clock");

/** Clocks that differ by less are right, in milliseconds. The authority compares by the same. */
const NOTEWORTHY_MS = 10_000;

/** When a clock was read, by this machine's clock in milliseconds since 1970. */
export interface Reading {
  readonly sent: number;
  readonly received: number;
}

/**
 * @param whose the other clock's owner, such as `the database`
 * @param time of the other clock, in milliseconds since 1970
 */
export function compareClocks(whose: string, time: number, { sent, received }: Reading): Finding {
  // Between its request and its response, this machine's clock passed the other's time.
  const ahead = time < sent ? sent - time : Math.min(0, received - time);
  if (Math.abs(ahead) < NOTEWORTHY_MS) return ok(`This machine's clock agrees with ${whose}`);
  const direction = ahead > 0 ? "ahead of" : "behind";
  return problem(
    `This machine's clock is ${inWords(Math.abs(ahead))} ${direction} ${whose}, which says ${utc(time)}: ` +
      "set the wrong one right, and keep both right by NTP",
  );
}

/**
 * Compares the clock with the newest time in a store. Nothing follows from a time that is earlier:
 * the authority may have been off since.
 * @param newest in milliseconds since 1970; undefined in a store without any
 */
export function compareWithStore(newest: number | undefined, now: number): Finding {
  if (newest === undefined) return unchecked("The store has no time to compare this machine's clock with");
  if (newest - now < NOTEWORTHY_MS) return ok("This machine's clock is not behind the newest time in the store");
  return problem(
    `This machine's clock is ${inWords(newest - now)} behind the newest time in the store, ${utc(newest)}: set it right, and ` +
      "keep it right by NTP. If the store is wrong, start the authority once with --accept-time",
  );
}

function inWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} minutes`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} hours` : `${Math.round(hours / 24)} days`;
}
