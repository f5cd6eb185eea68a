/**
 * Bounds floods of what costs the sender little and the receiver work (RFC 9113, section 10.5): frames that carry nothing
 * for a request, and streams that are opened to be reset. Each of them spends one of an allowance, which is filled up with
 * time and with useful frames, so a peer that makes many requests never runs out.
 */
export class Allowance {
  readonly #max: number;
  readonly #perSecond: number;
  #left: number;
  /** When it was last filled up for time, in milliseconds of `performance.now()`. */
  #since = performance.now();

  constructor({ max, perSecond }: { readonly max: number; readonly perSecond: number }) {
    this.#max = max;
    this.#perSecond = perSecond;
    this.#left = max;
  }

  /** @returns false where nothing is left: the connection is to be ended */
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

/** Frames that carry nothing: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, RST_STREAM, empty DATA, frames of unknown types. */
export const IDLE_FRAMES = { max: 1_000, perSecond: 100 } as const;
/** How many idle frames each frame with headers or data, sent or received, allows. */
export const EARNED_BY_WORK = 4;

/** Streams reset before they were answered ("rapid reset", CVE-2023-44487), or made to be reset by us (CVE-2025-8671). */
export const RESETS = { max: 1_000, perSecond: 100 } as const;
