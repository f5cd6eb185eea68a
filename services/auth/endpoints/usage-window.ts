/**
 * The counts of calls: by the minute for the last three hours, by the hour for thirty days. They are rows of the
 * store and not entries of the log of changes, since no decision depends on them.
 *
 * Rows are never rewritten. Each authority on the store writes one for each minute in which calls were reported to it.
 * When an hour is over, the first authority to create the row of the hour adds up its minutes. Minutes are deleted when
 * they are old enough and their hour is there. So nothing is counted twice, and a crash can lose one minute.
 *
 * A row has at most 300 endpoints, the most called ones, of some 100 bytes each; what is left is added up for each
 * namespace. So an authority's rows take at most 27 MiB, and 1 MiB where ten endpoints are called all the time.
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
/** How long rows are kept, in milliseconds. */
export const MINUTES_KEPT = 3 * HOUR;
/** How long rows of hours are kept, in milliseconds. */
export const HOURS_KEPT = 30 * 24 * HOUR;
/** After the end of an hour, until when rows of its minutes may still be written. */
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
  /** Milliseconds as `Date.now()` gives them. */
  readonly clock: () => number;
}

/** The counts of the last thirty days, in the store and in memory. */
export class UsageWindow {
  readonly #options: Options;
  /** Not written yet, by the start of their minute. */
  readonly #unwritten = new Map<number, Counts>();
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Counts calls in the minute that runs. */
  add(tallies: readonly Tally[]): void {
    if (tallies.length === 0) return;
    const minute = floor(this.#options.clock(), MINUTE);
    const counts = this.#unwritten.get(minute) ?? new Counts(MAX_ENDPOINTS);
    counts.addTallies(tallies);
    this.#unwritten.set(minute, counts);
    this.#timer ??= setTimeout(() => void this.write(), MINUTE).unref();
  }

  /**
   * What was counted since a moment, in no order; a slice begins where its minute or hour does.
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

  /** Writes the minutes that are over, or all of them, and tidies up. */
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
        // It counts as of now: its own hour may have been added up when it can be written.
        this.add(counts.toTallies());
        throw error;
      }
    }
  }

  /** Makes the rows of the hours that are over. */
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

  /** Hours that are over have their row by now, so their minutes are needed for as long as minutes are shown. */
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

  /** Another authority may have deleted the row since. One that is damaged is no reason to show nothing. */
  #decode(key: string, text: string | undefined): Tally[] {
    if (text === undefined) return [];
    try {
      return Tallies.decode(Buffer.from(text, "base64")).tallies;
    } catch (error) {
      this.#options.log.warn({ err: error, row: key }, "a row of usage is damaged and passed over");
      return [];
    }
  }

  /** Runs one at a time: a reading between the writing of a minute and its removal from memory would count it twice. */
  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}

/** The start of the period of the given length that a moment is in; all in milliseconds. */
export function floor(moment: number, length: number): number {
  return Math.floor(moment / length) * length;
}

/** So that keys sort as moments do. */
function digits(moment: number): string {
  return String(moment).padStart(15, "0");
}

/** The endpoint that calls are counted for; without names, the rest of its namespace. */
export type CountedEndpoint = Pick<Tally, "namespace" | "service" | "endpoint">;

/** The counts of a set of calls. */
export class Count {
  clientErrors = 0;
  serverErrors = 0;
  /** By the lowest of BOUNDS that was kept. */
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

  /** Taken to lie evenly between two bounds, as Prometheus's histogram_quantile() does. In milliseconds. */
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

/** Counts by endpoint. Where there are more endpoints than the bound, further ones are counted together for their namespace. */
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

  /** Most called first. */
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

/** No name has a space. */
function keyOf({ namespace, service, endpoint }: CountedEndpoint): string {
  return `${namespace} ${service} ${endpoint}`;
}
