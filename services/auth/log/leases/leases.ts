/**
 * The leases of the guards that follow this authority: which guards may still decide by an old
 * revision. A pong lets a guard decide for the time of one lease after its ping. So a change is in
 * force everywhere once each guard has applied its revision, or the lease of the guard's last pong
 * before the change has ended. A guard whose stream broke counts until that lease has ended. A
 * guard that closed its side first does not count: it decides nothing more.
 *
 * The guard measures the lease from when it sent the ping. The authority measures it from when it
 * made the pong, which is later. The span adds a margin for clocks that run at different rates.
 * lease-records.ts handles the guards of other authorities.
 *
 * A guard gets its next pong only when it has applied the revision of the last one. So a guard that
 * applies nothing has one lease only, and later changes do not wait for it.
 *
 * A guard that does not understand a restriction in force (src/access/decide/restrictions.ts) gets
 * no lease. If it already had a lease, changes wait until that has ended, because applying the
 * revision has no effect in such a guard.
 */
import type { Logger } from "pino";
import { RESTRICTIONS } from "../../../../src/access/decide/restrictions.js";
import { resourceExhausted } from "../../../../src/errors.js";
import { unavailable } from "../changelog/journal.js";
import { type LeaseRecords, leaseSpan } from "./lease-records.js";

/** Maximum number of guards of other processes at once. */
const MAX_HOLDERS = 1_000;
/** Maximum number of guards with one enrolment token: a stolen token must not use up all places. */
const MAX_HOLDERS_OF_TOKEN = 256;
/** Maximum number of guards that are named to other authorities for a kind of restrictions. */
const MAX_NAMED = 10;

/** Who runs the guard: an enrolled caller, or this process, whose guard is always accepted. */
export type Owner = { readonly enrolment: string | undefined; readonly sha256: string } | "own process";

/** The guard on one stream, or all guards of one owner whose streams broke a moment ago. */
export interface Holder {
  readonly owner: Owner;
  /** The revision that the guard has applied, and the one that its last pong named. */
  applied: number;
  named: number;
  /**
   * When the last pong was made, by the monotonic clock. Without a pong, the guard decides nothing.
   */
  granted: number;
  /**
   * The kinds of restrictions that it does not understand. Initially none: it gets no lease before
   * it has said which it understands.
   */
  lacks: readonly string[];
  /** Sends the guard at once everything that it has not been sent yet. */
  readonly notify: () => void;
}

/** A change that waits for guards. */
interface Waiting {
  readonly revision: number;
  /** The guards that have not applied it. */
  readonly pending: Set<Holder>;
  wake(): void;
}

interface LeasesOptions {
  readonly leaseMs: number;
  readonly leaseRecords: LeaseRecords;
  /** The kinds of the restrictions that are in force. */
  readonly restrictions: () => readonly string[];
  readonly now: () => number;
  readonly log: Logger;
}

/** The guards that follow this authority, and the leases that they were granted. */
export class Leases {
  readonly leaseMs: number;
  readonly #span: number;
  readonly #leaseRecords: LeaseRecords;
  readonly #restrictions: () => readonly string[];
  readonly #now: () => number;
  readonly #log: Logger;
  /** The newest revision that a pong has named: no other history has another one of its number. */
  confirmed = 0;
  readonly #holders = new Set<Holder>();
  /**
   * Guards whose stream broke, merged for each owner, so that reopening streams takes no memory.
   */
  readonly #gone = new Map<string, Holder>();
  readonly #waiting = new Set<Waiting>();

  constructor({ leaseMs, leaseRecords, restrictions, now, log }: LeasesOptions) {
    this.leaseMs = leaseMs;
    this.#span = leaseSpan(leaseMs);
    this.#leaseRecords = leaseRecords;
    this.#restrictions = restrictions;
    this.#now = now;
    this.#log = log;
  }

  /**
   * @param notify called when a change waits for the guard
   * @throws {StatusError} RESOURCE_EXHAUSTED when there are too many guards.
   */
  join(owner: Owner, notify: () => void): Holder {
    if (owner !== "own process") this.#checkQuota(keyOf(owner));
    const granted = Number.NEGATIVE_INFINITY;
    const holder: Holder = { owner, applied: 0, named: 0, granted, lacks: [], notify };
    this.#holders.add(holder);
    return holder;
  }

  /** How many guards follow this authority. */
  get size(): number {
    return this.#holders.size;
  }

  /**
   * Must be awaited before the revision of a pong is read: from then on, other authorities wait for
   * the guard.
   * @throws {StatusError} UNAVAILABLE when the store fails.
   */
  async prepare(): Promise<void> {
    try {
      await this.#leaseRecords.hold();
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** @param restrictions the kinds that the guard says it understands */
  understands(holder: Holder, restrictions: readonly string[]): void {
    holder.lacks = RESTRICTIONS.filter((kind) => !restrictions.includes(kind));
  }

  /** The kinds of restrictions in force that the guard does not understand. If any, no lease. */
  lackedBy({ lacks }: Holder): readonly string[] {
    return lacks.length === 0 ? lacks : this.#restrictions().filter((kind) => lacks.includes(kind));
  }

  /**
   * The guards (by the names of their enrolments) and other authorities that have a lease, or may
   * get one now, and do not understand a kind of restrictions.
   * @throws {StatusError} UNAVAILABLE when the store fails.
   */
  async lacking(kind: string): Promise<string[]> {
    try {
      const elsewhere = await this.#leaseRecords.lacking(kind);
      return [...this.lackingHere(kind), ...elsewhere];
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Like `lacking`, for the guards that follow this authority. Returns at most MAX_NAMED names. */
  lackingHere(kind: string): string[] {
    const may = (holder: Holder): boolean => holder.granted + this.#span > this.#now() || this.mayGrant(holder);
    const lacking = [...this.#all()].filter((holder) => holder.lacks.includes(kind) && may(holder));
    return [...new Set(lacking.map(({ owner }) => nameOf(owner)))].slice(0, MAX_NAMED);
  }

  /** Whether the guard has applied what its last pong named, so that it may get another one. */
  mayGrant({ applied, named }: Holder): boolean {
    return applied >= named;
  }

  /** Records that a pong was made. */
  grant(holder: Holder, revision: number): void {
    holder.granted = this.#now();
    holder.named = revision;
    this.confirmed = Math.max(this.confirmed, revision);
  }

  applied(holder: Holder, revision: number): void {
    holder.applied = Math.max(holder.applied, revision);
    // Checks this guard only: to check all guards for each report of each guard would take long.
    for (const { pending, revision: awaited, wake } of this.#waiting) {
      if (this.#has(holder, awaited) && pending.delete(holder) && pending.size === 0) wake();
    }
  }

  /** The stream has ended. `clean` if the guard had said before that it makes no more decisions. */
  leave(holder: Holder, clean: boolean): void {
    this.#holders.delete(holder);
    this.#forget();
    if (!clean && holder.granted + this.#span > this.#now()) {
      const key = keyOf(holder.owner);
      const { applied, granted, lacks } = this.#gone.get(key) ?? holder;
      const joined = { applied: Math.min(applied, holder.applied), granted: Math.max(granted, holder.granted) };
      this.#gone.set(key, { ...holder, ...joined, lacks: [...new Set([...lacks, ...holder.lacks])] });
    }
    this.#wake();
  }

  /** Resolves when no guard decides without the revision. Must be called after its commit. */
  async settled(revision: number): Promise<void> {
    await Promise.all([this.settledHere(revision), this.#leaseRecords.settled(revision)]);
  }

  /** Like `settled`, for the guards that follow this authority. */
  async settledHere(revision: number): Promise<void> {
    const folded = this.#now();
    // A pong made after `folded` names this revision or a later one, so it extends no lease for an
    // older one.
    const endOf = ({ granted }: Holder): number => Math.min(granted, folded) + this.#span;
    for (;;) {
      const now = this.#now();
      const waitedFor = [...this.#all()].filter((holder) => !this.#has(holder, revision) && endOf(holder) > now);
      if (waitedFor.length === 0) return;
      for (const { notify } of waitedFor) notify();
      await this.#changed(revision, waitedFor, Math.min(...waitedFor.map(endOf)) - now);
      this.#report(
        waitedFor.filter((holder) => this.#holders.has(holder) && endOf(holder) <= this.#now()),
        revision,
      );
    }
  }

  /** Deletes the lease record. If leases still run, leaves a row with the rest of their time. */
  async close(): Promise<void> {
    const last = Math.max(...[...this.#all()].map(({ granted }) => granted + this.#span));
    await this.#leaseRecords.withdraw(last - this.#now());
  }

  /**
   * Logs connected guards that did not apply a change within their lease: each such change waits.
   */
  #report(holders: readonly Holder[], revision: number): void {
    for (const { owner, applied } of holders) {
      if (applied >= revision) continue;
      this.#log.warn(
        { guard: nameOf(owner), revision, applied },
        "a guard did not apply a change within its lease: the change waited",
      );
    }
  }

  /** Whether the guard makes no decision without the revision any more. */
  #has(holder: Holder, revision: number): boolean {
    return holder.applied >= revision && this.lackedBy(holder).length === 0;
  }

  *#all(): Iterable<Holder> {
    yield* this.#holders;
    yield* this.#gone.values();
  }

  #checkQuota(token: string): void {
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

  /** Resolves when the guards have applied a revision, when any guard has left, or after `ms`. */
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

function nameOf(owner: Owner): string {
  return owner === "own process" ? owner : (owner.enrolment ?? "");
}

function keyOf(owner: Owner): string {
  return owner === "own process" ? owner : owner.sha256;
}
