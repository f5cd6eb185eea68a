/**
 * The quotas of a limit: how many calls of each subject were lent in the current day or month.
 *
 * The number is in the store, and a loan is on disk before it is lent. So a quota is never
 * exceeded, whoever is killed. A loan is at most a hundredth of what is left, so the death of a
 * guard wastes at most that. Guards may use a loan until the end of the day or month.
 *
 * The rows, in the collection `quotas`: `<namespace>/<limit>/<period>/<subject>`, with the number.
 * An increment with a maximum is atomic, so several authorities may lend from one row.
 */
import type { KeyValueStore, StoredWrite } from "../../../src/store/store.js";
import type { Asked } from "./bucket.js";

export type Period = "day" | "month";

/** The numbers of a quota. */
export interface QuotaTerms {
  readonly calls: number;
  readonly period: Period;
}

/** The largest part of what is left that one loan may have. */
const PART = 100;
/** How often a loan is tried when other authorities lend from the row, too. */
const ATTEMPTS = 5;

/** What is lent of one subject's quota, as far as this authority knows. */
interface Known {
  readonly period: string;
  used: number;
  /** By guard, since this authority runs. */
  readonly lent: Map<string, number>;
  /** While `used` is being read. */
  reading: Promise<void> | undefined;
}

export interface QuotaLoan {
  readonly amount: number;
  readonly left: number;
  /** Until the day or month ends, in milliseconds. */
  readonly lifetime: number;
}

/** Makes the writes that delete rows. Resolves to whether they were made. */
export type Deletes = (writes: readonly StoredWrite[]) => Promise<boolean>;

interface Options {
  readonly store: Pick<KeyValueStore, "commit" | "get" | "keys">;
  readonly terms: QuotaTerms;
  readonly namespace: string;
  readonly limit: string;
}

export class Quotas {
  readonly #store: Options["store"];
  readonly #prefix: string;
  readonly #terms: QuotaTerms;
  readonly #known = new Map<string, Known>();

  constructor({ store, terms, namespace, limit }: Options) {
    this.#store = store;
    this.#terms = terms;
    this.#prefix = `quotas/${namespace}/${limit}/`;
  }

  /**
   * @param time the authority's time, in milliseconds since 1970
   * @throws {StoreError} (rejects) if the loan cannot be written
   */
  async lend(subject: string, asked: Asked, time: number): Promise<QuotaLoan> {
    const known = await this.#find(subject, time);
    const before = known.lent.get(asked.guard) ?? 0;
    // What was lent on an earlier day, or by another authority, is not known here.
    const returned = Math.min(asked.returned, Math.max(0, before - asked.kept));
    // At once, so that a request that is served meanwhile cannot return the same calls again.
    known.lent.set(asked.guard, before - returned);
    const wanted = asked.waiting + asked.soon;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const left = Math.max(0, this.#terms.calls - known.used + returned);
      // What the guard has kept would be wasted with it.
      const most = Math.max(1, Math.floor(left / PART)) - asked.kept;
      const amount = Math.max(0, Math.min(wanted, left, most));
      if (amount === returned || (await this.#add(known, subject, amount - returned))) {
        known.lent.set(asked.guard, asked.kept + amount);
        return { amount, left: left - amount, lifetime: endOf(time, this.#terms.period) - time };
      }
      known.used = await this.#read(known.period, subject);
    }
    return { amount: 0, left: 0, lifetime: endOf(time, this.#terms.period) - time };
  }

  /** How many subjects it remembers. */
  get size(): number {
    return this.#known.size;
  }

  /**
   * Forgets the subject that was lent to first, to make room. Its number is in the store. What its
   * guards give back afterwards stays used: at most a hundredth of what was left, for each guard.
   */
  forgetOldest(): void {
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  /** What is left for a subject. @throws {StoreError} (rejects) */
  async left(subject: string, time: number): Promise<number> {
    return Math.max(0, this.#terms.calls - (await this.#read(periodOf(time, this.#terms.period), subject)));
  }

  /** Forgets what is not needed to lend: the subjects of earlier periods. */
  forget(time: number): void {
    const period = periodOf(time, this.#terms.period);
    for (const [subject, known] of this.#known) if (known.period !== period) this.#known.delete(subject);
  }

  /**
   * Deletes the rows of earlier periods, or all.
   * @param commit makes the writes; false where no more may be deleted
   * @throws {StoreError} (rejects)
   */
  async deleteRows(before: number | "all", commit: Deletes): Promise<void> {
    const keys = await this.#store.keys(this.#prefix, `${this.#prefix.slice(0, -1)}0`);
    const period = before === "all" ? undefined : periodOf(before, this.#terms.period);
    const old = keys.filter((key) => period === undefined || key.slice(this.#prefix.length).split("/")[0]! < period);
    for (let at = 0; at < old.length; at += MAX_DELETED) {
      const writes = old.slice(at, at + MAX_DELETED).map((key): StoredWrite => ({ kind: "delete", key }));
      if (!(await commit(writes))) return;
    }
  }

  /** The subject counts in `size` at once, not only when its number is read. */
  async #find(subject: string, time: number): Promise<Known> {
    const period = periodOf(time, this.#terms.period);
    const known = this.#known.get(subject);
    if (known?.period === period) {
      await known.reading;
      return known;
    }
    const found: Known = { period, used: 0, lent: new Map(), reading: undefined };
    this.#known.set(subject, found);
    found.reading = this.#readInto(found, subject);
    await found.reading;
    return found;
  }

  async #readInto(known: Known, subject: string): Promise<void> {
    try {
      known.used = await this.#read(known.period, subject);
      known.reading = undefined;
    } catch (error) {
      if (this.#known.get(subject) === known) this.#known.delete(subject);
      throw error;
    }
  }

  async #read(period: string, subject: string): Promise<number> {
    const [entry] = await this.#store.get([this.#key(period, subject)]);
    return Number(entry?.value ?? 0);
  }

  /** @returns false if the number would exceed the quota */
  async #add(known: Known, subject: string, by: number): Promise<boolean> {
    const max = by > 0 ? this.#terms.calls : Number.MAX_SAFE_INTEGER;
    const key = this.#key(known.period, subject);
    const result = await this.#store.commit([{ kind: "increment", key, by, min: 0, max, expires: undefined }]);
    if (!result.committed) return false;
    known.used = Number(result.changes[0]?.after ?? 0);
    return true;
  }

  #key(period: string, subject: string): string {
    return `${this.#prefix}${period}/${subject}`;
  }
}

const MAX_DELETED = 500;

/** `2026-11-28` or `2026-11`, in UTC. */
function periodOf(time: number, period: Period): string {
  return new Date(time).toISOString().slice(0, period === "day" ? 10 : 7);
}

/** When the day or month ends, in milliseconds since 1970. */
export function endOf(time: number, period: Period): number {
  const date = new Date(time);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  return period === "day" ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1);
}
