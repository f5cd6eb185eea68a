/**
 * The change log in the store. All other state of the authority is computed from it. The key of an
 * entry is its revision. An entry is written only if its key is absent, so only one authority can
 * write a revision. Each row has a checksum over its key and content, so a damaged entry is noticed
 * and never skipped.
 *
 * Snapshots (snapshots.ts) limit how many entries a start replays. The store has the two newest
 * snapshots and all entries from the older one on. Earlier entries are deleted, oldest first. So an
 * authority that fell behind would find the key after its own revision absent, although that
 * revision was written long ago. It does not take this for the end of the log, because it also
 * checks the entry of its own revision: that entry must be there with the text that the authority
 * knows. Both are read, or written, in one step (KeyValueStore.commit). If that entry has another
 * text, the store has another history: it was restored from a backup, or a standby without the last
 * changes took over.
 */

import type { Logger } from "pino";
import { Entry } from "../../../../src/gen/portico/auth/log/v1/log.js";
import { Pace } from "../../../../src/overload/pace.js";
import { type Collection, collectionOf, type KeyValue, writesTo } from "../../../../src/store/collection.js";
import { type KeyValueStore, REMEDY, type StoredWrite, StoreError } from "../../../../src/store/store.js";

import { timestampMs } from "../../../../src/time.js";
import type { PlacedRecord } from "../audit/audit-records.js";
import { AuditTrail } from "../audit/audit-trail.js";
import { type FrozenState, formatOf, partsOf } from "../state/snapshot-parts.js";
import { NewerSnapshotError, Snapshots } from "../state/snapshots.js";
import { State } from "../state/state.js";
import { keyOf, seal, unseal } from "./row.js";

/** Maximum number of entries read at a time. */
export const MAX_READ = 64;
const BATCH = 256;

/** Minimum number of entries between two snapshots. */
export const MIN_SNAPSHOT_INTERVAL = 1_000;
/** Maximum number of entries between two snapshots: limits what a start must replay. */
export const MAX_SNAPSHOT_INTERVAL = 50_000;
/**
 * Between these limits, the next snapshot is due when the entries since the last one have this
 * share of its length.
 */
const SNAPSHOT_SHARE = 0.5;
/** Delay before the next attempt if another authority is writing a snapshot, in milliseconds. */
const RETRY = 5_000;

/** An entry, and its text in the store. */
export interface ReadEntry {
  readonly entry: Entry;
  readonly text: string;
}

/** The entries that follow a revision in the log. */
export interface LogPage {
  /** The text of the revision's own entry; undefined before the first entry. */
  readonly text: string | undefined;
  /** At most `MAX_READ`. */
  readonly entries: readonly ReadEntry[];
  /** Whether more entries follow. */
  readonly more: boolean;
}

/** The state from which the log is read on. */
export interface LogStart {
  readonly state: State;
  /** The newest revision known; 0 for a store that was never set up. */
  readonly head: number;
}

/** The log no longer has what was read from it before. An operator must decide what is right. */
export class LostHistoryError extends StoreError {}

/** The entries and snapshots of a store, and the audit trail of the changes. */
export class ChangeLog {
  readonly audit: AuditTrail;
  readonly #name: string;
  readonly #entries: Collection;
  readonly #snapshots: Snapshots;
  readonly #log: Logger;
  /**
   * The newest known snapshot: its revision and stored length, and the length of the entries since.
   */
  #last = { revision: 0, length: 0, since: 0 };
  /** Before this time by `performance.now()`, no snapshot is written. */
  #notBefore = 0;

  /** @param log for problems with snapshots */
  constructor({ store, log }: { store: KeyValueStore; log: Logger }) {
    this.audit = new AuditTrail(store);
    this.#name = store.name;
    this.#entries = collectionOf(store, "log");
    this.#snapshots = new Snapshots(collectionOf(store, "snapshots"));
    this.#log = log;
  }

  /**
   * Loads the newest snapshot that is not damaged; an empty state if there is no snapshot.
   * @throws {StoreError} when something is missing, damaged, or of a newer version.
   */
  async begin(): Promise<LogStart> {
    // Read the first entry before the snapshots: entries are deleted only after their snapshot is
    // written.
    const [first] = await this.#entries.after("", 1);
    const revisions = await this.#snapshots.revisions();
    const head = revisions.at(-1) ?? 0;
    for (const revision of revisions.toReversed()) {
      try {
        return { state: await this.#readSnapshot(revision), head };
      } catch (error) {
        if (error instanceof StoreError) throw error;
        if (error instanceof NewerSnapshotError) {
          const remedy = "run that version, or restore the store from a backup";
          throw new StoreError(`store ${this.#name} was written by a newer Portico: ${error.message}; ${remedy}`);
        }
        // Another authority has just replaced it by a newer one.
        if (!(await this.#snapshots.revisions()).includes(revision)) return this.begin();
        this.#log.error({ err: error, revision }, "a snapshot is damaged; trying the one before it");
      }
    }
    if (first === undefined ? head > 0 : first[0] !== keyOf(1)) {
      throw new StoreError(`store ${this.#name} has lost the beginning of its log, or its snapshots; ${REMEDY}`);
    }
    return { state: new State(), head };
  }

  async #readSnapshot(revision: number): Promise<State> {
    const state = new State();
    let stored = 0;
    for await (const { part, length } of this.#snapshots.read(revision)) {
      await state.merge(part);
      stored += length;
    }
    this.#last = { revision, length: stored, since: 0 };
    return state;
  }

  /**
   * The next entries after a revision. Undefined if they were deleted: then call `begin` again.
   * @param known the text of the revision's own entry, if it was read before
   * @throws {LostHistoryError} when that entry has another text.
   * @throws {StoreError} naming the revision of an entry that is missing or damaged.
   */
  async read(after: number, known?: string): Promise<LogPage | undefined> {
    // Includes the entry of the revision itself: while it is there, the next one has not been
    // deleted.
    const first = Math.max(after, 1);
    const { rows: texts, more } = await this.#page(first, MAX_READ + (after === 0 ? 0 : 1));
    const dropped = texts[0]?.[0] !== keyOf(first);
    if (dropped && (after > 0 || (await this.#snapshots.revisions()).length > 0)) return undefined;
    const own = after === 0 ? undefined : texts[0]?.[1];
    if (known !== undefined && own !== known) throw this.lost(after);
    const entries: ReadEntry[] = [];
    const pace = new Pace();
    for (const [key, text] of texts.slice(after === 0 ? 0 : 1)) {
      const revision = after + 1 + entries.length;
      if (key !== keyOf(revision)) throw this.error(revision, "is missing");
      try {
        entries.push({ entry: readEntry(key, text), text });
      } catch (error) {
        throw this.error(revision, (error as Error).message);
      }
      this.#last.since += text.length;
      await pace.step();
    }
    return { text: own, entries, more };
  }

  /**
   * The rows from a revision on, read at one moment: at least two if there are two. A page of the
   * store has only one if both together are too large, and then a reader would never get past it.
   */
  async #page(first: number, limit: number): ReturnType<Collection["page"]> {
    const page = await this.#entries.page(keyOf(first - 1), limit);
    if (page.rows.length !== 1 || !page.more) return page;
    const keys = [keyOf(first), keyOf(first + 1)];
    const texts = await this.#entries.getMany(keys);
    const rows = keys.flatMap((key, index): KeyValue[] => (texts[index] === undefined ? [] : [[key, texts[index]]]));
    return { rows, more: true };
  }

  /**
   * When an entry was made, in milliseconds since 1970; undefined if it is missing or has no time.
   */
  async timeOf(revision: number): Promise<number | undefined> {
    const key = keyOf(revision);
    const text = await this.#entries.get(key);
    if (text === undefined) return undefined;
    const { time } = readEntry(key, text);
    return time && timestampMs(time);
  }

  error(revision: number, what: string): StoreError {
    return new StoreError(`store ${this.#name} cannot be used: entry ${revision} of its log ${what}; ${REMEDY}`);
  }

  /** The error for a store that lacks a known entry, or has another text for it. */
  lost(revision: number): LostHistoryError {
    return new LostHistoryError(
      `store ${this.#name} has lost changes: it does not hold revision ${revision} as this authority knows it. It was ` +
        "restored from a backup, or a standby that lacked changes took over. This authority grants and changes nothing. " +
        "Restart it to go on with what the store has; changes that are missing must be made again",
    );
  }

  /**
   * Writes entries with consecutive revisions, only if no other entry has the first revision and
   * the entry before them has the given text. When this resolves with their texts, they are on
   * disk. Undefined: nothing was written.
   * @param revision of the first of the entries
   * @param before the text of the entry before them; undefined for the log's first entry, which is
   *   written alone
   * @param records of the audit trail, written in the same commit
   */
  async append(
    revision: number,
    entries: readonly Entry[],
    before: string | undefined,
    records: readonly PlacedRecord[],
  ): Promise<readonly string[] | undefined> {
    const log = writesTo("log");
    const rows = entries.map((entry, index) => {
      const key = keyOf(revision + index);
      return [key, seal(key, Entry.encode(entry).finish())] as const;
    });
    const writes = [...rows.map(log.create), ...(await this.audit.writesOf(records))];
    const isWritten =
      before === undefined
        ? await this.#commitFirst(writes)
        : await this.#entries.commit([log.expect([keyOf(revision - 1), before]), ...writes]);
    if (!isWritten) return undefined;
    const texts = rows.map(([, text]) => text);
    for (const text of texts) this.#last.since += text.length;
    return texts;
  }

  /**
   * Makes writes outside of the log, only if the entry of the revision has the text, and is the
   * last one. Resolves to whether they were made.
   */
  writeAtEnd(revision: number, text: string, writes: readonly StoredWrite[]): Promise<boolean> {
    const log = writesTo("log");
    return this.#entries.commit([log.expect([keyOf(revision), text]), log.expectNone(keyOf(revision + 1)), ...writes]);
  }

  async #commitFirst(writes: readonly StoredWrite[]): Promise<boolean> {
    if (!(await this.#entries.commit(writes))) return false;
    // No entry comes before the first one, so there is none to check. If snapshots exist, the first
    // entry was written and deleted long ago.
    if ((await this.#snapshots.revisions()).length === 0) return true;
    await this.#entries.commit(writes.map(({ key }) => ({ kind: "delete", key })));
    return false;
  }

  /**
   * Whether a snapshot is due. The larger the state, the more entries come between two snapshots.
   * So the cost of writing snapshots stays in proportion to the cost of writing changes.
   */
  isSnapshotDue(revision: number): boolean {
    const { revision: last, length, since } = this.#last;
    const entries = revision - last;
    if (entries < MIN_SNAPSHOT_INTERVAL || performance.now() < this.#notBefore) return false;
    return entries >= MAX_SNAPSHOT_INTERVAL || since >= SNAPSHOT_SHARE * length;
  }

  /**
   * Writes a snapshot, unless another authority is writing one, and deletes what it makes
   * unnecessary.
   * @throws {StoreError}, or the signal's reason when it is aborted.
   */
  async keep(state: FrozenState, signal?: AbortSignal): Promise<void> {
    const before = this.#last;
    this.#last = { ...before, revision: state.revision, since: 0 };
    const newest = (await this.#snapshots.revisions()).at(-1) ?? 0;
    if (newest > before.revision) {
      this.#last.revision = newest;
      return;
    }
    const written = { signal, format: formatOf(state) };
    const length = await this.#snapshots.write(state.revision, partsOf(state), written);
    if (length === 0) {
      this.#last = { ...before, since: before.since + this.#last.since };
      this.#notBefore = performance.now() + RETRY;
      return;
    }
    this.#last.length = length;
    await this.#dropEntries();
  }

  /** Deletes the entries before the older of the two stored snapshots. */
  async #dropEntries(): Promise<void> {
    const oldest = (await this.#snapshots.revisions()).at(-2);
    if (oldest === undefined) return;
    for (;;) {
      const first = await this.#entries.after("", BATCH);
      const unneeded = first.map(([key]) => key).filter((key) => key < keyOf(oldest));
      await this.#entries.delete(unneeded);
      if (unneeded.length < BATCH) return;
    }
  }
}

function readEntry(key: string, text: string): Entry {
  const entry = Entry.decode(unseal(key, text));
  // To skip an unknown change could grant access that it revoked.
  if (entry.events.some(({ event }) => event === undefined)) throw new Error("was written by a newer Portico");
  return entry;
}
