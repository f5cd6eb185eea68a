/**
 * Who may still be deciding by an old revision. A guard may decide for the lease after the ping whose pong it got. So a
 * change holds everywhere once every guard has applied its revision, or the lease of its last pong before the change has
 * run out. A guard whose stream broke still counts until then, unless it had closed its side: it decides no more.
 *
 * The guard measures the lease from when it sent the ping, we from when the pong was made, which is later. The margin is
 * for clocks that do not run equally fast. Guards that follow other authorities are known by grantors.ts.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Code, StatusError } from "../../src/errors.js";
import type { Grantors } from "./grantors.js";

/** Most guards at once, those whose stream broke a moment ago included. */
const MAX_HOLDERS = 1_000;

/** How long a lease may run, by any clock, after its pong was made, in milliseconds. */
export function leaseSpan(leaseMs: number): number {
  return leaseMs + Math.max(50, leaseMs / 20);
}

/** One guard's stream. */
export interface Holder {
  /** The revision that the guard has applied. */
  applied: number;
  /** When the last pong was made, by the monotonic clock; a guard that never got one decides nothing. */
  granted: number;
  gone: boolean;
}

export class Leases {
  readonly leaseMs: number;
  readonly #span: number;
  readonly #grantors: Grantors;
  readonly #now: () => number;
  readonly #holders = new Set<Holder>();
  readonly #waiting = new Set<() => void>();

  constructor({ leaseMs, grantors, now }: { leaseMs: number; grantors: Grantors; now: () => number }) {
    this.leaseMs = leaseMs;
    this.#span = leaseSpan(leaseMs);
    this.#grantors = grantors;
    this.#now = now;
  }

  /** @throws {StatusError} RESOURCE_EXHAUSTED when there are too many. */
  join(): Holder {
    this.#forget();
    if (this.#holders.size >= MAX_HOLDERS) throw new StatusError(Code.RESOURCE_EXHAUSTED, "Too many guards at once");
    const holder: Holder = { applied: 0, granted: Number.NEGATIVE_INFINITY, gone: false };
    this.#holders.add(holder);
    return holder;
  }

  /** Must be awaited before the revision of a pong is read: from here on, other authorities wait for the guard. */
  prepare(): Promise<void> {
    return this.#grantors.announce();
  }

  /** The pong is made. */
  grant(holder: Holder): void {
    holder.granted = this.#now();
  }

  applied(holder: Holder, revision: number): void {
    holder.applied = Math.max(holder.applied, revision);
    this.#wake();
  }

  /** The stream has ended; `clean` when the guard had said that it decides no more. */
  leave(holder: Holder, clean: boolean): void {
    holder.gone = true;
    if (clean) holder.granted = Number.NEGATIVE_INFINITY;
    this.#forget();
    this.#wake();
  }

  /** Resolves when nobody decides without the revision, which must be committed and folded in. */
  async settled(revision: number): Promise<void> {
    const committed = this.#now();
    await Promise.all([this.#settledHere(revision, committed), this.#settledElsewhere()]);
  }

  /** Leaves no trace in the store, unless leases still run. */
  async close(): Promise<void> {
    const now = this.#now();
    const running = [...this.#holders].some(({ granted }) => granted + this.#span > now);
    if (!running) await this.#grantors.withdraw();
  }

  async #settledHere(revision: number, committed: number): Promise<void> {
    for (;;) {
      const now = this.#now();
      // Pongs made after the commit name the revision, or a later one, and so lend nothing to decisions without it.
      const ends = [...this.#holders]
        .filter(({ applied }) => applied < revision)
        .map(({ granted }) => Math.min(granted, committed) + this.#span)
        .filter((end) => end > now);
      if (ends.length === 0) return;
      await this.#moved(Math.max(...ends) - now);
    }
  }

  async #settledElsewhere(): Promise<void> {
    if (await this.#grantors.othersMayGrant()) await sleep(this.#span);
  }

  /** Resolves at the next news of any guard, or after the time. */
  #moved(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#waiting.add(done);
    });
  }

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }

  #forget(): void {
    const now = this.#now();
    for (const holder of this.#holders) {
      if (holder.gone && holder.granted + this.#span <= now) this.#holders.delete(holder);
    }
  }
}
