/**
 * The newest time in the store. After a restart, the authority's time is never earlier. It is the
 * time of the log's last entry, or of a row that is written at each start, every minute, and at
 * each stop. A row is `<milliseconds since 1970> <revision>`. It also replaces the times of all log
 * entries up to that revision. So a time that an operator has accepted overrules later times in the
 * log.
 *
 * If rows cannot be written because the disk is full or locked, nothing else stops. After a kill,
 * the time is then known only up to the last row or entry. Tokens that expired later become valid
 * again if the clock is also set back.
 */
import type { Collection } from "../../../../src/store/collection.js";
import type { KeyValueStore } from "../../../../src/store/store.js";
import type { Journal } from "../changelog/journal.js";
import type { AuthorityClock } from "./clock.js";

const INTERVAL = 60_000;
/**
 * Delay before a store that refuses writes is tried again, in milliseconds. As often the store's
 * place is checked.
 */
const RETRY = 5_000;
const DIGITS = 16;

interface Options {
  readonly rows: Collection;
  /** The store with the rows. */
  readonly store: Pick<KeyValueStore, "isInPlace">;
  readonly journal: Pick<Journal, "state" | "lastTime" | "refusals">;
  readonly clock: Pick<AuthorityClock, "now" | "atLeast">;
}

/** The row with the authority's time in the store. */
export class StoredTime {
  readonly #options: Options;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** When a row was last written, by `performance.now()`. */
  #written = Number.NEGATIVE_INFINITY;
  /** The number of the newest row that we know; later rows are from another authority. */
  #seen = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * The newest time, in milliseconds since 1970; undefined if the store is empty.
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

  /**
   * Writes a row now and every minute until `close`. Tries it more often while the store refuses
   * writes or is not in its place, so that `/readyz` tells of both within seconds.
   */
  open(): void {
    const { journal, store } = this.#options;
    const isDue = (): boolean =>
      journal.refusals.error !== undefined ||
      performance.now() - this.#written > INTERVAL - RETRY ||
      !store.isInPlace();
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

  /** Writes a row. Resolves even if the write fails. */
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
      // If another authority has just written that row, ours follows a minute later.
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

/**
 * The newest time in the rows alone, in milliseconds since 1970; undefined without a row. For an
 * operator who looks at a store that an authority may be using.
 * @throws {StoreError}
 */
export async function newestTime(rows: Pick<Collection, "after">): Promise<number | undefined> {
  const found = await rows.after("", Number.MAX_SAFE_INTEGER);
  const times = found.flatMap(([, value]) => parse(value)).map(({ time }) => time);
  return times.length === 0 ? undefined : Math.max(...times);
}

function parse(value: string): { time: number; revision: number }[] {
  const [, time, revision] = /^(\d+) (\d+)$/.exec(value) ?? [];
  return time === undefined ? [] : [{ time: Number(time), revision: Number(revision) }];
}
