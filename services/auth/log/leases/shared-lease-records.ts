/**
 * Lease records on a store that several authorities share (KeyValueStore.mayBeStale). Each
 * authority accepts changes and serves guards. A change is acknowledged when no guard of any
 * authority decides without it. To read is not enough here, because a database server that was
 * replaced may still respond. So the authority renews its lease record by a write before each pong,
 * and reports the progress of its guards by writes.
 *
 * The rows, in the collection `grantors`:
 *     <id>           <span> <count> <time> <wall> <about>  the lease record of one run of an
 *                                                          authority; a renewal increases <count>
 *     applied/<id>   <revision> <checksum>                 the report: the revision that all its
 *                                                          guards have applied; a crash may lose it
 *
 * <time> is the authority's time. <wall> is the clock of its machine, with which the others compare
 * their clocks (clock.ts). <about> is JSON: the authority's name, its ID in the list of lenders
 * (services/auth/limits/lender-list.ts) and, for each kind of restrictions that it knows, the
 * guards that do not understand it (src/access/decide/restrictions.ts). A guard's first pong comes
 * after a renewal that began once the guard was known.
 *
 * The rules:
 *  1. After a ping has arrived, the granting authority renews its lease record (`hold`). Then it
 *     reads the log to its end (Journal.sync). Then it makes the pong, without waiting for anything
 *     in between. Pings that arrive during a renewal share the next one. If the record is gone, the
 *     authority writes a new one under a new ID. An ID is never used twice.
 *  2. A guard counts its lease from when it *sent* the ping. So the lease ends at most one span
 *     after the renewal began.
 *  3. The authority that commits a change reads the lease records after the commit (`settled`). For
 *     each record of another authority, it waits until one of these is true:
 *      a) That authority has reported the revision or a later one, by the checksum of an entry that
 *         this authority has applied to its state.
 *      b) A later reading finds the record gone.
 *      c) The record's span has passed since this authority first read this text of the record,
 *         counted from the end of that reading. Later renewals do not extend the wait.
 *  4. An authority reports a revision when each of its guards has applied it, or can have no lease
 *     that was granted before the authority applied it to its state (reports.ts).
 *  5. If a lease record's text stays the same for its span, its authority is dead or cut off. Any
 *     other authority then deletes the record, but only if its text is still the same at that
 *     moment (Collection.deleteIf).
 *  6. An authority that stops deletes its lease record, or sets its span to the rest of its leases.
 *
 * The guarantee: once `settled` has resolved, no guard decides without the change. Proof: take a
 * pong of authority A that does not name the change. Let W be the renewal before the pong, and R
 * the reading of the log after W, which did not find the change. Let C be the commit at authority
 * B, and D the reading of the lease records after C.
 *  - D found W, or a later text of that record. Suppose that it did not, although the record was
 *    never deleted. If the same server responded to R and D, the later reading has all that the
 *    earlier one had. But R has W, which resolved before R, and not C; and D has C and not W. If a
 *    server and its replacement responded to R and D, the newer server has all that had resolved at
 *    the older one. So D has W, or R has C. The store promises that the server that responds to R
 *    has W, and that the server that responds to D has C.
 *  - The ping arrived before W began, so before the end of the reading that first found that text.
 *    So (c) waits long enough. If an earlier reading had already found the text of D, there was no
 *    renewal in between.
 *  - If the record was deleted before D, its leases had ended (5, 6): a renewal before the deletion
 *    would have changed the text, and a later one would have used another ID.
 *  - (a): A had applied the change when it reported. So later pongs name it, and the guards with
 *    earlier pongs had applied it or had no lease. The checksum shows that A's history is the one
 *    with the change. Without it, an authority that followed a server which lost its last entries
 *    in a failover could report another change under the same revision.
 * The proof does not depend on how long A takes between its steps. If A is stopped (SIGSTOP)
 * between W and its pong, and continues when its record is deleted, the guard still counts from its
 * ping, and the lease has ended. The store's notifications (KeyValueStore.follow) only shorten the
 * waits.
 *
 * The rate of a clock may be wrong by 5%; leaseSpan adds that. Spans are measured with the
 * monotonic clock.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { Code, StatusError } from "../../../../src/errors.js";
import type { Collection } from "../../../../src/store/collection.js";
import type { KeyValueStore } from "../../../../src/store/store.js";

import { coalesced } from "../changelog/coalesced.js";
import type { Journal } from "../changelog/journal.js";
import { News } from "../news.js";
import type { AuthorityClock } from "../time/clock.js";
import { type LeaseRecords, leaseSpan, MAX_SPAN } from "./lease-records.js";

const APPLIED = "applied/";
const RECORD = /^(\d+(?:\.\d+)?) \d+ (\d+) (\d+) (.*)$/;
/** Maximum number of renewals in the time of a lease. A pong waits for the next renewal. */
const RENEWALS_A_LEASE = 100;
/** How often lease records are read without a change, in the time of a lease. */
const READINGS_A_LEASE = 5;
/** Minimum and maximum wait for a notification before the rows are read again, in milliseconds. */
const MIN_PAUSE = 10;
const MAX_PAUSE = 100;

interface Options {
  readonly store: Pick<KeyValueStore, "follow" | "time">;
  /** The collection `grantors`. */
  readonly rows: Collection;
  readonly journal: Pick<Journal, "state" | "has" | "sync">;
  readonly clock: Pick<AuthorityClock, "now" | "wall" | "atLeast" | "compare">;
  /** Name of this authority in the logs of others. */
  readonly name: string;
  /** Its ID in the list of lenders; undefined for one that does not lend. */
  readonly lender?: string | undefined;
  readonly log: Logger;
  /** Milliseconds by the monotonic clock. */
  readonly now: () => number;
  readonly leaseMs: number;
  /**
   * For each kind of restrictions that this authority knows: its guards that do not understand it.
   */
  readonly lacking: () => Lacking;
}

type Lacking = Readonly<Record<string, readonly string[]>>;

/** What a lease record says about its authority. */
interface About {
  readonly name: string;
  /** Undefined for an authority of a version without limits of calls. */
  readonly lender?: string | undefined;
  readonly lacking: Lacking;
}

/** The lease record of another authority, as it was read. */
interface LeaseRecord extends About {
  readonly text: string;
  readonly span: number;
  /** The clock of that authority's machine at the renewal, in milliseconds since 1970. */
  readonly wall: number;
  /** When the reading that first found this text had ended, by the monotonic clock. */
  readonly since: number;
}

/** Reports leases to the other authorities on a shared store, and waits for their leases. */
export class SharedLeaseRecords implements LeaseRecords {
  readonly #options: Options;
  readonly #rows: Collection;
  /** Span of our own leases, in milliseconds. */
  readonly #span: number;
  /** Our lease record, unless we know that it is gone, and how often it was written. */
  #own: { readonly id: string; count: number } | undefined;
  #closed = false;
  /** When our lease record was last renewed, and the rows last read, by the monotonic clock. */
  #renewed = Number.NEGATIVE_INFINITY;
  #read = Number.NEGATIVE_INFINITY;
  /** Our newest report. */
  #report: string | undefined;
  /**
   * The store's clock in milliseconds since 1970, and when it was asked, by the monotonic clock.
   */
  #storeTime: { readonly time: number | undefined; readonly asked: number } | undefined;
  #leaseRecords = new Map<string, LeaseRecord>();
  #reports = new Map<string, string>();
  /** Authorities that the log has named because a change waited for their leases to the end. */
  readonly #late = new Set<string>();
  readonly #news = new News();
  /** Number of notifications that rows have changed. */
  #hints = 0;
  readonly #unfollow: () => void;

  constructor(options: Options) {
    this.#options = options;
    this.#rows = options.rows;
    this.#span = leaseSpan(options.leaseMs);
    this.#unfollow = options.store.follow("grantors", () => this.#wake());
  }

  get others(): number {
    return this.#leaseRecords.size;
  }

  lenders(): ReadonlySet<string> | undefined {
    if (this.#own === undefined) return undefined;
    return new Set([...this.#leaseRecords.values()].flatMap(({ lender = [] }) => lender));
  }

  /**
   * Reads the lease records and clocks of others, so that the first change waits less.
   * @throws {StoreError}
   */
  async open(): Promise<void> {
    await this.#look();
  }

  readonly hold = coalesced(
    () => this.#renew(),
    () => this.#pace(),
  );

  async settled(revision: number): Promise<void> {
    const { now, log } = this.#options;
    const latest = now() + MAX_SPAN;
    /** For each authority whose guards may lack the revision: when its leases have ended. */
    let ends: Map<string, number> | undefined;
    let failed = false;
    for (let pause = MIN_PAUSE; now() < latest; pause = Math.min(2 * pause, MAX_PAUSE)) {
      const hints = this.#hints;
      try {
        await this.#look();
        ends ??= new Map([...this.#leaseRecords].map(([id, { since, span }]) => [id, since + span]));
      } catch (error) {
        if (!failed) log.error({ err: error }, "cannot read whose leases may run; a change waits until that is known");
        failed = true;
      }
      if (ends !== undefined) this.#dropSettled(ends, revision);
      if (ends?.size === 0) return;
      // A notification during the reading may be for a row that had been read before.
      if (this.#hints === hints)
        await this.#news.next(Math.min(pause, ...[...(ends?.values() ?? [])].map((end) => end - now() + 1)));
    }
  }

  /**
   * Reports to the others that no guard of this authority decides without the revision.
   * @throws {StoreError} when the report cannot be written.
   */
  async report(revision: number, checksum: string): Promise<void> {
    this.#report = `${revision} ${checksum}`;
    await this.#writeReport();
  }

  async lacking(kind: string): Promise<readonly string[]> {
    await this.#look();
    return [...this.#leaseRecords.values()].flatMap(({ name, lacking }) => {
      const guards = Object.hasOwn(lacking, kind) ? lacking[kind] : undefined;
      return guards?.map((guard) => `${guard} at the authority ${name}`) ?? `the authority ${name}`;
    });
  }

  async withdraw(left: number): Promise<void> {
    this.#closed = true;
    this.#unfollow();
    await this.hold().catch(() => undefined); // Wait for a call that is still running.
    const own = this.#own;
    if (own === undefined) return;
    if (left > 0) await this.#rows.replace(own.id, this.#textOf(own, Math.ceil(left)));
    else await this.#rows.delete([own.id, APPLIED + own.id]);
    this.#own = undefined;
  }

  async #pace(): Promise<void> {
    const next = this.#renewed + this.#options.leaseMs / RENEWALS_A_LEASE;
    if (!this.#closed && next > this.#options.now()) await sleep(next - this.#options.now());
  }

  async #renew(): Promise<void> {
    if (this.#closed) throw new StatusError(Code.UNAVAILABLE, "The authority is shutting down");
    this.#renewed = this.#options.now();
    if (this.#own === undefined || !(await this.#rows.replace(this.#own.id, this.#textOf(this.#own)))) {
      // Set before the write: a write that fails may have been made all the same.
      this.#own = { id: randomUUID(), count: 0 };
      if (!(await this.#rows.create(this.#own.id, this.#textOf(this.#own)))) throw new Error("an id was used twice");
      await this.#writeReport();
    }
    // In the background. Finds dead authorities, and the time of authorities whose clocks are
    // ahead.
    if (this.#read + this.#options.leaseMs / READINGS_A_LEASE < this.#renewed) void this.#look().catch(() => undefined);
  }

  #textOf(own: { count: number }, span = this.#span): string {
    own.count++;
    const { clock, name, lender, lacking } = this.#options;
    const about: About = { name, lender, lacking: lacking() };
    return `${span} ${own.count} ${Math.floor(clock.now())} ${Math.floor(clock.wall)} ${JSON.stringify(about)}`;
  }

  async #writeReport(): Promise<void> {
    if (this.#own === undefined || this.#report === undefined) return;
    const key = APPLIED + this.#own.id;
    if (await this.#rows.replace(key, this.#report, { durable: false })) return;
    await this.#rows.create(key, this.#report);
  }

  /** Reads the rows. Calls made during a reading share the next one. */
  readonly #look = coalesced(async () => {
    const { now, journal, clock } = this.#options;
    const [found] = await Promise.all([this.#rows.after("", Number.MAX_SAFE_INTEGER), this.#askTime()]);
    const ended = now();
    const leaseRecords = new Map<string, LeaseRecord>();
    const reports = new Map<string, string>();
    for (const [key, text] of found) {
      if (key.startsWith(APPLIED)) reports.set(key.slice(APPLIED.length), text);
      else if (key !== this.#own?.id) leaseRecords.set(key, this.#recordOf(key, text, ended));
    }
    this.#read = ended;
    this.#leaseRecords = leaseRecords;
    this.#reports = reports;
    this.#compareClocks(ended);
    for (const { text } of leaseRecords.values()) clock.atLeast(Number(text.split(" ")[2]));
    void this.#tidy(ended);
    const isBehind = [...reports.values()].some((report) => revisionOf(report) > journal.state.revision);
    if (isBehind) await journal.sync();
  });

  /** Asks the store's clock, unless it was asked a moment ago. */
  async #askTime(): Promise<void> {
    const { store, now, leaseMs } = this.#options;
    const asked = now();
    if (this.#storeTime !== undefined && asked < this.#storeTime.asked + leaseMs / READINGS_A_LEASE) return;
    this.#storeTime = { time: await store.time(), asked };
  }

  /**
   * Passes the times of other clocks to our clock.
   * @param now by the monotonic clock
   */
  #compareClocks(now: number): void {
    const { time, asked } = this.#storeTime ?? { asked: now };
    const others = [...this.#leaseRecords.values()].map(({ wall, since }) => wall + now - since);
    this.#options.clock.compare(time === undefined ? others : [time + now - asked, ...others]);
  }

  #recordOf(id: string, text: string, since: number): LeaseRecord {
    const known = this.#leaseRecords.get(id);
    if (known?.text === text) return known;
    const [, span = "", , wall = "", about = "{}"] = RECORD.exec(text) ?? [];
    const { name = "", lender, lacking = {} } = readAbout(about);
    return {
      text,
      span: Math.min(Number(span) || MAX_SPAN, MAX_SPAN),
      name,
      lender,
      lacking,
      wall: Number(wall),
      since,
    };
  }

  /** Removes the authorities that a change need not wait for any more. */
  #dropSettled(ends: Map<string, number>, revision: number): void {
    const { now, log } = this.#options;
    for (const [id, end] of ends) {
      const record = this.#leaseRecords.get(id);
      const report = this.#reports.get(id) ?? "";
      const isReported = revisionOf(report) >= revision && this.#options.journal.has(...partsOf(report));
      const leaves = record === undefined ? end : Math.min(end, record.since + record.span);
      ends.set(id, leaves);
      if (record !== undefined && !isReported && leaves > now()) continue;
      ends.delete(id);
      if (record === undefined || isReported) this.#late.delete(id);
      else if (!this.#late.has(id)) {
        this.#late.add(id);
        log.warn(
          { authority: record.name, revision, reported: revisionOf(report) },
          "an authority did not report in time that its guards have applied a change: the change waited for its leases",
        );
      }
    }
  }

  /** Deletes the lease records of authorities that are gone, and reports without a lease record. */
  async #tidy(read: number): Promise<void> {
    const { log } = this.#options;
    try {
      for (const [id, { text, span, since, name }] of this.#leaseRecords) {
        if (since + span > read || !(await this.#rows.deleteIf(id, text))) continue;
        this.#late.delete(id);
        log.warn({ authority: name }, "an authority has not renewed its lease record: it is taken to be gone");
      }
      const orphans = [...this.#reports.keys()].filter((id) => id !== this.#own?.id && !this.#leaseRecords.has(id));
      if (orphans.length > 0) await this.#rows.delete(orphans.map((id) => APPLIED + id));
    } catch (error) {
      log.debug({ err: error }, "lease records of authorities that are gone could not be deleted");
    }
  }

  #wake(): void {
    this.#hints++;
    this.#news.tell();
  }
}

/** Empty if unreadable. Then the authority is treated as one that understands no restrictions. */
function readAbout(text: string): Partial<About> {
  try {
    return JSON.parse(text) as Partial<About>;
  } catch {
    return {};
  }
}

function partsOf(report: string): [revision: number, checksum: string] {
  const [revision, checksum = ""] = report.split(" ");
  return [Number(revision), checksum];
}

function revisionOf(report: string): number {
  return partsOf(report)[0];
}
