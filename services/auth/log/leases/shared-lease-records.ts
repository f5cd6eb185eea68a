/**
 * Claims on a store that several authorities share (KeyValueStore.mayBeStale). Each accepts changes and serves guards, and a
 * change is answered when no guard of any of them decides without it. Reading proves nothing here, because a server that
 * another one has replaced may still answer. So a claim is renewed by a write before each pong, and the guards' progress is
 * reported by writes.
 *
 * The rows, in the collection `grantors`:
 *     <id>            <span> <count> <time> <wall> <about>   the claim of one run of an authority; each renewal counts on
 *     applied/<id>    <revision> <checksum>                  what all its guards have applied: its report, which a crash may lose
 *
 * <time> is the authority's time, and <wall> what the clock of its machine says, with which the others compare theirs (clock.ts).
 * <about> is JSON: the name of the authority and, for each kind of restrictions that it knows, its guards that do not understand it
 * (src/access/decide/restrictions.ts). A guard's first pong comes after a renewal that began once the guard was known.
 *
 * The rules:
 *  1. After a ping has arrived, the granting authority renews its claim (`hold`). Then it reads the log to its end
 *     (Journal.sync). Then it makes the pong, without waiting for anything in between. Pings that come during a renewal share
 *     the next one. Where the claim is gone, it writes one under a new id. An id is never used twice.
 *  2. A guard counts its lease from when it *sent* the ping. So the lease ends at most a span after the renewal began.
 *  3. The authority that commits a change reads the claims after the commit (`settled`). For each claim of others that it
 *     finds, it waits until one of these is so:
 *      a) the authority has reported the revision or a later one, by the checksum of an entry that is folded in here;
 *      b) the claim is gone at a later reading;
 *      c) its span has passed since a reading of this authority that had found the same text had ended. Renewals that come
 *         later prolong nothing.
 *  4. An authority reports a revision when each of its guards has applied it, or can have no lease that was granted before
 *     the authority folded it in (reports.ts).
 *  5. A claim whose text has stayed the same for its span is of an authority that is dead or cut off. Any other deletes it,
 *     but only if its text is still the same at that moment (Collection.deleteIf).
 *  6. An authority that stops deletes its claim, or leaves it with what is left of its leases as its span.
 *
 * Why no decision lacks a change once `settled` has resolved. Take a pong of authority A that does not name the change,
 * the renewal W before it, and the reading R of the log after W, which did not find the change. Let C be the commit at
 * authority B, and D the reading of the claims after C.
 *  - D found W, or a later text of that claim. Suppose it did not, although the claim was never deleted. If one server answered R and D, then
 *    what it had at one of them it had at the other one, or the other way round. But R has W, which resolved before it, and
 *    not C, while D has C and not W. If a server and the one that replaced it answered them, then the newer one has
 *    whatever had resolved at the older one, so D has W, or R has C. The store promises that R is answered by a server
 *    that has W, and D by one that has C.
 *  - The ping had arrived before W began, so before the reading ended that first found that text. So (c) waits long enough. Where the text
 *    found at D was known from an earlier reading, no renewal came in between.
 *  - Where the claim was deleted before D, its leases had ended (5, 6): a renewal that came before the deletion would have changed the
 *    text, and one that came later made no use of that id.
 *  - (a): A had folded in the change when it reported. So pongs since then name it, and guards with earlier ones had applied it or
 *    had no lease. The checksum shows that A's history is the one that has the change: an authority that followed a server
 *    which lost its last entries in a failover may have another change under the same revision.
 * Nothing here depends on how long A takes between its steps. Where it is stopped (SIGSTOP) between W and its pong, and goes
 * on when its claim was deleted, the guard still counts from its ping, and the lease has ended. Hints of the store
 * (KeyValueStore.follow) only make things quicker.
 *
 * A clock's rate may be wrong by a twentieth; leaseSpan adds that. Spans are waited for by the monotonic clock.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { Code, StatusError } from "../../../../src/errors.js";
import type { Collection } from "../../../../src/store/collection.js";
import type { KeyValueStore } from "../../../../src/store/store.js";

import { coalesced } from "../changelog/coalesced.js";
import type { Journal } from "../changelog/journal.js";
import type { AuthorityClock } from "../time/clock.js";
import { type LeaseRecords, leaseSpan, MAX_SPAN } from "./lease-records.js";

const APPLIED = "applied/";
const CLAIM = /^(\d+(?:\.\d+)?) \d+ (\d+) (\d+) (.*)$/;
/** How often claims are renewed at most, as a part of the lease: a pong waits that long where many guards ping. */
const RENEWALS_A_LEASE = 100;
/** How often claims are read where no change asks for it, as a part of the lease. */
const READINGS_A_LEASE = 5;
/** How long to wait for a hint before the rows are read again, in milliseconds: at first, and at most. */
const MIN_PAUSE = 10;
const MAX_PAUSE = 100;

interface Options {
  readonly store: Pick<KeyValueStore, "follow" | "time">;
  /** The collection `grantors`. */
  readonly rows: Collection;
  readonly journal: Pick<Journal, "state" | "has" | "sync">;
  readonly clock: Pick<AuthorityClock, "now" | "wall" | "atLeast" | "compare">;
  /** How this authority is called in the logs of others. */
  readonly name: string;
  readonly log: Logger;
  /** Milliseconds by the monotonic clock. */
  readonly now: () => number;
  readonly leaseMs: number;
  /** The guards of this authority that do not understand a kind of restrictions, by the kinds that it knows. */
  readonly lacking: () => Lacking;
}

type Lacking = Readonly<Record<string, readonly string[]>>;

/** What a claim says of its authority. */
interface About {
  readonly name: string;
  readonly lacking: Lacking;
}

/** The claim of another authority, as it was read. */
interface LeaseRecord extends About {
  readonly text: string;
  readonly span: number;
  /** What the clock of its machine said then, in milliseconds since 1970. */
  readonly wall: number;
  /** When the reading had ended that first found this text, by the monotonic clock. */
  readonly since: number;
}

/** Waits for leases that other authorities on a shared store have granted, and tells them of its own. */
export class SharedLeaseRecords implements LeaseRecords {
  readonly #options: Options;
  readonly #rows: Collection;
  /** Of our own leases, in milliseconds. */
  readonly #span: number;
  /** Our claim, while it stands as far as we know, and how often it was written. */
  #own: { readonly id: string; count: number } | undefined;
  #closed = false;
  /** When our claim was renewed last, and when the rows were read last, by the monotonic clock. */
  #renewed = Number.NEGATIVE_INFINITY;
  #read = Number.NEGATIVE_INFINITY;
  /** The newest report of our own. */
  #report: string | undefined;
  /** What the clock of the store said, in milliseconds since 1970, and when it was asked, by the monotonic clock. */
  #storeTime: { readonly time: number | undefined; readonly asked: number } | undefined;
  #leaseRecords = new Map<string, LeaseRecord>();
  #reports = new Map<string, string>();
  /** Authorities that were waited for to the end, and that the log names. */
  readonly #late = new Set<string>();
  readonly #waiting = new Set<() => void>();
  /** How many hints there were that rows have changed. */
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

  /**
   * Begins to know the claims of others, so that the first change waits less, and what other clocks say.
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
    /** When the leases of each authority have ended whose guards may lack the revision. */
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
      // One that came during the reading may be of a row that was read before.
      if (this.#hints === hints)
        await this.#news(Math.min(pause, ...[...(ends?.values() ?? [])].map((end) => end - now() + 1)));
    }
  }

  /**
   * Tells the others that no guard of this authority decides without the revision.
   * @throws {StoreError} when that cannot be written.
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
    await this.hold().catch(() => undefined); // One that was under way has ended.
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
      // Kept before it is written: where the write fails, it may have been made all the same.
      this.#own = { id: randomUUID(), count: 0 };
      if (!(await this.#rows.create(this.#own.id, this.#textOf(this.#own)))) throw new Error("an id was used twice");
      await this.#writeReport();
    }
    // In the background: it finds dead authorities, and the time of those whose clocks are ahead.
    if (this.#read + this.#options.leaseMs / READINGS_A_LEASE < this.#renewed) void this.#look().catch(() => undefined);
  }

  #textOf(own: { count: number }, span = this.#span): string {
    own.count++;
    const { clock, name, lacking } = this.#options;
    const about: About = { name, lacking: lacking() };
    return `${span} ${own.count} ${Math.floor(clock.now())} ${Math.floor(clock.wall)} ${JSON.stringify(about)}`;
  }

  async #writeReport(): Promise<void> {
    if (this.#own === undefined || this.#report === undefined) return;
    const key = APPLIED + this.#own.id;
    if (await this.#rows.replace(key, this.#report, { durable: false })) return;
    await this.#rows.create(key, this.#report);
  }

  /** Reads the rows. Calls that come during a reading share the next one. */
  readonly #look = coalesced(async () => {
    const { now, journal, clock } = this.#options;
    const [found] = await Promise.all([this.#rows.after("", Number.MAX_SAFE_INTEGER), this.#askTime()]);
    const ended = now();
    const leaseRecords = new Map<string, LeaseRecord>();
    const reports = new Map<string, string>();
    for (const [key, text] of found) {
      if (key.startsWith(APPLIED)) reports.set(key.slice(APPLIED.length), text);
      else if (key !== this.#own?.id) leaseRecords.set(key, this.#claimOf(key, text, ended));
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

  /** Asks the clock of the store, unless it was asked a moment ago. */
  async #askTime(): Promise<void> {
    const { store, now, leaseMs } = this.#options;
    const asked = now();
    if (this.#storeTime !== undefined && asked < this.#storeTime.asked + leaseMs / READINGS_A_LEASE) return;
    this.#storeTime = { time: await store.time(), asked };
  }

  /** Tells the clock what others say, as of now by the monotonic clock. */
  #compareClocks(now: number): void {
    const { time, asked } = this.#storeTime ?? { asked: now };
    const others = [...this.#leaseRecords.values()].map(({ wall, since }) => wall + now - since);
    this.#options.clock.compare(time === undefined ? others : [time + now - asked, ...others]);
  }

  #claimOf(id: string, text: string, since: number): LeaseRecord {
    const known = this.#leaseRecords.get(id);
    if (known?.text === text) return known;
    const [, span = "", , wall = "", about = "{}"] = CLAIM.exec(text) ?? [];
    const { name = "", lacking = {} } = readAbout(about);
    return { text, span: Math.min(Number(span) || MAX_SPAN, MAX_SPAN), name, lacking, wall: Number(wall), since };
  }

  /** Drops the authorities that need not be waited for any more. */
  #dropSettled(ends: Map<string, number>, revision: number): void {
    const { now, log } = this.#options;
    for (const [id, end] of ends) {
      const claim = this.#leaseRecords.get(id);
      const report = this.#reports.get(id) ?? "";
      const isReported = revisionOf(report) >= revision && this.#options.journal.has(...partsOf(report));
      const leaves = claim === undefined ? end : Math.min(end, claim.since + claim.span);
      ends.set(id, leaves);
      if (claim !== undefined && !isReported && leaves > now()) continue;
      ends.delete(id);
      if (claim === undefined || isReported) this.#late.delete(id);
      else if (!this.#late.has(id)) {
        this.#late.add(id);
        log.warn(
          { authority: claim.name, revision, reported: revisionOf(report) },
          "an authority did not report in time that its guards have applied a change: the change waited for its leases",
        );
      }
    }
  }

  /** Deletes the claims of authorities that are gone, and reports without a claim. */
  async #tidy(read: number): Promise<void> {
    const { log } = this.#options;
    try {
      for (const [id, { text, span, since, name }] of this.#leaseRecords) {
        if (since + span > read || !(await this.#rows.deleteIf(id, text))) continue;
        this.#late.delete(id);
        log.warn({ authority: name }, "an authority has not renewed its claim: it is taken to be gone");
      }
      const orphans = [...this.#reports.keys()].filter((id) => id !== this.#own?.id && !this.#leaseRecords.has(id));
      if (orphans.length > 0) await this.#rows.delete(orphans.map((id) => APPLIED + id));
    } catch (error) {
      log.debug({ err: error }, "claims of authorities that are gone could not be deleted");
    }
  }

  /** Resolves at a hint, or after the time in milliseconds. */
  #news(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, Math.max(ms, 0));
      this.#waiting.add(done);
    });
  }

  #wake(): void {
    this.#hints++;
    for (const done of [...this.#waiting]) done();
  }
}

/** Nothing where it cannot be read: then the authority is taken to understand no restrictions. */
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
