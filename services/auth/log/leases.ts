/**
 * The leases of the guards that follow this authority: which of them may still decide by an old revision. A pong lets a
 * guard decide for the time of a lease after its ping. So a change holds everywhere once every guard has applied its
 * revision, or the lease of its last pong before the change has run out. A guard whose stream broke counts until
 * then, unless it had closed its side before, because then it decides nothing more.
 *
 * The guard measures the lease from when it sent the ping; here it is measured from when the pong was made, which is
 * later. The margin is for clocks that do not run equally fast. Guards of other authorities are known by claims.ts.
 *
 * A guard gets its next pong when it has applied the revision of the last one. So a guard that applies nothing has one
 * lease only, and later changes do not wait for it.
 */
import type { Logger } from "pino";
import { resourceExhausted } from "../../../src/errors.js";
import { type Claims, leaseSpan } from "./claims.js";
import { unavailable } from "./journal.js";

/** Most guards of other processes at once. */
const MAX_HOLDERS = 1_000;
/** Most of them with one enrolment token: a stolen one leaves room for others. */
const MAX_HOLDERS_OF_TOKEN = 256;

/** Whose guard it is: an enrolled caller's, or that of the authority's own process, for which there is always room. */
export type Owner = { readonly enrolment: string | undefined; readonly sha256: string } | "own process";

/** The guard on one stream, or those of one owner whose streams broke a moment ago. */
export interface Holder {
  readonly owner: Owner;
  /** The revision that the guard has applied, and the one that its last pong named. */
  applied: number;
  named: number;
  /** When the last pong was made, by the monotonic clock; a guard that never got one decides nothing. */
  granted: number;
  /** Sends the guard at once what it has not been sent yet. */
  readonly tell: () => void;
}

/** A change that waits for guards. */
interface Waiting {
  readonly revision: number;
  /** Those that have not applied it. */
  readonly pending: Set<Holder>;
  wake(): void;
}

/** The guards that follow this authority, and the leases that they were granted. */
export class Leases {
  readonly leaseMs: number;
  readonly #span: number;
  readonly #claims: Claims;
  readonly #now: () => number;
  readonly #log: Logger;
  readonly #holders = new Set<Holder>();
  /** Guards whose stream broke, joined to one for each owner, so that opening streams again and again takes no room. */
  readonly #gone = new Map<string, Holder>();
  readonly #waiting = new Set<Waiting>();

  constructor({ leaseMs, claims, now, log }: { leaseMs: number; claims: Claims; now: () => number; log: Logger }) {
    this.leaseMs = leaseMs;
    this.#span = leaseSpan(leaseMs);
    this.#claims = claims;
    this.#now = now;
    this.#log = log;
  }

  /**
   * @param tell called when a change waits for the guard
   * @throws {StatusError} RESOURCE_EXHAUSTED when there are too many.
   */
  join(owner: Owner, tell: () => void): Holder {
    if (owner !== "own process") this.#checkRoom(keyOf(owner));
    const holder: Holder = { owner, applied: 0, named: 0, granted: Number.NEGATIVE_INFINITY, tell };
    this.#holders.add(holder);
    return holder;
  }

  /**
   * Must be awaited before the revision of a pong is read: from here on, other authorities wait for the guard.
   * @throws {StatusError} UNAVAILABLE when the store fails.
   */
  async prepare(): Promise<void> {
    try {
      await this.#claims.hold();
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Whether the guard has applied what its last pong named, and so may have another. */
  mayGrant({ applied, named }: Holder): boolean {
    return applied >= named;
  }

  /** The pong is made. */
  grant(holder: Holder, revision: number): void {
    holder.granted = this.#now();
    holder.named = revision;
  }

  applied(holder: Holder, revision: number): void {
    holder.applied = Math.max(holder.applied, revision);
    // Each of many guards says so of each change: going through all guards each time would take long.
    for (const { pending, revision: awaited, wake } of this.#waiting) {
      if (holder.applied >= awaited && pending.delete(holder) && pending.size === 0) wake();
    }
  }

  /** The stream has ended; `clean` when the guard had said that it decides no more. */
  leave(holder: Holder, clean: boolean): void {
    this.#holders.delete(holder);
    this.#forget();
    if (!clean && holder.granted + this.#span > this.#now()) {
      const key = keyOf(holder.owner);
      const { applied, granted } = this.#gone.get(key) ?? holder;
      const joined = { applied: Math.min(applied, holder.applied), granted: Math.max(granted, holder.granted) };
      this.#gone.set(key, { ...holder, ...joined });
    }
    this.#wake();
  }

  /** Resolves when no guard decides without the revision, which must be committed and folded in. */
  async settled(revision: number): Promise<void> {
    await Promise.all([this.settledHere(revision), this.#claims.settled(revision)]);
  }

  /** As `settled`, for the guards that follow this authority. */
  async settledHere(revision: number): Promise<void> {
    const folded = this.#now();
    // A pong made after that names this revision or a later one, so it extends no lease for an older one.
    const endOf = ({ granted }: Holder): number => Math.min(granted, folded) + this.#span;
    for (;;) {
      const now = this.#now();
      const waitedFor = [...this.#all()].filter((holder) => holder.applied < revision && endOf(holder) > now);
      if (waitedFor.length === 0) return;
      for (const { tell } of waitedFor) tell();
      await this.#changed(revision, waitedFor, Math.min(...waitedFor.map(endOf)) - now);
      this.#report(
        waitedFor.filter((holder) => this.#holders.has(holder) && endOf(holder) <= this.#now()),
        revision,
      );
    }
  }

  /** Deletes the claim from the store; where leases still run, leaves a row with the rest of their time. */
  async close(): Promise<void> {
    const last = Math.max(...[...this.#all()].map(({ granted }) => granted + this.#span));
    await this.#claims.withdraw(last - this.#now());
  }

  /** Names guards that are connected and did not apply a change within their lease: each such change waits for them. */
  #report(holders: readonly Holder[], revision: number): void {
    for (const { owner, applied } of holders) {
      if (applied >= revision) continue;
      const guard = owner === "own process" ? owner : owner.enrolment;
      this.#log.warn(
        { guard, revision, applied },
        "a guard did not apply a change within its lease: the change waited",
      );
    }
  }

  *#all(): Iterable<Holder> {
    yield* this.#holders;
    yield* this.#gone.values();
  }

  #checkRoom(token: string): void {
    const others = [...this.#holders].filter(({ owner }) => owner !== "own process");
    if (others.length >= MAX_HOLDERS) {
      const message = `Too many guards at once: an authority has at most ${MAX_HOLDERS}; add another authority`;
      throw resourceExhausted(message);
    }
    if (others.filter(({ owner }) => keyOf(owner) === token).length >= MAX_HOLDERS_OF_TOKEN) {
      const message = `Too many guards with one enrolment token: at most ${MAX_HOLDERS_OF_TOKEN}; create another token`;
      throw resourceExhausted(message);
    }
  }

  /** Resolves when the guards have applied a revision, when any guard has left, or after the time. */
  #changed(revision: number, guards: readonly Holder[], ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
        resolve();
      };
      const waiting: Waiting = { revision, pending: new Set(guards), wake };
      const timer = setTimeout(wake, ms);
      this.#waiting.add(waiting);
    });
  }

  #wake(): void {
    for (const { wake } of [...this.#waiting]) wake();
  }

  #forget(): void {
    const now = this.#now();
    for (const [key, { granted }] of this.#gone) if (granted + this.#span <= now) this.#gone.delete(key);
  }
}

function keyOf(owner: Owner): string {
  return owner === "own process" ? owner : owner.sha256;
}
