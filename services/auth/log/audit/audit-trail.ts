/**
 * The audit trail in the store: writes records with their change, lists them, and deletes old ones.
 */

import { AuditRecord } from "../../../../src/gen/portico/auth/v1/audit.js";
import { type Collection, collectionOf, type KeyValue, writesTo } from "../../../../src/store/collection.js";
import { type KeyValueStore, REMEDY, type StoredWrite, StoreError } from "../../../../src/store/store.js";

import { timestampMs } from "../../../../src/time.js";
import { seal, unseal } from "../changelog/row.js";
import {
  ALL_DELETIONS,
  ALL_RECORDS,
  cursorOfDeletion,
  deletionOf,
  deletionsOf,
  earlierOfRevision,
  keyAfter,
  keyBefore,
  type PlacedRecord,
  prefixOf,
  trailOfRow,
  withKey,
} from "./audit-records.js";

/** Maximum number of records deleted at a time. */
const BATCH = 256;

/** The records of a trail that were deleted because of their age. */
export interface Deletion {
  /** The cursor of the last of them. */
  readonly cursor: string;
  /** Its time, in milliseconds since 1970. */
  readonly time: number;
}

/** The trails of all namespaces. */
export class AuditTrail {
  readonly #store: KeyValueStore;
  readonly #rows: Collection;

  constructor(store: KeyValueStore) {
    this.#store = store;
    this.#rows = collectionOf(store, "audit");
  }

  /**
   * The writes for the records of some entries, to be made in the commit of the entries.
   * @throws {StoreError}
   */
  async writesOf(records: readonly PlacedRecord[]): Promise<StoredWrite[]> {
    const taken = records.flatMap(({ slot }) => (slot?.isTaken ? [slot.key] : []));
    const pushedOut = taken.length === 0 ? [] : await this.#rows.getMany(taken);
    const audit = writesTo("audit");
    return [
      ...pushedOut.filter((key) => key !== undefined).map(audit.delete),
      ...records.flatMap((placed) => rowsOf(placed)).map(audit.set),
    ];
  }

  /**
   * The newest records of a trail before a revision, newest first; without a revision, the newest
   * of all. Fewer than `limit` only at the end of the trail. More if the last revision has more
   * records: they stay together, because the next page begins before that revision.
   * @throws {StoreError} also when a record is damaged.
   */
  async list(trail: string, { before, limit }: { before?: bigint | undefined; limit: number }): Promise<AuditRecord[]> {
    const rows = await this.#rows.before(keyBefore(trail, before), limit);
    if (rows.length === limit) rows.push(...(await this.#restOfRevision(rows.at(-1)![0])));
    return rows.filter(([key]) => key.startsWith(prefixOf(trail))).map(([key, text]) => this.#read(key, text).record);
  }

  /**
   * The next records of a trail after a cursor, oldest first: at most `limit`, fewer only at the
   * end of the trail. No earlier record is written later, because an entry of the log requires the
   * entry before it.
   * @param cursor as in CURSOR; empty for the beginning
   * @throws {StoreError} also when a record is damaged.
   */
  async after(trail: string, cursor: string, limit: number): Promise<AuditRecord[]> {
    const rows = await this.#rows.after(keyAfter(trail, cursor), limit);
    return rows.filter(([key]) => key.startsWith(prefixOf(trail))).map(([key, text]) => this.#read(key, text).record);
  }

  /**
   * What was deleted after a cursor, and so cannot be read any more; undefined if nothing was.
   * @throws {StoreError}
   */
  async deletedAfter(trail: string, cursor: string): Promise<Deletion | undefined> {
    const { from, to } = deletionsOf(trail);
    const [[key, time] = [from, ""]] = await this.#rows.before(to, 1);
    return key > deletionOf(keyAfter(trail, cursor)) && key > from && key < to
      ? { cursor: cursorOfDeletion(key), time: Number(time) }
      : undefined;
  }

  /** The trails that have records. @throws {StoreError} */
  trails(): AsyncGenerator<string> {
    return this.#trailsIn(ALL_RECORDS);
  }

  /** The trails whose oldest records were deleted. Some have none left. @throws {StoreError} */
  deletedFrom(): AsyncGenerator<string> {
    return this.#trailsIn(ALL_DELETIONS);
  }

  async *#trailsIn(rows: { readonly from: string; readonly to: string }): AsyncGenerator<string> {
    for (let last = rows.from; ; ) {
      const [[first = rows.to] = []] = await this.#rows.after(last, 1);
      if (first >= rows.to) return;
      const { trail, end } = trailOfRow(first, rows);
      yield trail;
      last = end;
    }
  }

  /** The records of the same revision before a record, newest first. */
  async #restOfRevision(key: string): Promise<KeyValue[]> {
    const keys = earlierOfRevision(key);
    if (keys.length === 0) return [];
    const texts = await this.#rows.getMany(keys);
    // A share may have replaced some of them.
    return keys.flatMap((key, index): KeyValue[] => (texts[index] === undefined ? [] : [[key, texts[index]]]));
  }

  /**
   * The newest records, at most `limit` of each trail, that another store lacks, or has otherwise;
   * newest first.
   * @throws {StoreError} also when a record is damaged.
   */
  async missingIn(other: AuditTrail, limit: number): Promise<AuditRecord[]> {
    const missing: AuditRecord[] = [];
    for await (const trail of this.trails()) {
      const rows = (await this.#rows.before(keyBefore(trail), limit)).filter(([key]) =>
        key.startsWith(prefixOf(trail)),
      );
      const texts = await other.#rows.getMany(rows.map(([key]) => key));
      missing.push(
        ...rows.filter(([, text], at) => texts[at] !== text).map(([key, text]) => this.#read(key, text).record),
      );
    }
    return missing.sort((a, b) => Number(b.revision - a.revision));
  }

  /** Bytes of the whole store, which includes the trails (KeyValueStore.size). */
  size(): Promise<number> {
    return this.#store.size();
  }

  /**
   * Deletes the records before a time, in milliseconds since 1970, in all namespaces, also in
   * deleted ones.
   * @throws {StoreError}, or the signal's reason when it is aborted.
   */
  async dropBefore(time: number, signal?: AbortSignal): Promise<void> {
    for await (const trail of this.trails()) {
      while ((await this.#dropSome(trail, time)) === BATCH) signal?.throwIfAborted();
      signal?.throwIfAborted();
    }
  }

  /** Deletes the oldest records of a trail that are older than `time`; returns how many. */
  async #dropSome(trail: string, time: number): Promise<number> {
    const prefix = prefixOf(trail);
    const rows = await this.#rows.after(prefix, BATCH);
    const records = rows
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, text]) => ({ key, ...this.#read(key, text) }));
    const kept = records.findIndex(({ record }) => timestampMs(record.time) >= time);
    const old = kept === -1 ? records : records.slice(0, kept);
    if (old.length > 0) await this.#drop(trail, old);
    return old.length;
  }

  /** Deletes records, and writes down up to which one, for those who have not read them. */
  async #drop(trail: string, old: readonly StoredRecord[]): Promise<void> {
    const audit = writesTo("audit");
    const { key: last, record } = old.at(-1)!;
    const { from, to } = deletionsOf(trail);
    const earlier = (await this.#rows.after(from, BATCH)).map(([key]) => key).filter((key) => key < to);
    await this.#rows.commit([
      ...old.flatMap(({ key, slot }) => (slot === undefined ? [key] : [key, slot])).map(audit.delete),
      // Another authority may have deleted more: the greatest key counts.
      ...earlier.filter((key) => key < deletionOf(last)).map(audit.delete),
      audit.set([deletionOf(last), String(timestampMs(record.time))]),
    ]);
  }

  #read(key: string, text: string): Omit<StoredRecord, "key"> {
    const [sum, content, slot] = text.split(" ", 3);
    try {
      return { record: withKey(key, AuditRecord.decode(unseal(key, `${sum} ${content}`))), slot };
    } catch (error) {
      throw new StoreError(
        `store ${this.#store.name}: ${key} of its audit trail ${(error as Error).message}; ${REMEDY}`,
      );
    }
  }
}

/** A record with the keys of its rows. */
interface StoredRecord {
  readonly key: string;
  readonly record: AuditRecord;
  /** The key of its slot, if its share has one for it. */
  readonly slot: string | undefined;
}

/** The rows of a record. Its text names its slot, so that both can be deleted together. */
function rowsOf({ key, record, slot }: PlacedRecord): [key: string, value: string][] {
  const text = seal(key, AuditRecord.encode(record).finish());
  if (slot === undefined) return [[key, text]];
  return [
    [key, `${text} ${slot.key}`],
    [slot.key, key],
  ];
}
