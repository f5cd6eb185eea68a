/**
 * Moments and durations, in milliseconds. Timestamps in protobuf messages count from 1970, like the
 * wall clock, `Date.now()`. Timeouts are measured by the monotonic clock, `performance.now()`,
 * because the wall clock may be set meanwhile.
 */
import type { Duration } from "./gen/google/protobuf/duration.js";
import type { Timestamp } from "./gen/google/protobuf/timestamp.js";

/** @param ms milliseconds since 1970 */
export function toTimestamp(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) };
}

/**
 * Milliseconds since 1970; 0 for an absent timestamp, so that a message without an expiry counts as
 * expired.
 */
export function timestampMs(time: Timestamp | undefined): number {
  return time === undefined ? 0 : Number(time.seconds) * 1000 + time.nanos / 1e6;
}

/** @returns milliseconds */
export function durationMs(duration: Duration): number {
  return Number(duration.seconds) * 1000 + duration.nanos / 1e6;
}

/** @param ms milliseconds, not negative */
export function toDuration(ms: number): Duration {
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) };
}

/**
 * Converts a moment of the monotonic clock to the wall clock as currently set, in whole
 * milliseconds.
 */
export function toWallClock(monotonic: number): number {
  return Math.ceil(monotonic - performance.now() + Date.now());
}

/** Converts a moment of the wall clock as currently set to the monotonic clock. */
export function fromWallClock(wall: number): number {
  return wall - Date.now() + performance.now();
}
