/**
 * The journal keeps the state current with the log of changes, and adds to it. A change is decided on the state, written
 * under the next revision, and folded into the state. Where another authority has taken that revision, its entry is read
 * and the change is decided anew: so every change is valid at its place in the log.
 */
import type { Logger } from "pino";
import { DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import { aborted, Code, StatusError } from "../../../src/errors.js";
import type { Entry, Event } from "../../../src/gen/portico/auth/log/v1/log.js";
import type { Change } from "../../../src/gen/portico/auth/v1/policy.js";
import { StoreError } from "../../../src/store/store.js";
import { toTimestamp } from "../../../src/time.js";
import { type ChangeLog, LostHistoryError, MAX_READ, type ReadEntry } from "./change-log.js";
import type { Clock } from "./clock.js";
import { coalesced } from "./coalesced.js";
import { fold } from "./fold.js";
import { Pace } from "./pace.js";
import { checksumOf } from "./row.js";
import { State } from "./state.js";

/** Who makes a change, for the audit trail of a namespace. */
export interface Author {
  readonly namespace: string;
  readonly account: string;
}

/** The authority itself. */
export const PORTICO: Author = { namespace: DEFAULT_NAMESPACE, account: "portico" };

/**
 * Decides what a change is made of: the events of its entry, by the state and the time in milliseconds since 1970.
 * @throws {StatusError} to refuse the change.
 */
export type Decide = (state: State, now: number) => NonNullable<Event["event"]>[];

/** Told of every change of the state. */
export interface Follower {
  /** A revision was folded in. */
  changed(revision: number, changes: readonly Change[]): void;
  /** The state was read anew: the changes in between are not known one by one. */
  replaced(): void;
}

/** How often the next revision may be taken by another authority before a change is given up. */
const MAX_ATTEMPTS = 100;
const MAX_WAITING = 1_000;
/** Of how many of the newest entries the checksums are remembered. */
const MAX_CHECKSUMS = 4_096;

/** The state of one authority, and the only way to change it. */
export class Journal {
  readonly #log: ChangeLog;
  readonly #logger: Logger;
  readonly #clock: JournalOptions["clock"];
  readonly #followers = new Set<Follower>();
  #state = new State();
  /** The text of the newest entry that is folded in, as it is in the store; undefined before the first. */
  #text: string | undefined;
  /** The checksums of the newest entries, by their revisions. */
  readonly #checksums = new Map<number, string>();
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  readonly #readNext = coalesced(() => this.#read());
  #keeping: Promise<void> | undefined;
  readonly #closing = new AbortController();

  private constructor({ log, logger, clock }: JournalOptions) {
    this.#log = log;
    this.#logger = logger;
    this.#clock = clock;
  }

  /**
   * Reads the log to its end.
   * @throws {StoreError} when something in it is missing or damaged.
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const journal = new Journal(options);
    await journal.#load();
    return journal;
  }

  /** The state as of the newest revision that is folded in. */
  get state(): State {
    return this.#state;
  }

  /** The authority's time, in milliseconds since 1970. */
  get now(): number {
    return this.#clock.now();
  }

  /** The checksum of the newest entry that is folded in. */
  get checksum(): string {
    return checksumOf(this.#text ?? "");
  }

  /** Whether the entry with this checksum is folded in. False also for one of long ago. */
  has(revision: number, checksum: string): boolean {
    return this.#checksums.get(revision) === checksum;
  }

  /** When the newest entry was made, in milliseconds since 1970; undefined where there is none, or it is gone. */
  lastTime(): Promise<number | undefined> {
    return this.#log.timeOf(this.#state.revision);
  }

  /** Tells a follower of changes until the returned function is called. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /**
   * Makes a change, and gives its revision once it is on disk. `decide` may be called more than once, and throws
   * StatusError to refuse; what it refuses, it refuses by the newest state. No events: nothing to change.
   * @throws {StatusError} UNAVAILABLE when the clock is wrong; or when the store fails, and then the change may have been
   *   made all the same.
   */
  async commit(author: Author, decide: Decide): Promise<number> {
    if (this.#waiting >= MAX_WAITING) throw new StatusError(Code.UNAVAILABLE, "Too many changes at once; try again");
    this.#waiting += 1;
    const turn = this.#turn.then(() => this.#commit(author, decide));
    this.#turn = turn.catch(() => undefined);
    try {
      return await turn;
    } catch (error) {
      throw unavailable(error);
    } finally {
      this.#waiting -= 1;
    }
  }

  /**
   * Folds in everything that was committed, by any authority, before this call. Calls that come while the log is being read
   * share the next reading.
   * @throws {StatusError} UNAVAILABLE when the store fails.
   */
  async sync(): Promise<void> {
    try {
      await this.#readNext();
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Resolves when nothing is being written any more. A snapshot of many parts is left unfinished. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#turn;
    await this.#keeping;
  }

  async #commit(author: Author, decide: Decide): Promise<number> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const state = this.#state;
      const { revision } = state;
      let events: ReturnType<Decide>;
      try {
        events = decide(state, this.#clock.now());
      } catch (refusal) {
        await this.sync();
        if (this.#state === state && state.revision === revision) throw refusal;
        continue;
      }
      if (events.length === 0) return revision;
      this.#clock.check();
      const entry: Entry = {
        time: toTimestamp(this.#clock.now()),
        actor: author.account,
        namespace: author.namespace,
        events: events.map((event) => ({ event })),
      };
      const text = await this.#log.append(revision + 1, entry, this.#text);
      if (text !== undefined) {
        this.#fold(revision + 1, { entry, text });
        return revision + 1;
      }
      await this.sync();
    }
    throw aborted("Too many changes at once; try again");
  }

  /** Folds the entry in, unless a reading that ran at the same time has done so. @throws {LostHistoryError} */
  #fold(revision: number, { entry, text }: ReadEntry): void {
    if (revision !== this.#state.revision + 1) {
      if (this.#isOfAnother(revision, text)) throw this.#log.lost(revision);
      return;
    }
    const changes = fold(this.#state, entry);
    this.#remember(revision, text);
    for (const follower of this.#followers) follower.changed(revision, changes);
    if (this.#keeping === undefined && this.#log.isSnapshotDue(revision)) this.#keep();
  }

  /** Whether it is known that the entry of the revision which is folded in has another text. */
  #isOfAnother(revision: number, text: string): boolean {
    return this.#checksums.has(revision) && !this.has(revision, checksumOf(text));
  }

  #remember(revision: number, text: string | undefined): void {
    this.#text = text;
    if (text === undefined) return;
    this.#checksums.set(revision, checksumOf(text));
    this.#checksums.delete(revision - MAX_CHECKSUMS);
  }

  async #read(): Promise<void> {
    for (;;) {
      const { revision } = this.#state;
      const page = await this.#log.read(revision, this.#text);
      if (page === undefined) {
        await this.#load();
        for (const follower of this.#followers) follower.replaced();
        return;
      }
      const pace = new Pace();
      for (const [index, entry] of page.entries.entries()) {
        this.#fold(revision + 1 + index, entry);
        await pace.step();
      }
      if (page.entries.length < MAX_READ) return;
    }
  }

  async #load(attempts = 5): Promise<void> {
    const { state, head } = await this.#log.begin();
    let text: string | undefined;
    for (;;) {
      const page = await this.#log.read(state.revision, text);
      if (page === undefined && attempts > 0) return this.#load(attempts - 1);
      if (page === undefined) throw this.#log.fault(state.revision, "is missing");
      text ??= page.text;
      let isOther = text !== undefined && this.#isOfAnother(state.revision, text);
      const pace = new Pace();
      for (const { entry, text } of page.entries) {
        fold(state, entry);
        isOther ||= this.#isOfAnother(state.revision, text);
        await pace.step();
      }
      if (isOther) throw this.#log.lost(this.#state.revision);
      text = page.entries.at(-1)?.text ?? text;
      if (page.entries.length < MAX_READ) break;
    }
    if (state.revision < head) throw this.#log.fault(state.revision + 1, "is missing");
    if (state.revision < this.#state.revision) throw this.#log.lost(this.#state.revision);
    this.#state = state;
    this.#checksums.clear();
    this.#remember(state.revision, text);
  }

  /** Keeps a snapshot in the background; that one is missing does no harm but to the time of the next start. */
  #keep(): void {
    const state = this.#state.freeze();
    this.#keeping = this.#log
      .keep(state, this.#closing.signal)
      .catch((error) => {
        if (!this.#closing.signal.aborted) this.#logger.error({ err: error }, "a snapshot could not be kept");
      })
      .finally(() => {
        state.release();
        this.#keeping = undefined;
      });
  }
}

interface JournalOptions {
  readonly log: ChangeLog;
  readonly logger: Logger;
  readonly clock: Pick<Clock, "now" | "check">;
}

/** Converts a failure of the store into what callers are told, UNAVAILABLE; other errors stay as they are. */
export function unavailable(error: unknown): unknown {
  if (error instanceof LostHistoryError) return new StatusError(Code.UNAVAILABLE, error.message, { cause: error });
  if (!(error instanceof StoreError)) return error;
  return new StatusError(Code.UNAVAILABLE, "The authority's store does not answer; try again", { cause: error });
}
