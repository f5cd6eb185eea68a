/**
 * Claims tell the authorities on a store of each other's leases. An authority that grants leases to guards has written
 * a claim: a row whose key is the claim's id and whose value is how long one of its leases can run, its span. Other
 * authorities read the claims, and so know what to wait for. This file is for stores of one machine, which have one
 * authority at a time; shared-lease-records.ts is for stores that several authorities share.
 *
 * The claim is written once. A full or locked disk therefore stops changes, which must be written, but not leases, for
 * which the claim and the log are only read.
 *
 * The rules:
 *  1. Before each pong, and after its ping has arrived, the granting authority reads its claim, and then the log to its
 *     end (`hold`, then Journal.sync). If the claim is gone, it writes a new one under a new id before it reads the log.
 *     An id is never used twice.
 *  2. A guard counts its lease from when it *sent* the ping. So the lease ends at most a span after the reading.
 *  3. The authority that commits a change reads the claims after the commit (`settled`). It retires each claim of others: it writes
 *     the row `retired/<id>` with the same span, deletes the claim, and waits the span, counted from the deletion. It
 *     deletes the retired row afterwards. A claim that cannot be retired, on a full disk, is waited for all the same:
 *     its span, counted from the reading, and again after the next change.
 *  4. An authority that finds a retired row deletes its claim, too, and waits the row's span, counted from then.
 *  5. An authority that starts retires what it finds. So the first change waits at most for what is left of the span.
 *
 * Why no decision lacks a change, committed at time C, once `settled` has resolved. Take a pong of authority A that
 * does not name it, and the claim that A read for it at time R. A read the log after R and before C, or it would name the
 * change. The ping was sent before R, so the lease ends before R + span, and R < C. At D, after C, authority B reads the
 * claims.
 *  - The claim is there, or its retired row is: B waits the span from D or later, so past R + span.
 *  - Neither is there. The claim was written before R, as rule 1 says, so it was there once, and the retired row was
 *    deleted by an authority that had waited the span after the claim's deletion. That deletion came after R, at which
 *    the claim was there. So R + span is past.
 * Nothing here depends on how long A takes between its steps. Where it is stopped (SIGSTOP) after it has read its claim,
 * and goes on when its claim was retired and the span waited for, it may still send its pong; but the guard counts from
 * its ping, and the lease has ended. Where A is stopped before it reads, it finds the claim gone. Where B is killed
 * between any two steps of rule 3, either the claim or the retired row is there for the next authority. A shorter lease
 * after a restart changes nothing, because each row carries the span of the leases that were granted under it.
 *
 * Two live authorities retire each other's claims again and again: that is safe, but each change waits, so it is said to
 * the operator.
 *
 * A clock's rate may be wrong by a twentieth; leaseSpan adds that. Spans are waited for by the monotonic clock.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { Code, StatusError } from "../../../../src/errors.js";
import type { Collection } from "../../../../src/store/collection.js";

import { coalesced } from "../changelog/coalesced.js";

/** How long a lease may run, by any clock, after the ping it counts from had arrived, in milliseconds. */
export function leaseSpan(leaseMs: number): number {
  return leaseMs + Math.max(50, leaseMs / 20);
}

/** The span of the longest lease that can be set, in milliseconds. */
export const MAX_SPAN = leaseSpan(60_000);
const RETIRED = "retired/";
/** How soon rows that could not be read are read again, in milliseconds. */
const RETRY = 200;

/** What an authority tells others on the store of the leases that it grants, and learns of theirs. */
export interface LeaseRecords {
  /** How many other authorities had a claim at the last reading: those that run, or were killed a moment ago. */
  readonly others: number;
  /** Reads the claims of others. Must come before the first change. */
  open(): Promise<void>;
  /**
   * Must resolve before the log is read for a pong, after the ping has arrived: from then on, other authorities wait for
   * the lease that the pong grants.
   * @throws {StoreError} when the store fails. Then nothing may be granted.
   */
  hold(): Promise<void>;
  /**
   * Resolves when no lease of another authority runs any more whose guard may decide without the revision, which this
   * authority has just committed.
   */
  settled(revision: number): Promise<void>;
  /**
   * The guards of other authorities that do not understand a kind of restrictions, and the authorities that do not, in words. A
   * guard is told of here before it gets its first lease.
   * @throws {StoreError} when the store fails.
   */
  lacking(kind: string): Promise<readonly string[]>;
  /** Nothing may be granted any more. @param left how long our leases may still run, in milliseconds. */
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

/** The claim of this authority, and what it knows of the claims of others. */
export class LocalLeaseRecords implements LeaseRecords {
  readonly #options: Options;
  readonly others = 0;
  /** Of our own leases, in milliseconds. */
  readonly #span: number;
  /** Our claim, while it stands as far as we know. */
  #own: string | undefined;
  #closed = false;
  #warned = false;
  /** When the leases have ended that the newest reading of the claims of others found. */
  #ends = 0;
  /** When the leases under each retired claim have ended, by the claim's id. */
  readonly #retired = new Map<string, number>();
  /** Deletes the rows of those that have ended. */
  #tidying: NodeJS.Timeout | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#span = leaseSpan(options.leaseMs);
  }

  /** Retires what earlier authorities left. Must come before the first change. */
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

  /** Resolves when our claim was there at a moment after the call. Calls that come during a reading share the next one. */
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

  /** Waits for every lease whose pong named the log as it was before the call, so for the revision committed before it. */
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

  /** Reads the claims of others, and retires them. Changes that were written together share a reading. */
  readonly #readOthers = coalesced(async () => {
    this.#ends = await this.#retireOthers();
  });

  /** None: the leases of another authority are waited for. */
  async lacking(): Promise<readonly string[]> {
    return [];
  }

  async withdraw(left: number): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#tidying);
    await this.hold().catch(() => undefined); // One that was under way has ended.
    const own = this.#own;
    if (own === undefined) return;
    const { rows } = this.#options;
    if (left > 0) await rows.create(RETIRED + own, `${Math.ceil(left)}`);
    await rows.delete([own]);
    this.#own = undefined;
  }

  /** Retires the claims of others; gives the moment at which the last of the leases under them has ended. */
  async #retireOthers({ starting = false } = {}): Promise<number> {
    const { rows, now } = this.#options;
    const read = now();
    const found = await rows.after("", Number.MAX_SAFE_INTEGER);
    // A claim and its retired row may both be there: then the later end counts.
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

  /** Gives the moment at which the leases under the claim have ended. */
  async #retire(id: string, span: number, isLeaseRecord: boolean): Promise<number> {
    const { rows, now, log } = this.#options;
    try {
      if (isLeaseRecord) await rows.create(RETIRED + id, `${span}`);
      await rows.delete([id]);
      this.#retired.set(id, now() + span);
    } catch (error) {
      log.warn({ err: error, claim: id }, "a claim could not be retired: the next change waits for its leases again");
    }
    return now() + span;
  }

  /** Deletes retired rows once their leases have ended, so that no later authority waits for them. */
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
      log.debug({ err: error }, "retired claims could not be deleted; the next change will try again");
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

/** How long the leases under any claim may still run, in milliseconds: whoever has made a change waits that long. */
export async function longestSpan(rows: Collection): Promise<number> {
  const found = await rows.after("", Number.MAX_SAFE_INTEGER);
  return Math.max(0, ...found.map(([, value]) => spanOf(value)));
}

/** What a row says of how long leases under it may run, in milliseconds; the longest time where it cannot be read. */
function spanOf(value: string): number {
  return Math.min(Number(value) || MAX_SPAN, MAX_SPAN);
}
