/**
 * The journal keeps the state up to date with the change log, and adds changes to the log. A change
 * is decided on the state, written under the next revision, and applied to the state. If another
 * authority has written that revision first, the journal applies that entry and decides the change
 * again. So every change is valid at its place in the log.
 *
 * Changes that arrive during a write are written together after it, in their order, with one wait
 * for the disk. Each has its own entry and revision, and can be refused on its own.
 */

import type { Logger } from "pino";
import { DEFAULT_NAMESPACE } from "../../../../src/contract/names.js";
import { aborted, Code, StatusError } from "../../../../src/errors.js";
import type { Change } from "../../../../src/gen/portico/auth/v1/policy.js";
import { Pace } from "../../../../src/overload/pace.js";
import { type StoredWrite, StoreError } from "../../../../src/store/store.js";

import { SignIns } from "../../login/sign-ins.js";
import type { PlacedRecord } from "../audit/audit-records.js";
import type { AuditTrail } from "../audit/audit-trail.js";
import { fold } from "../state/fold.js";
import { State } from "../state/state.js";
import type { AuthorityClock } from "../time/clock.js";
import { type ChangeLog, LostHistoryError, type ReadEntry } from "./change-log.js";
import { coalesced } from "./coalesced.js";
import { type Author, type ChangeDecision, type Decide, decideInOrder, type Proposal } from "./decide.js";
import { Refusals, RefusedError, refusedByStore } from "./refusals.js";
import { checksumOf } from "./row.js";

/** The authority itself. */
export const PORTICO: Author = { namespace: DEFAULT_NAMESPACE, account: "portico" };

/** Notified of every change of the state. */
export interface StateListener {
  /** A revision was applied to the state, with these records of the audit trail. */
  changed(revision: number, changes: readonly Change[], records: readonly PlacedRecord[]): void;
  /** The state was loaded again: the single changes in between are unknown. */
  replaced(): void;
}

/** How often another authority may write the next revision first before a change is given up. */
const MAX_ATTEMPTS = 100;
/** Maximum number of changes that are not finished. */
const MAX_UNANSWERED = 1_000;
/** Maximum number of changes that are decided together and written together. */
const MAX_TOGETHER = 256;
/** Maximum time that a change waits for its turn, in milliseconds. */
const MAX_WAIT = 10_000;
/** Number of the newest entries whose checksums are remembered. */
const MAX_CHECKSUMS = 4_096;

/** A change that waits for its turn. */
interface Waiting extends Proposal {
  /** When it arrived, by `performance.now()`. */
  readonly since: number;
  resolve(revision: number): void;
  reject(error: unknown): void;
}

/** The state of one authority, and the only way to change it. */
export class Journal {
  readonly #log: ChangeLog;
  readonly #logger: Logger;
  readonly #clock: JournalOptions["clock"];
  readonly #followers = new Set<StateListener>();
  #state = new State();
  /** The text in the store of the newest entry in the state; undefined before the first entry. */
  #text: string | undefined;
  /** The checksums of the newest entries, by revision. */
  readonly #checksums = new Map<number, string>();
  readonly #waiting: Waiting[] = [];
  #unanswered = 0;
  /** Changes that are refused because of the store or the clock. */
  readonly refusals: Refusals;
  /** The sign-ins that this journal has written. */
  readonly signIns = new SignIns();
  /** The running `#write`. */
  #writing: Promise<void> | undefined;
  readonly #readNext = coalesced(() => this.#read());
  #keeping: Promise<void> | undefined;
  readonly #closing = new AbortController();

  private constructor({ log, logger, clock }: JournalOptions) {
    this.#log = log;
    this.#logger = logger;
    this.#clock = clock;
    this.refusals = new Refusals(logger);
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

  /** The state with all entries that were applied. */
  get state(): State {
    return this.#state;
  }

  /** The authority's time, in milliseconds since 1970. */
  get now(): number {
    return this.#clock.now();
  }

  get audit(): AuditTrail {
    return this.#log.audit;
  }

  /** The checksum of the newest entry in the state. */
  get checksum(): string {
    return checksumOf(this.#text ?? "");
  }

  /**
   * Whether the entry with this checksum is in the state. False for one older than MAX_CHECKSUMS.
   */
  has(revision: number, checksum: string): boolean {
    return this.#checksums.get(revision) === checksum;
  }

  /** When the newest entry was made, in milliseconds since 1970; undefined if it is not stored. */
  lastTime(): Promise<number | undefined> {
    return this.#log.timeOf(this.#state.revision);
  }

  /** Notifies a follower of changes until the returned function is called. */
  follow(follower: StateListener): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /**
   * Makes a change, and returns its revision once it is on disk. `decide` may be called more than
   * once. It throws StatusError to refuse the change; only a refusal by the newest state is final.
   * If `decide` returns no events, nothing is written.
   * @throws {StatusError} UNAVAILABLE when the clock is wrong, too many changes wait, or the store
   *   fails. If the store fails, the change may have been made all the same.
   */
  async commit(author: Author, decide: Decide): Promise<number> {
    if (this.#unanswered >= MAX_UNANSWERED) throw tooMany();
    this.#unanswered += 1;
    try {
      return await new Promise<number>((resolve, reject) => {
        this.#waiting.push({ author, decide, since: performance.now(), resolve, reject });
        this.#writing ??= this.#write();
      });
    } catch (error) {
      const refusal = unavailable(error);
      if (refusal instanceof RefusedError) this.refusals.count(refusal);
      throw refusal;
    } finally {
      this.#unanswered -= 1;
    }
  }

  /**
   * Makes writes outside of the log by the newest state: no change of any authority comes between.
   * @returns whether they were made: `condition` held for the newest state
   * @throws {StatusError} UNAVAILABLE when the store fails, ABORTED when too many changes are made
   */
  async writeAtEnd(condition: (state: State) => boolean, writes: readonly StoredWrite[]): Promise<boolean> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      await this.sync();
      if (!condition(this.#state)) return false;
      const text = this.#text;
      if (text !== undefined && (await this.#log.writeAtEnd(this.#state.revision, text, writes))) return true;
    }
    throw aborted(TOO_MANY);
  }

  /**
   * Applies everything to the state that any authority committed before this call. Calls made
   * during a reading of the log share the next reading.
   * @throws {StatusError} UNAVAILABLE when the store fails.
   */
  async sync(): Promise<void> {
    try {
      await this.#readNext();
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Resolves when all writes have ended. A snapshot of many parts is left unfinished. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#writing;
    await this.#keeping;
  }

  /** Writes the waiting changes until there are none. */
  async #write(): Promise<void> {
    // Wait, so that changes from the same turn of the event loop are written together.
    await undefined;
    while (this.#waiting.length > 0) {
      // The log's first entry is written alone: `append` checks the entry before, and there is none
      // yet.
      const together = this.#waiting.splice(0, this.#text === undefined ? 1 : MAX_TOGETHER);
      const latest = performance.now() - MAX_WAIT;
      for (const { since, reject } of together) if (since < latest) reject(tooMany());
      try {
        await this.#commit(together.filter(({ since }) => since >= latest));
      } catch (error) {
        this.refusals.failed(error);
        for (const { reject } of together) reject(error);
      }
    }
    this.#writing = undefined;
  }

  /**
   * Decides changes, writes them together, and resolves or rejects each.
   * @throws {Error} the error for all changes that are not resolved or rejected yet.
   */
  async #commit(together: readonly Waiting[]): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const state = this.#state;
      const { revision } = state;
      const decisions = decideInOrder(state, together, this.#clock);
      const entries = decisions.flatMap((decision) => ("entry" in decision && decision.entry) || []);
      if (entries.length > 0) {
        const records = decisions.flatMap((decision) => ("records" in decision ? decision.records : []));
        const texts = await this.#log.append(revision + 1, entries, this.#text, records);
        if (texts !== undefined) {
          this.refusals.wrote();
          // The write succeeded. So no other authority had changed the state by which the refused
          // changes were decided.
          return this.#finish(together, decisions, revision, texts);
        }
        await this.sync();
      } else {
        if (decisions.some((decision) => "refusal" in decision)) await this.sync();
        if (this.#state === state && state.revision === revision)
          return this.#finish(together, decisions, revision, []);
      }
    }
    throw aborted(TOO_MANY);
  }

  /**
   * Applies the written entries to the state, and resolves or rejects each change.
   * @param revision of the state by which they were decided
   * @param texts of their entries
   */
  async #finish(
    together: readonly Waiting[],
    decisions: readonly ChangeDecision[],
    revision: number,
    texts: readonly string[],
  ): Promise<void> {
    const pace = new Pace();
    let written = 0;
    for (const [index, { resolve, reject }] of together.entries()) {
      const decision = decisions[index]!;
      if ("refusal" in decision) {
        reject(decision.refusal);
        continue;
      }
      const { entry } = decision;
      if (entry !== undefined) {
        this.#fold(revision + written + 1, { entry, text: texts[written++]! });
        this.signIns.count(entry);
      }
      resolve(revision + written);
      await pace.step();
    }
  }

  /**
   * Applies the entry to the state, unless a reading has done so at the same time.
   * @throws {LostHistoryError}
   */
  #fold(revision: number, { entry, text }: ReadEntry): void {
    if (revision !== this.#state.revision + 1) {
      if (this.#isOfAnother(revision, text)) throw this.#log.lost(revision);
      return;
    }
    const { changes, records } = fold(this.#state, entry);
    this.#remember(revision, text);
    for (const follower of this.#followers) follower.changed(revision, changes, records);
    if (this.#keeping === undefined && this.#log.isSnapshotDue(revision)) this.#keep();
  }

  /** Whether the state is known to include another entry with this revision. */
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
        break;
      }
      const pace = new Pace();
      for (const [index, entry] of page.entries.entries()) {
        this.#fold(revision + 1 + index, entry);
        await pace.step();
      }
      if (!page.more) break;
    }
  }

  async #load(attempts = 5): Promise<void> {
    const { state, head } = await this.#log.begin();
    let text: string | undefined;
    for (;;) {
      const page = await this.#log.read(state.revision, text);
      if (page === undefined && attempts > 0) return this.#load(attempts - 1);
      if (page === undefined) throw this.#log.error(state.revision, "is missing");
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
      if (!page.more) break;
    }
    if (state.revision < head) throw this.#log.error(state.revision + 1, "is missing");
    if (state.revision < this.#state.revision) throw this.#log.lost(this.#state.revision);
    this.#state = state;
    this.#checksums.clear();
    this.#remember(state.revision, text);
  }

  /** Writes a snapshot in the background. A missing snapshot only makes the next start slower. */
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
  readonly clock: Pick<AuthorityClock, "now" | "check">;
}

const TOO_MANY = "Too many changes at once; try again";

function tooMany(): StatusError {
  return new StatusError(Code.UNAVAILABLE, TOO_MANY);
}

/** Converts a failure of the store to UNAVAILABLE for callers; returns other errors unchanged. */
export function unavailable(error: unknown): unknown {
  if (error instanceof LostHistoryError) return new StatusError(Code.UNAVAILABLE, error.message, { cause: error });
  if (!(error instanceof StoreError)) return error;
  return refusedByStore(error);
}
