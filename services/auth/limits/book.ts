/**
 * What one limit has lent to whom: a bucket for each subject of its rate, slots for each subject of
 * its number of calls at once, and the quotas of its subjects.
 *
 * A bucket that is full is as one that was never used, so it is forgotten. If there are too many
 * that are not full, the oldest is forgotten too. Until it would have been full, a new bucket of
 * the limit starts as empty as it was.
 */
import { Budget } from "../../../src/gen/portico/auth/v1/lending.js";
import { parseQuota, parseRate } from "../../../src/limits/limit.js";
import type { RevisedLimit } from "../../../src/limits/limit-set.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { type Asked, Bucket, type Lent, LOAN_MS, type RateTerms } from "./bucket.js";
import { type Deletes, Quotas } from "./quotas.js";
import { Slots } from "./slots.js";

/** What a guard gets of one budget; `lifetime` in milliseconds. */
export interface BookLoan extends Lent {
  readonly lifetime: number;
}

interface Options {
  readonly namespace: string;
  readonly revised: RevisedLimit;
  readonly store: Pick<KeyValueStore, "commit" | "get" | "keys">;
  /**
   * When the limit was created, if this authority has seen it; by the monotonic clock. Nothing was
   * admitted by it before.
   */
  readonly created: number | undefined;
  /** Since when `refused` counts, in milliseconds since 1970. */
  readonly since: number;
}

export class Book {
  readonly #options: Options;
  #revised: RevisedLimit;
  #rate: RateTerms | undefined;
  #quotas: Quotas | undefined;
  readonly #buckets = new Map<string, Bucket>();
  readonly #slots = new Map<string, Slots>();
  /** New buckets start as if they had been emptied so that they are full at this time. */
  #fullAt = Number.NEGATIVE_INFINITY;
  /** Calls that were refused, or would have been by a shadow. */
  refused = 0;
  since: number;

  constructor(options: Options) {
    this.#options = options;
    this.#revised = options.revised;
    this.since = options.since;
    this.#rate = rateOf(options.revised);
    this.#quotas = this.#quotasOf(options.revised);
  }

  /** As in the options. */
  get created(): number | undefined {
    return this.#options.created;
  }

  get revision(): bigint {
    return this.#revised.revision;
  }

  get limit(): RevisedLimit["limit"] {
    return this.#revised.limit;
  }

  /** How many subjects it remembers. */
  get size(): number {
    return this.forgettable + this.#slots.size;
  }

  /** How many of them can be forgotten early: those without slots, which are lent. */
  get forgettable(): number {
    return this.#buckets.size + (this.#quotas?.size ?? 0);
  }

  /**
   * Replaces the limit. @param time in milliseconds since 1970 @param now by the monotonic clock
   */
  change(revised: RevisedLimit, time: number, now: number): void {
    const old = this.limit;
    const before = this.#rate;
    this.#revised = revised;
    this.#rate = rateOf(revised);
    this.refused = 0;
    this.since = time;
    if (this.#rate === undefined || before === undefined || old.per !== this.limit.per) this.#buckets.clear();
    else for (const bucket of this.#buckets.values()) bucket.change(this.#rate, now);
    if (old.per !== this.limit.per) this.#slots.clear();
    for (const slots of this.#slots.values()) slots.change(this.limit.concurrent);
    if (old.quota !== this.limit.quota || old.per !== this.limit.per) this.#quotas = this.#quotasOf(revised);
  }

  /**
   * @param since when a bucket that is not known here began to fill, by the monotonic clock
   * @throws {StoreError} (rejects) if a loan of a quota cannot be written
   */
  lend(
    budget: Budget,
    subject: string,
    asked: Asked,
    { since, now, time }: { readonly since: number; readonly now: number; readonly time: number },
  ): BookLoan | Promise<BookLoan> | undefined {
    switch (budget) {
      case Budget.RATE: {
        const bucket = this.#bucket(subject, since, now);
        return bucket && { ...bucket.lend(asked, now), lifetime: LOAN_MS };
      }
      case Budget.CONCURRENT:
        if (this.limit.concurrent === 0) return undefined;
        return { ...this.#slotsOf(subject).lend(asked, now), lifetime: LOAN_MS };
      case Budget.QUOTA:
        return this.#quotas && this.#lendQuota(this.#quotas, subject, asked, time);
      default:
        return undefined;
    }
  }

  async #lendQuota(quotas: Quotas, subject: string, asked: Asked, time: number): Promise<BookLoan> {
    const loan = await quotas.lend(subject, asked, time);
    // A guard that has kept a loan gets no more until it has used it.
    const isServed = loan.amount > 0 || loan.left > 0 || asked.waiting + asked.soon === 0;
    return { ...loan, retry: isServed ? 0 : Math.ceil(loan.lifetime) };
  }

  /** What is left for a subject. @throws {StoreError} (rejects) */
  async left(subject: string, since: number | undefined, now: number, time: number) {
    const bucket = since === undefined ? undefined : this.#bucket(subject, since, now);
    const slots = since === undefined || this.limit.concurrent === 0 ? undefined : this.#slotsOf(subject);
    return { rate: bucket?.left(now), concurrent: slots?.left(now), quota: await this.#quotas?.left(subject, time) };
  }

  /** A guard's stream has ended. @param ends when its last call has ended */
  gone(guard: string, ends: number): void {
    for (const slots of this.#slots.values()) slots.gone(guard, ends);
  }

  /** Forgets subjects that the authority does not lend any more, and those that used nothing. */
  *forget(isOwn: (subject: string) => boolean, now: number, time: number): Generator<void> {
    this.#quotas?.forget(time);
    for (const [subject, bucket] of this.#buckets) {
      if (!isOwn(subject) || bucket.isFull(now)) this.#buckets.delete(subject);
      yield;
    }
    for (const [subject, slots] of this.#slots) {
      if (!isOwn(subject) || slots.isFree(now)) this.#slots.delete(subject);
      yield;
    }
  }

  /** Forgets the bucket or the quota that was used first, to make room. */
  forgetOldest(now: number): void {
    if (this.#quotas !== undefined && this.#quotas.size > this.#buckets.size) {
      this.#quotas.forgetOldest();
      return;
    }
    const [oldest] = this.#buckets;
    if (oldest === undefined) return;
    this.#buckets.delete(oldest[0]);
    this.#fullAt = Math.max(this.#fullAt, oldest[1].fullAt(now));
  }

  /** Deletes the rows of quotas: see Quotas.deleteRows. @throws {StoreError} (rejects) */
  async deleteRows(before: number | "all", commit: Deletes): Promise<void> {
    await this.#quotas?.deleteRows(before, commit);
  }

  #bucket(subject: string, since: number, now: number): Bucket | undefined {
    const terms = this.#rate;
    if (terms === undefined) return undefined;
    const found = this.#buckets.get(subject);
    if (found !== undefined) return found;
    const level = Math.max(0, now - since) * terms.rate;
    const missing = Math.max(0, this.#fullAt - now) * terms.rate;
    const bucket = new Bucket(terms, Math.max(0, Math.min(level, terms.burst) - missing), now);
    this.#buckets.set(subject, bucket);
    return bucket;
  }

  #slotsOf(subject: string): Slots {
    const found = this.#slots.get(subject) ?? new Slots(this.limit.concurrent);
    this.#slots.set(subject, found);
    return found;
  }

  #quotasOf({ limit }: RevisedLimit): Quotas | undefined {
    if (limit.quota === "") return undefined;
    const { store, namespace } = this.#options;
    return new Quotas({ store, namespace, limit: limit.id, terms: parseQuota(limit.quota) });
  }
}

function rateOf({ limit }: RevisedLimit): RateTerms | undefined {
  if (limit.rate === "") return undefined;
  const { calls, seconds } = parseRate(limit.rate);
  return { rate: calls / (seconds * 1000), burst: Number(limit.burst) };
}
