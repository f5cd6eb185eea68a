/**
 * A moment by both clocks of the machine. The monotonic clock cannot be set, but stops while the
 * machine is suspended. The wall clock counts that time, but can be set.
 */

/** In milliseconds of `performance.now()` and of `Date.now()`. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** The current moment, by both clocks. */
export function now(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}
