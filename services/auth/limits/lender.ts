/**
 * Lends guards what they may admit of limits. docs/limits.md describes the protocol, and proves
 * that all guards together keep each limit.
 *
 * A request of a guard names the list of lenders and the revision of the limit that the guard has
 * applied. The lender lends only if both are its own, so that no two authorities lend one subject's
 * tokens at once, and no token of a limit is used after the limit has changed.
 */
import type { Logger } from "pino";
import { GATEWAY } from "../../../src/contract/names.js";
import { coversService } from "../../../src/contract/resource.js";
import { Budget, type Loan, type Need } from "../../../src/gen/portico/auth/v1/lending.js";
import type { Change } from "../../../src/gen/portico/auth/v1/policy.js";
import { budgetKey, limitKey } from "../../../src/limits/lenders.js";
import type { RevisedLimit } from "../../../src/limits/limit-set.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import type { Journal, StateListener } from "../log/changelog/journal.js";
import type { State } from "../log/state/state.js";
import { Appointments } from "./appointments.js";
import { Book, type BookLoan } from "./book.js";
import { COUNTED_MS } from "./bucket.js";
import type { Deletes } from "./quotas.js";
import type { Left, LimitUses, RefusedCalls } from "./uses.js";

/** Most subjects that are remembered. docs/scale.md has the memory that they take. */
const MAX_SUBJECTS = 1_000_000;
/** How often subjects are forgotten, in milliseconds, and how many are looked at each time. */
const FORGET_MS = 100;
const LOOKED_AT = 8_000;
/** After how many milliseconds a guard asks again where this authority does not lend yet. */
const RETRY_MS = 50;

interface Options {
  readonly journal: Pick<Journal, "state" | "now" | "follow" | "writeAtEnd">;
  /** Resolves when no guard decides without the revision. */
  readonly settled: (revision: number) => Promise<void>;
  readonly store: Pick<KeyValueStore, "commit" | "get" | "keys">;
  /** Which lender of the list this authority is; empty for the only authority. */
  readonly id: string;
  /** The longest time that a call may be open after its guard is gone, in milliseconds. */
  readonly maxCallMs: number;
  readonly log: Logger;
  /** The monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Most subjects that are remembered; a million if undefined. */
  readonly maxSubjects?: number;
}

/** The guard that asks. */
export interface Borrower {
  /** Its enrolment; undefined for the guard of this process. */
  readonly enrolment: string | undefined;
  /** The only one of this name: begins with the enrolment. */
  readonly guard: string;
}

export class Lender implements StateListener, LimitUses {
  readonly #options: Options;
  readonly #appointments: Appointments;
  readonly #books = new Map<string, Book>();
  readonly #unfollow: () => void;
  readonly #timer: NodeJS.Timeout;
  /** Until then, loans may be used that this authority does not know. */
  #notBefore: number;
  /** How many subjects are remembered. Exact each time after all were looked at. */
  #size = 0;
  #forgetting: Iterator<void> | undefined;
  /** When the rows of earlier periods were deleted last, in milliseconds since 1970. */
  #tidied = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#appointments = new Appointments(options.id);
    // The authority that ran before on this store may have lent until a moment ago.
    this.#notBefore = options.now() + COUNTED_MS;
    this.#load();
    this.#unfollow = options.journal.follow(this);
    this.#timer = setInterval(() => this.#forget(), FORGET_MS).unref();
  }

  get id(): string {
    return this.#options.id;
  }

  /** @throws {StoreError} (rejects) if a loan of a quota cannot be written */
  lend(borrower: Borrower, appointment: bigint, need: Need): Loan | Promise<Loan> {
    const { now: clock, journal } = this.#options;
    const now = clock();
    const key = limitKey(need.namespace, need.limit);
    const book = this.#books.get(key);
    const isCurrent = appointment === BigInt(this.#appointments.revision) && book?.revision === need.revision;
    const isSlot = need.budget === Budget.CONCURRENT;
    const subject = budgetKey(need.namespace, need.limit, need.subject);
    // A new lender learns first which slots of the former one are still taken.
    const since = isCurrent ? this.#since(book, subject, isSlot ? COUNTED_MS : 0) : undefined;
    const waits = since !== undefined && since > now;
    if (book === undefined || since === undefined || (waits && !isSlot) || !maySee(borrower, book)) {
      return { ...NOTHING, retryMs: BigInt(RETRY_MS), other: true };
    }
    if (this.#size >= (this.#options.maxSubjects ?? MAX_SUBJECTS)) this.#makeRoom(now);
    const size = book.size;
    const asked = {
      guard: borrower.guard,
      kept: Number(need.kept),
      returned: Number(need.returned),
      waiting: waits ? 0 : Number(need.waiting),
      soon: waits ? 0 : Number(need.soon),
    };
    const loan = book.lend(need.budget, need.subject, asked, { since, now, time: journal.now });
    this.#size += book.size - size;
    if (loan === undefined || waits) return { ...NOTHING, retryMs: BigInt(RETRY_MS), other: true };
    // After "other", the guard states them again.
    book.refused += Number(need.refused);
    return loan instanceof Promise ? loan.then(loanOf) : loanOf(loan);
  }

  /** The guard's stream has ended. */
  gone({ guard }: Borrower): void {
    const ends = this.#options.now() + this.#options.maxCallMs;
    for (const book of this.#books.values()) book.gone(guard, ends);
  }

  refusedOf(namespace: string, id: string): RefusedCalls {
    return this.#books.get(limitKey(namespace, id)) ?? { refused: 0, since: this.#options.journal.now };
  }

  async left(namespace: string, { limit: { id } }: Pick<RevisedLimit, "limit">, subject: string): Promise<Left> {
    const { now, journal } = this.#options;
    const book = this.#books.get(limitKey(namespace, id));
    if (book === undefined) return {};
    const since = this.#since(book, budgetKey(namespace, id, subject));
    return book.left(subject, since === undefined || since > now() ? undefined : since, now(), journal.now);
  }

  /**
   * Since when a bucket of the limit fills that is not known here, by the monotonic clock; may be
   * later than now. Undefined if this authority does not lend it.
   * @param pause how long after its appointment a new lender waits, in milliseconds
   */
  #since(book: Book, key: string, pause = 0): number | undefined {
    const since = this.#appointments.since(key);
    if (since === undefined) return undefined;
    // Nobody has lent of a limit before it was created.
    return book.created !== undefined && book.created >= since ? FULL : Math.max(since + pause, this.#notBefore);
  }

  close(): void {
    this.#unfollow();
    clearInterval(this.#timer);
  }

  changed(revision: number, changes: readonly Change[]): void {
    for (const { change } of changes) {
      switch (change?.$case) {
        case "limitSet":
          this.#set(change.value.namespace, change.value.limit as RevisedLimit, true);
          break;
        case "limitDeleted":
          this.#delete(limitKey(change.value.namespace, change.value.id));
          break;
        case "namespaceDeleted":
          for (const key of this.#books.keys()) if (key.startsWith(`${change.value.namespace}\n`)) this.#delete(key);
          break;
        case "lenders":
          this.#appoint(revision, change.value.ids);
          break;
      }
    }
  }

  /** The state was loaded again. What has changed since is unknown, so all buckets are empty. */
  replaced(): void {
    this.#notBefore = this.#options.now() + COUNTED_MS;
    this.#books.clear();
    this.#size = 0;
    this.#appointments.reset();
    this.#load();
  }

  #load(): void {
    const { state } = this.#options.journal;
    const { lenders } = state.limits;
    for (const namespace of state.namespaces.keys()) {
      for (const revised of state.limits.of(namespace)) this.#set(namespace, revised, false);
    }
    this.#appoint(Number(lenders.revision), lenders.ids);
  }

  #set(namespace: string, revised: RevisedLimit, isNew: boolean): void {
    const { store, now, journal } = this.#options;
    const key = limitKey(namespace, revised.limit.id);
    const present = this.#books.get(key);
    if (present !== undefined) present.change(revised, journal.now, now());
    else {
      const created = isNew ? now() : undefined;
      this.#books.set(key, new Book({ namespace, revised, store, created, since: journal.now }));
    }
  }

  #delete(key: string): void {
    const book = this.#books.get(key);
    this.#books.delete(key);
    const [namespace = "", id = ""] = key.split("\n");
    // Another authority may have created it again, and have lent since.
    const isGone = ({ limits }: State): boolean => limits.get(namespace, id) === undefined;
    const commit: Deletes = (writes) => this.#options.journal.writeAtEnd(isGone, writes);
    if (book !== undefined) this.#deleteRows(book, "all", commit);
  }

  #appoint(revision: number, ids: readonly string[]): void {
    const { settled, now } = this.#options;
    this.#appointments.change(revision, ids);
    // The only authority has lent all the time.
    if (this.id === "" && ids.length === 0) this.#appointments.settle(revision, FULL);
    settled(revision).then(
      () => this.#appointments.settle(revision, now()),
      (err) => this.#options.log.warn({ err }, "a change of the lenders is not settled: limits refuse until the next"),
    );
  }

  /** A flood of new subjects takes the place of others of its own limit only. */
  #makeRoom(now: number): void {
    let largest: Book | undefined;
    for (const book of this.#books.values()) if (book.forgettable > (largest?.forgettable ?? 0)) largest = book;
    if (largest === undefined) return; // All are slots, which are lent.
    largest.forgetOldest(now);
    this.#size--;
  }

  /** In steps, because there may be a million subjects. */
  #forget(): void {
    this.#forgetting ??= this.#forgetAll();
    for (let count = 0; count < LOOKED_AT; count++) {
      if (!this.#forgetting.next().done) continue;
      this.#forgetting = undefined;
      return;
    }
  }

  *#forgetAll(): Generator<void> {
    const { now, journal, store } = this.#options;
    if (journal.now - this.#tidied > HOUR_MS) {
      this.#tidied = journal.now;
      const commit: Deletes = async (writes) => (await store.commit(writes)).committed;
      for (const book of this.#books.values()) this.#deleteRows(book, journal.now, commit);
    }
    for (const [key, book] of this.#books) {
      const isOwn = (subject: string): boolean => this.#appointments.since(`${key}\n${subject}`) !== undefined;
      yield* book.forget(isOwn, now(), journal.now);
    }
    this.#size = 0;
    for (const book of this.#books.values()) this.#size += book.size;
  }

  #deleteRows(book: Book, before: number | "all", commit: Deletes): void {
    book
      .deleteRows(before, commit)
      .catch((err) => this.#options.log.debug({ err }, "rows of earlier quotas could not be deleted"));
  }
}

const HOUR_MS = 3_600_000;
/** A bucket that fills since then is full. */
const FULL = Number.NEGATIVE_INFINITY;

const NOTHING: Loan = { amount: 0n, lifetimeMs: 0n, retryMs: 0n, left: 0n, other: false };

function loanOf({ amount, lifetime, retry, left }: BookLoan): Loan {
  return {
    amount: BigInt(amount),
    lifetimeMs: BigInt(Math.floor(lifetime)),
    retryMs: BigInt(retry),
    left: BigInt(left),
    other: false,
  };
}

/** A service may borrow only for calls that it may get. */
function maySee({ enrolment }: Borrower, { limit }: Book): boolean {
  return enrolment === undefined || enrolment === GATEWAY || coversService(limit.resource, enrolment);
}
