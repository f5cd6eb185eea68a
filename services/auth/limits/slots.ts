/**
 * The slots of one `concurrent` limit for one subject: how many calls may be open at once.
 *
 * A slot is lent until its guard states that it has fewer. A guard that is gone cannot state that,
 * so its slots count until the longest call that it may have left open has ended.
 */
import type { Asked, Lent } from "./bucket.js";

/** After how many milliseconds a guard asks again for a slot. */
const RETRY_MS = 50;

export class Slots {
  #limit: number;
  readonly #lent = new Map<string, number>();
  /** Guards that are gone, and when their calls have ended. */
  readonly #ends = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  change(limit: number): void {
    this.#limit = limit;
  }

  left(now: number): number {
    this.#forget(now);
    let lent = 0;
    for (const count of this.#lent.values()) lent += count;
    return Math.max(0, this.#limit - lent);
  }

  /** Whether no slot is lent. */
  isFree(now: number): boolean {
    this.#forget(now);
    return this.#lent.size === 0;
  }

  lend({ guard, kept, waiting, soon }: Asked, now: number): Lent {
    this.#ends.delete(guard);
    this.#set(guard, kept);
    const left = this.left(now);
    const needed = Math.min(waiting, left);
    // Half of the rest stays here for guards that have not asked yet.
    const amount = needed + Math.min(soon, Math.ceil((left - needed) / 2));
    this.#set(guard, kept + amount);
    const isShort = amount < waiting || (amount === 0 && soon > 0);
    return { amount, retry: isShort ? RETRY_MS : 0, left: left - amount };
  }

  /** The guard's stream has ended. @param ends when its last call has ended */
  gone(guard: string, ends: number): void {
    if (this.#lent.has(guard)) this.#ends.set(guard, ends);
  }

  #set(guard: string, count: number): void {
    if (count === 0) this.#lent.delete(guard);
    else this.#lent.set(guard, count);
  }

  #forget(now: number): void {
    for (const [guard, ends] of this.#ends) {
      if (ends > now) continue;
      this.#ends.delete(guard);
      this.#lent.delete(guard);
    }
  }
}
