/**
 * Bounds what costs the sender little and the receiver work (RFC 9113, section 10.5): frames that carry nothing, and
 * streams that are opened to be reset. An allowance is spent by them; time gives it back, and so does useful work, so that
 * a peer that is busy for good reasons never runs out.
 */
export class Allowance {
  readonly #most: number;
  readonly #perSecond: number;
  #left: number;
  /** When time was last accounted for, in milliseconds of `performance.now()`. */
  #since = performance.now();

  constructor({ most, perSecond }: { readonly most: number; readonly perSecond: number }) {
    this.#most = most;
    this.#perSecond = perSecond;
    this.#left = most;
  }

  /** False where nothing is left: the peer is to be cut off. */
  spend(): boolean {
    if (this.#left < 1) this.#refill();
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }

  earn(amount: number): void {
    this.#left = Math.min(this.#left + amount, this.#most);
  }

  #refill(): void {
    const now = performance.now();
    this.earn(((now - this.#since) / 1000) * this.#perSecond);
    this.#since = now;
  }
}

/** Frames that carry nothing for a call: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, RST_STREAM, empty DATA, unknown ones. */
export const IDLE_FRAMES = { most: 1_000, perSecond: 100 } as const;
/** What a frame with a call's headers or bytes, sent or received, gives back of it. */
export const EARNED_BY_WORK = 4;

/** Streams reset before they were answered ("rapid reset", CVE-2023-44487), or made to be reset by us (CVE-2025-8671). */
export const RESETS = { most: 1_000, perSecond: 100 } as const;
