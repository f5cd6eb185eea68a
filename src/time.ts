/**
 * Moments and durations, in milliseconds. Timestamps of protobuf messages count from 1970, as `Date.now()`, the wall clock. What
 * must happen within a time is measured by the monotonic clock, `performance.now()`, because the wall clock may be set meanwhile.
 */
import type { Duration } from "./gen/google/protobuf/duration.js";
import type { Timestamp } from "./gen/google/protobuf/timestamp.js";

/** The timestamp of a moment, in milliseconds since 1970. */
export function toTimestamp(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) };
}

/** Milliseconds since 1970; 0 for an absent timestamp: what has no expiry in a message has expired. */
export function timestampMs(time: Timestamp | undefined): number {
  return time === undefined ? 0 : Number(time.seconds) * 1000 + time.nanos / 1e6;
}

/** Milliseconds. */
export function durationMs(duration: Duration): number {
  return Number(duration.seconds) * 1000 + duration.nanos / 1e6;
}

/** A moment of the monotonic clock, by the wall clock as it stands now, in whole milliseconds. */
export function toWallClock(monotonic: number): number {
  return Math.ceil(monotonic - performance.now() + Date.now());
}

/** A moment of the wall clock as it stands now, by the monotonic clock. */
export function fromWallClock(wall: number): number {
  return wall - Date.now() + performance.now();
}
