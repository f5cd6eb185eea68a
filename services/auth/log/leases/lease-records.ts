/**
 * Lease records show the authorities on a store each other's leases. Before an authority grants
 * leases to guards, it writes a lease record: a row whose key is the record's ID, and whose value
 * is the maximum time that one of its leases can run, its span. Other authorities read the lease
 * records to know how long to wait. This file is for stores on one machine, which one authority
 * uses at a time; shared-lease-records.ts is for stores that several authorities share.
 *
 * The lease record is written once. So a full or locked disk stops changes, which must be written,
 * but not leases: for a lease, the lease record and the log are only read.
 *
 * The rules:
 *  1. Before each pong, and after its ping has arrived, the granting authority reads its lease
 *     record (`hold`), and then reads the log to its end (Journal.sync). If the record is gone, it
 *     writes a new one under a new ID before it reads the log. An ID is never used twice.
 *  2. A guard counts its lease from when it *sent* the ping. So the lease ends at most one span
 *     after the lease record was read.
 *  3. The authority that commits a change reads the lease records after the commit (`settled`). It
 *     retires each record of another authority: it writes the row `retired/<id>` with the same
 *     span, deletes the record, waits one span from the deletion, and then deletes the retired row.
 *     If a record cannot be retired because the disk is full, the authority waits one span from the
 *     reading, and again after the next change.
 *  4. An authority that finds a retired row also deletes the lease record of that ID, and waits the
 *     row's span, counted from then.
 *  5. An authority that starts retires all records that it finds. So its first change waits at most
 *     for the rest of the span.
 *
 * The guarantee: once `settled` has resolved for a change committed at time C, no guard decides
 * without the change. Proof: take a pong of authority A that does not name the change. Let R be the
 * time at which A read its lease record for this pong. A read the log after R and before C, because
 * otherwise the pong would name the change. So R < C. The guard sent the ping before R, so the
 * lease ends before R + span. At time D, after C, authority B reads the lease records.
 *  - B finds the lease record or its retired row. Then it waits one span from D or later, so until
 *    after R + span.
 *  - B finds neither. By rule 1 the lease record was written before R, so it existed. Its retired
 *    row was deleted by an authority that had waited one span after the record's deletion. The
 *    record still existed at R, so it was deleted after R. So R + span has passed.
 * The proof does not depend on how long A takes between its steps. Suppose that A is stopped
 * (SIGSTOP) after it has read its lease record, and continues when the record is retired and the
 * span has passed. It may still send its pong, but the guard counts from its ping, so the lease has
 * ended. If A is stopped before it reads, it finds the record gone. If B is killed between any two
 * steps of rule 3, the lease record or the retired row is there for the next authority. A shorter
 * lease after a restart changes nothing, because each row has the span of the leases that were
 * granted under it.
 *
 * Two running authorities retire each other's lease records again and again. That is safe, but each
 * change waits, so the log warns the operator.
 *
 * The rate of a clock may be wrong by 5%; leaseSpan adds that. Spans are measured with the
 * monotonic clock.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { Code, StatusError } from "../../../../src/errors.js";
import type { Collection } from "../../../../src/store/collection.js";

import { coalesced } from "../changelog/coalesced.js";

/** Maximum time that a lease runs, by any clock, after its ping has arrived, in milliseconds. */
export function leaseSpan(leaseMs: number): number {
  return leaseMs + Math.max(50, leaseMs / 20);
}

/** The span of the longest lease that can be configured, in milliseconds. */
export const MAX_SPAN = leaseSpan(60_000);
const RETIRED = "retired/";
/** Delay before rows that could not be read are read again, in milliseconds. */
const RETRY = 200;

/** How an authority reports its own leases to others on the store, and waits for theirs. */
export interface LeaseRecords {
  /**
   * Number of other authorities with a lease record at the last reading: running, or just killed.
   */
  readonly others: number;
  /**
   * The IDs of the other authorities that lend (services/auth/limits/lender-list.ts); undefined
   * while this one has no lease record, and on a store that one authority uses at a time.
   */
  lenders(): ReadonlySet<string> | undefined;
  /** Reads the lease records of others. Must be called before the first change. */
  open(): Promise<void>;
  /**
   * Must resolve after a ping has arrived and before the log is read for its pong. From then on,
   * other authorities wait for the lease that the pong grants.
   * @throws {StoreError} when the store fails. Then no lease may be granted.
   */
  hold(): Promise<void>;
  /**
   * Resolves when no lease of another authority allows its guard to decide without the revision.
   * This authority must have just committed the revision.
   */
  settled(revision: number): Promise<void>;
  /**
   * The guards of other authorities, and the authorities, that do not understand a kind of
   * restrictions; in words. A guard is listed here before it gets its first lease.
   * @throws {StoreError} when the store fails.
   */
  lacking(kind: string): Promise<readonly string[]>;
  /**
   * Ends the granting of leases.
   * @param left how long our leases may still run, in milliseconds
   */
  withdraw(left: number): Promise<void>;
}

interface Options {
  readonly rows: Collection;
  /** The store's name, for messages. */
  readonly store: string;
  readonly log: Logger;
  /** Milliseconds by the monotonic clock. */
  readonly now: () => number;
  readonly leaseMs: number;
}

/** The lease record of this authority, and what it knows about the records of others. */
export class LocalLeaseRecords implements LeaseRecords {
  readonly #options: Options;
  readonly others = 0;
  readonly lenders = (): undefined => undefined;
  /** Span of our own leases, in milliseconds. */
  readonly #span: number;
  /** ID of our lease record, unless we know that it is gone. */
  #own: string | undefined;
  #closed = false;
  #warned = false;
  /** When all leases under the lease records of the newest reading have ended. */
  #ends = 0;
  /** When the leases under each retired lease record have ended, by the record's ID. */
  readonly #retired = new Map<string, number>();
  /** Deletes the retired rows whose leases have ended. */
  #tidying: NodeJS.Timeout | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#span = leaseSpan(options.leaseMs);
  }

  /** Retires the lease records of earlier authorities. Must be called before the first change. */
  async open(): Promise<void> {
    try {
      await this.#retireOthers({ starting: true });
    } catch (error) {
      this.#options.log.warn(
        { err: error },
        "the claims of earlier authorities could not be read; a change will try again",
      );
    }
  }

  /**
   * Resolves when our lease record existed at a moment after the call. Calls made during a reading
   * share the next one.
   */
  readonly hold = coalesced(async () => {
    if (this.#closed) throw new StatusError(Code.UNAVAILABLE, "The authority is shutting down");
    const { rows } = this.#options;
    const keys = await rows.keys();
    const others = keys.filter((key) => key !== this.#own && !key.startsWith(RETIRED) && !this.#retired.has(key));
    if (this.#own !== undefined) {
      if (!keys.includes(this.#own) || others.length > 0) this.#warn();
      if (keys.includes(this.#own)) return;
      this.#own = undefined;
    }
    const id = randomUUID();
    await rows.create(id, `${this.#span}`);
    this.#own = id;
  });

  /** Waits for every lease whose pong did not name the last commit. */
  async settled(): Promise<void> {
    const { now, log } = this.#options;
    const latest = now() + MAX_SPAN;
    for (let failures = 0; now() < latest; failures++) {
      try {
        await this.#readOthers();
        if (this.#ends > now()) await sleep(this.#ends - now() + 1);
        return;
      } catch (error) {
        const level = failures === 0 ? "error" : "debug";
        log[level]({ err: error }, "cannot read whose leases may run; a change waits until that is known");
        await sleep(RETRY);
      }
    }
  }

  /** Retires the lease records of others. Changes that were written together share a reading. */
  readonly #readOthers = coalesced(async () => {
    this.#ends = await this.#retireOthers();
  });

  /** Always empty: a change waits until all leases of other authorities have ended. */
  async lacking(): Promise<readonly string[]> {
    return [];
  }

  async withdraw(left: number): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#tidying);
    await this.hold().catch(() => undefined); // Wait for a call that is still running.
    const own = this.#own;
    if (own === undefined) return;
    const { rows } = this.#options;
    if (left > 0) await rows.create(RETIRED + own, `${Math.ceil(left)}`);
    await rows.delete([own]);
    this.#own = undefined;
  }

  /** Retires the lease records of others. Returns when the last lease under them has ended. */
  async #retireOthers({ starting = false } = {}): Promise<number> {
    const { rows, now } = this.#options;
    const read = now();
    const found = await rows.after("", Number.MAX_SAFE_INTEGER);
    // A lease record and its retired row may both exist. Then the later end counts.
    const ends = [read];
    for (const [key, value] of found) {
      if (key === this.#own) continue;
      const span = spanOf(value);
      const id = key.startsWith(RETIRED) ? key.slice(RETIRED.length) : key;
      const isLeaseRecord = key === id;
      if (isLeaseRecord && !starting) this.#warn();
      const known = this.#retired.get(id);
      if (!isLeaseRecord && known !== undefined) ends.push(known);
      else ends.push(await this.#retire(id, span, isLeaseRecord));
    }
    this.#tidyLater();
    return Math.max(...ends);
  }

  /** Returns when the leases under the lease record have ended. */
  async #retire(id: string, span: number, isLeaseRecord: boolean): Promise<number> {
    const { rows, now, log } = this.#options;
    try {
      if (isLeaseRecord) await rows.create(RETIRED + id, `${span}`);
      await rows.delete([id]);
      this.#retired.set(id, now() + span);
    } catch (error) {
      log.warn(
        { err: error, claim: id },
        "a lease record could not be retired: the next change waits for its leases again",
      );
    }
    return now() + span;
  }

  /**
   * Deletes retired rows once their leases have ended, so that no later authority waits for them.
   */
  #tidyLater(): void {
    if (this.#closed || this.#retired.size === 0) return;
    const next = Math.min(...this.#retired.values());
    clearTimeout(this.#tidying);
    this.#tidying = setTimeout(() => void this.#tidy(), Math.max(next - this.#options.now(), 0) + RETRY).unref();
  }

  async #tidy(): Promise<void> {
    const { rows, now, log } = this.#options;
    const ended = [...this.#retired].filter(([, end]) => end <= now()).map(([id]) => id);
    try {
      await rows.delete(ended.map((id) => RETIRED + id));
      for (const id of ended) this.#retired.delete(id);
      this.#tidyLater();
    } catch (error) {
      log.debug({ err: error }, "retired lease records could not be deleted; the next change will try again");
    }
  }

  #warn(): void {
    if (this.#warned) return;
    this.#warned = true;
    const { log, store } = this.#options;
    log.warn(
      `another authority uses store ${store} too: each change that takes access away waits until the other's leases ` +
        "have run out. Stop one of the two, or give it a data folder of its own (PORTICO_DATA, PORTICO_STORE)",
    );
  }
}

/** Maximum time that leases under any lease record may still run, in milliseconds. */
export async function longestSpan(rows: Collection): Promise<number> {
  const found = await rows.after("", Number.MAX_SAFE_INTEGER);
  return Math.max(0, ...found.map(([, value]) => spanOf(value)));
}

/** Maximum time that leases under a row may run, in milliseconds; MAX_SPAN if it is unreadable. */
function spanOf(value: string): number {
  return Math.min(Number(value) || MAX_SPAN, MAX_SPAN);
}
