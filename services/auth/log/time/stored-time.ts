/**
 * The newest time in the store, below which no later start begins. It is the time of the log's last entry, or that of a
 * row, which is written at each start, every minute, and at each stop. A row is `<milliseconds since 1970> <revision>`: it
 * stands for the log up to that revision too, so that a time which an operator has accepted overrules later ones in the log.
 *
 * Where rows cannot be written, on a full or locked disk, nothing else stops. After a kill, time is then only known up to
 * the last row or entry; what expired after it is good again if the clock is set back, too.
 */
import type { Collection } from "../../../../src/store/collection.js";
import type { Journal } from "../changelog/journal.js";
import type { AuthorityClock } from "./clock.js";

const INTERVAL = 60_000;
/** How often a store that takes no writes is tried again, in milliseconds: so it is noticed soon that it does. */
const RETRY = 5_000;
const DIGITS = 16;

interface Options {
  readonly rows: Collection;
  readonly journal: Pick<Journal, "state" | "lastTime" | "refusals">;
  readonly clock: Pick<AuthorityClock, "now" | "atLeast">;
}

/** The row of the authority's time in the store. */
export class StoredTime {
  readonly #options: Options;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** When a row was written last, by `performance.now()`. */
  #written = Number.NEGATIVE_INFINITY;
  /** The newest row that we know of; later ones are of another authority. */
  #seen = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * In milliseconds since 1970; undefined where the store holds nothing.
   * @throws {StoreError}
   */
  async read(): Promise<number | undefined> {
    const { rows, journal } = this.#options;
    const found = await rows.after("", Number.MAX_SAFE_INTEGER);
    this.#seen = Number(found.at(-1)?.[0] ?? 0);
    const [row] = found.toReversed().flatMap(([, value]) => parse(value));
    if (row !== undefined && row.revision >= journal.state.revision) return row.time;
    const last = await journal.lastTime();
    return row === undefined ? last : Math.max(row.time, last ?? 0);
  }

  /** Writes a row now, and every minute until it is closed; sooner while the store takes no writes. */
  open(): void {
    const { refusals } = this.#options.journal;
    const isDue = (): boolean => refusals.error !== undefined || performance.now() - this.#written > INTERVAL - RETRY;
    let isWriting = false;
    const writeIfDue = async (): Promise<void> => {
      if (isWriting || !isDue()) return;
      isWriting = true;
      await this.write();
      isWriting = false;
    };
    this.#timer = setInterval(() => void writeIfDue(), RETRY).unref();
    void writeIfDue();
  }

  /** Writes a row. Resolves also where that is not possible. */
  write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
  }

  async #write(): Promise<void> {
    const { rows, journal, clock } = this.#options;
    try {
      const found = await rows.after("", Number.MAX_SAFE_INTEGER);
      const last = Number(found.at(-1)?.[0] ?? 0);
      if (last > this.#seen) for (const [, value] of found) for (const { time } of parse(value)) clock.atLeast(time);
      // Where another authority has just written that row, ours follows a minute later.
      const key = String(last + 1).padStart(DIGITS, "0");
      const written = await rows.create(key, `${Math.floor(clock.now())} ${journal.state.revision}`);
      this.#seen = written ? last + 1 : last;
      await rows.delete(found.map(([key]) => key));
      this.#written = performance.now();
      journal.refusals.wrote();
    } catch (error) {
      journal.refusals.failed(error);
    }
  }
}

function parse(value: string): { time: number; revision: number }[] {
  const [, time, revision] = /^(\d+) (\d+)$/.exec(value) ?? [];
  return time === undefined ? [] : [{ time: Number(time), revision: Number(revision) }];
}
