/** Moments as the authority's messages carry them, to and from milliseconds of `Date.now()`. */
import type { Duration } from "./gen/google/protobuf/duration.js";
import type { Timestamp } from "./gen/google/protobuf/timestamp.js";

export function timestamp(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) };
}

/** An absent timestamp is the epoch: what has no expiry in a message has expired. */
export function millis(time: Timestamp | undefined): number {
  return time === undefined ? 0 : Number(time.seconds) * 1000 + time.nanos / 1e6;
}

export function durationMs(duration: Duration): number {
  return Number(duration.seconds) * 1000 + duration.nanos / 1e6;
}
