/**
 * Limits floods that cost the sender little and the receiver much (RFC 9113, section 10.5): frames
 * that carry nothing for a request, and streams that are opened only to be reset. Each of them uses
 * one unit of an allowance. Time and useful frames refill it, so a peer that makes many requests
 * never uses it up.
 */
export class Allowance {
  readonly #max: number;
  readonly #perSecond: number;
  #left: number;
  /**
   * When the allowance was last refilled because of time, in milliseconds of `performance.now()`.
   */
  #since = performance.now();

  constructor({ max, perSecond }: { readonly max: number; readonly perSecond: number }) {
    this.#max = max;
    this.#perSecond = perSecond;
    this.#left = max;
  }

  /** @returns false when nothing is left; then the connection must end */
  spend(): boolean {
    if (this.#left < 1) this.#refill();
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }

  earn(amount: number): void {
    this.#left = Math.min(this.#left + amount, this.#max);
  }

  #refill(): void {
    const now = performance.now();
    this.earn(((now - this.#since) / 1000) * this.#perSecond);
    this.#since = now;
  }
}

/**
 * Frames that carry nothing: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, RST_STREAM, empty DATA,
 * frames of unknown types.
 */
export const IDLE_FRAMES = { max: 1_000, perSecond: 100 } as const;
/** The number of idle frames that each frame with headers or data, sent or received, allows. */
export const EARNED_BY_WORK = 4;

/**
 * Streams that the peer resets before they have a response ("rapid reset", CVE-2023-44487), or that
 * this end must reset because of the peer's errors (CVE-2025-8671).
 */
export const RESETS = { max: 1_000, perSecond: 100 } as const;
