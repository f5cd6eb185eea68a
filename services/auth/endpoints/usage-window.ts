/**
 * The counts of calls: per minute for the last three hours, per hour for thirty days. They are rows
 * of the store, not entries of the change log, because no decision depends on them.
 *
 * Rows are never rewritten. Each authority on the store writes one row for each minute in which
 * calls were reported to it. When an hour is over, the first authority to create the hour's row
 * adds up its minutes. Minutes are deleted when they are old enough and their hour has a row. So
 * nothing is counted twice, and a crash can lose at most one minute.
 *
 * A row has at most 300 endpoints and 300 callers, the ones with the most calls, of about 100 bytes
 * each. The rest is added up per namespace. So an authority's rows take at most 54 MiB; with ten
 * endpoints that are called all the time by ten callers, 2 MiB.
 */
import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { Tallies } from "../../../src/gen/portico/auth/v1/usage.js";
import type { Collection } from "../../../src/store/collection.js";
import { CallCounts } from "./usage-counts.js";

/** In milliseconds. */
export const MINUTE = 60_000;
/** In milliseconds. */
export const HOUR = 60 * MINUTE;
/** How long rows of minutes are stored, in milliseconds. */
export const MINUTES_KEPT = 3 * HOUR;
/** How long rows of hours are stored, in milliseconds. */
export const HOURS_KEPT = 30 * 24 * HOUR;
/**
 * How long after the end of an hour the rows of its minutes may still be written, in milliseconds.
 */
const GRACE = 10 * MINUTE;
const MAX_A_ROW = 300;
const MAX_COUNTED = 10_000;
const BATCH = 256;
const NO_CALLS: Tallies = { tallies: [], callers: [] };

type Unit = "minute" | "hour";
const LENGTH: Record<Unit, number> = { minute: MINUTE, hour: HOUR };

interface Row {
  readonly key: string;
  readonly unit: Unit;
  /** In milliseconds of `Date.now()`. */
  readonly start: number;
}

/** The calls of a minute or an hour. */
interface Slice {
  readonly start: number;
  readonly calls: Tallies;
}

interface Options {
  readonly rows: Collection;
  readonly log: Logger;
  /** Milliseconds as `Date.now()` returns them. */
  readonly clock: () => number;
}

/** The counts of the last thirty days, in the store and in memory. */
export class UsageWindow {
  readonly #options: Options;
  /** Counts that are not written yet, by the start of their minute. */
  readonly #unwritten = new Map<number, CallCounts>();
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Counts calls in the current minute. */
  add(calls: Tallies): void {
    if (calls.tallies.length === 0 && calls.callers.length === 0) return;
    const minute = floor(this.#options.clock(), MINUTE);
    const counts = this.#unwritten.get(minute) ?? new CallCounts(MAX_COUNTED);
    counts.add(calls);
    this.#unwritten.set(minute, counts);
    this.#timer ??= setTimeout(() => void this.write(), MINUTE).unref();
  }

  /**
   * The counts since a moment, in no order. The start of a slice is the start of its minute or
   * hour.
   * @throws {StoreError}
   */
  read(unit: Unit, since: number): Promise<Slice[]> {
    return this.#inTurn(async () => {
      const rows = await this.#rows();
      const hours = new Set(rows.filter((row) => row.unit === "hour").map(({ start }) => start));
      const wanted = rows.filter(({ unit: has, start }) => {
        if (unit === "minute") return has === "minute" && start >= since;
        return floor(start, HOUR) >= since && (has === "hour" || !hours.has(floor(start, HOUR)));
      });
      const written = await this.#tallies(wanted);
      const unwritten = [...this.#unwritten].map(([start, counts]) => ({ start, calls: counts.toTallies() }));
      return [...written, ...unwritten]
        .map(({ start, calls }) => ({ start: floor(start, LENGTH[unit]), calls }))
        .filter(({ start }) => start >= since);
    });
  }

  /** Writes the finished minutes, or all of them; adds up hours and deletes old rows. */
  write({ all = false } = {}): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#inTurn(async () => {
      try {
        await this.#writeMinutes(all);
        const rows = await this.#rows();
        await this.#addUp(rows);
        await this.#forget(rows);
      } catch (error) {
        this.#options.log.warn({ err: error }, "how much endpoints were called could not be written down");
      }
      if (!all && this.#unwritten.size > 0) this.#timer ??= setTimeout(() => void this.write(), MINUTE).unref();
    });
  }

  async #writeMinutes(all: boolean): Promise<void> {
    const now = floor(this.#options.clock(), MINUTE);
    for (const [start, counts] of [...this.#unwritten]) {
      if (start >= now && !all) continue;
      this.#unwritten.delete(start);
      try {
        await this.#create(`minute/${digits(start)}/${randomUUID()}`, counts.toTallies());
      } catch (error) {
        // Counted in the current minute: the row of its own hour may exist when the next write
        // succeeds.
        this.add(counts.toTallies());
        throw error;
      }
    }
  }

  /** Creates the rows of the hours that are over. */
  async #addUp(rows: readonly Row[]): Promise<void> {
    const hours = new Set(rows.filter(({ unit }) => unit === "hour").map(({ start }) => start));
    const minutes = rows.filter(({ unit }) => unit === "minute");
    const over = new Set(minutes.map(({ start }) => floor(start, HOUR)).filter((hour) => this.#isOver(hour)));
    for (const hour of over) {
      if (hours.has(hour)) continue;
      const slices = await this.#tallies(minutes.filter(({ start }) => floor(start, HOUR) === hour));
      await this.#create(`hour/${digits(hour)}`, {
        tallies: slices.flatMap(({ calls }) => calls.tallies),
        callers: slices.flatMap(({ calls }) => calls.callers),
      });
    }
  }

  /**
   * Deletes old rows. Each hour that is over has a row by now, so rows of minutes only serve lists
   * by minute.
   */
  async #forget(rows: readonly Row[]): Promise<void> {
    const now = this.#options.clock();
    const kept = { minute: MINUTES_KEPT, hour: HOURS_KEPT };
    const old = rows.filter(({ unit, start }) => start < now - kept[unit] - LENGTH[unit] && this.#isOver(start));
    for (let at = 0; at < old.length; at += BATCH) {
      await this.#options.rows.delete(old.slice(at, at + BATCH).map(({ key }) => key));
    }
  }

  #isOver(moment: number): boolean {
    return floor(moment, HOUR) + HOUR + GRACE < this.#options.clock();
  }

  async #rows(): Promise<Row[]> {
    return (await this.#options.rows.keys()).map((key) => {
      const [unit, start] = key.split("/");
      return { key, unit: unit as Unit, start: Number(start) };
    });
  }

  async #create(key: string, calls: Tallies): Promise<void> {
    const all = new CallCounts();
    all.add(calls);
    const kept = new CallCounts(MAX_A_ROW);
    kept.add(all.toTallies());
    const bytes = Tallies.encode(kept.toTallies()).finish();
    await this.#options.rows.create(key, Buffer.from(bytes).toString("base64"));
  }

  async #tallies(rows: readonly Row[]): Promise<Slice[]> {
    const slices: Slice[] = [];
    for (let at = 0; at < rows.length; at += BATCH) {
      const some = rows.slice(at, at + BATCH);
      const texts = await this.#options.rows.getMany(some.map(({ key }) => key));
      for (const [index, { key, start }] of some.entries()) {
        slices.push({ start, calls: this.#decode(key, texts[index]) });
      }
    }
    return slices;
  }

  /**
   * The tallies of a row. Empty for a row that another authority has deleted, and for a damaged
   * row, which must not hide the other rows.
   */
  #decode(key: string, text: string | undefined): Tallies {
    if (text === undefined) return NO_CALLS;
    try {
      return Tallies.decode(Buffer.from(text, "base64"));
    } catch (error) {
      this.#options.log.warn({ err: error, row: key }, "a row of usage is damaged and passed over");
      return NO_CALLS;
    }
  }

  /** Runs one operation at a time: a reading during the write of a minute would count it twice. */
  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}

/** The start of the period of the given length that contains the moment; all in milliseconds. */
export function floor(moment: number, length: number): number {
  return Math.floor(moment / length) * length;
}

/** Zero-padded, so that keys sort like moments. */
function digits(moment: number): string {
  return String(moment).padStart(15, "0");
}
