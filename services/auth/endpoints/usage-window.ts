/**
 * The counts of calls: per minute for the last three hours, per hour for thirty days. They are rows
 * of the store, not entries of the change log, because no decision depends on them.
 *
 * Rows are never rewritten. Each authority on the store writes one row for each minute in which
 * calls were reported to it. When an hour is over, the first authority to create the hour's row
 * adds up its minutes. Minutes are deleted when they are old enough and their hour has a row. So
 * nothing is counted twice, and a crash can lose at most one minute.
 *
 * A row has at most 300 endpoints, the ones with the most calls, of about 100 bytes each. The rest
 * is added up per namespace. So an authority's rows take at most 27 MiB; with ten endpoints that
 * are called all the time, 1 MiB.
 */
import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { type Calls, Tallies, type Tally } from "../../../src/gen/portico/auth/v1/usage.js";
import { BOUNDS } from "../../../src/metrics.js";
import type { Collection } from "../../../src/store/collection.js";

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
const MAX_ENDPOINTS_A_ROW = 300;
const MAX_ENDPOINTS = 10_000;
const BATCH = 256;

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
  readonly tallies: readonly Tally[];
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
  readonly #unwritten = new Map<number, Counts>();
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Counts calls in the current minute. */
  add(tallies: readonly Tally[]): void {
    if (tallies.length === 0) return;
    const minute = floor(this.#options.clock(), MINUTE);
    const counts = this.#unwritten.get(minute) ?? new Counts(MAX_ENDPOINTS);
    counts.addTallies(tallies);
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
      const unwritten = [...this.#unwritten].map(([start, counts]) => ({ start, tallies: counts.toTallies() }));
      return [...written, ...unwritten]
        .map(({ start, tallies }) => ({ start: floor(start, LENGTH[unit]), tallies }))
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
      await this.#create(
        `hour/${digits(hour)}`,
        slices.flatMap(({ tallies }) => tallies),
      );
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

  async #create(key: string, tallies: readonly Tally[]): Promise<void> {
    const all = new Counts(Number.POSITIVE_INFINITY);
    all.addTallies(tallies);
    const kept = new Counts(MAX_ENDPOINTS_A_ROW);
    for (const { count, ...endpoint } of all.list()) kept.add(endpoint, count);
    const bytes = Tallies.encode({ tallies: kept.toTallies() }).finish();
    await this.#options.rows.create(key, Buffer.from(bytes).toString("base64"));
  }

  async #tallies(rows: readonly Row[]): Promise<Slice[]> {
    const slices: Slice[] = [];
    for (let at = 0; at < rows.length; at += BATCH) {
      const some = rows.slice(at, at + BATCH);
      const texts = await this.#options.rows.getMany(some.map(({ key }) => key));
      for (const [index, { key, start }] of some.entries()) {
        slices.push({ start, tallies: this.#decode(key, texts[index]) });
      }
    }
    return slices;
  }

  /**
   * The tallies of a row. Empty for a row that another authority has deleted, and for a damaged
   * row, which must not hide the other rows.
   */
  #decode(key: string, text: string | undefined): Tally[] {
    if (text === undefined) return [];
    try {
      return Tallies.decode(Buffer.from(text, "base64")).tallies;
    } catch (error) {
      this.#options.log.warn({ err: error, row: key }, "a row of usage is damaged and passed over");
      return [];
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

/** The endpoint whose calls are counted; with empty names, the rest of its namespace. */
export type CountedEndpoint = Pick<Tally, "namespace" | "service" | "endpoint">;

/** The counts of a set of calls. */
export class Count {
  clientErrors = 0;
  serverErrors = 0;
  /**
   * Number of calls by duration. For each of BOUNDS: the calls that took at most this time, and
   * longer than the bound before it.
   */
  readonly byTime: number[] = BOUNDS.map(() => 0);

  get total(): number {
    return this.byTime.reduce((sum, calls) => sum + calls, 0);
  }

  add({ clientErrors, serverErrors, byTime }: Pick<Count, "clientErrors" | "serverErrors" | "byTime">): void {
    this.clientErrors += clientErrors;
    this.serverErrors += serverErrors;
    for (const [index, calls] of byTime.entries()) this.byTime[index]! += calls;
  }

  toCalls(): Calls {
    return {
      total: BigInt(this.total),
      clientErrors: BigInt(this.clientErrors),
      serverErrors: BigInt(this.serverErrors),
      medianMs: this.#quantile(0.5),
      p95Ms: this.#quantile(0.95),
    };
  }

  /**
   * The time within which this share of the calls ended, in milliseconds, by linear interpolation
   * like Prometheus's histogram_quantile().
   */
  #quantile(share: number): number {
    let left = share * this.total;
    if (left === 0) return 0;
    const at = this.byTime.findIndex((calls) => {
      left -= calls;
      return left <= 0;
    });
    const lower = BOUNDS[at - 1] ?? 0;
    const upper = Math.min(BOUNDS[at]!, BOUNDS.at(-2)!);
    const seconds = upper + (left / this.byTime[at]!) * (upper - lower);
    return Math.round(seconds * 1e5) / 100;
  }
}

/** Counts by endpoint. Above the maximum number of endpoints, others are counted per namespace. */
export class Counts {
  readonly #bound: number;
  readonly #counts = new Map<string, CountedEndpoint & { readonly count: Count }>();

  constructor(bound: number) {
    this.#bound = bound;
  }

  get size(): number {
    return this.#counts.size;
  }

  add(endpoint: CountedEndpoint, count: Parameters<Count["add"]>[0]): void {
    const known = this.#counts.get(keyOf(endpoint));
    if (known === undefined && this.#counts.size >= this.#bound && endpoint.service !== "") {
      this.add({ namespace: endpoint.namespace, service: "", endpoint: "" }, count);
      return;
    }
    const counted = known ?? { ...endpoint, count: new Count() };
    if (known === undefined) this.#counts.set(keyOf(endpoint), counted);
    counted.count.add(count);
  }

  addTallies(tallies: readonly Tally[]): void {
    for (const { namespace, service, endpoint, clientErrors, serverErrors, byTime } of tallies) {
      const count = {
        clientErrors: Number(clientErrors),
        serverErrors: Number(serverErrors),
        byTime: byTime.map(Number),
      };
      this.add({ namespace, service, endpoint }, count);
    }
  }

  /** The endpoint with the most calls first. */
  list(): (CountedEndpoint & { readonly count: Count })[] {
    return [...this.#counts.values()].sort((a, b) => b.count.total - a.count.total);
  }

  toTallies(): Tally[] {
    return this.list().map(({ namespace, service, endpoint, count }) => ({
      namespace,
      service,
      endpoint,
      clientErrors: BigInt(count.clientErrors),
      serverErrors: BigInt(count.serverErrors),
      byTime: count.byTime.map(BigInt),
    }));
  }
}

/** A space separates them, because no name has one. */
function keyOf({ namespace, service, endpoint }: CountedEndpoint): string {
  return `${namespace} ${service} ${endpoint}`;
}
