/**
 * The audit trail in the store: writes records with their change, lists them, and deletes old ones.
 */

import { AuditRecord } from "../../../../src/gen/portico/auth/v1/audit.js";
import { type Collection, collectionOf, type KeyValue, writesTo } from "../../../../src/store/collection.js";
import { type KeyValueStore, REMEDY, type StoredWrite, StoreError } from "../../../../src/store/store.js";

import { timestampMs } from "../../../../src/time.js";
import { seal, unseal } from "../changelog/row.js";
import { ALL_RECORDS, earlierOfRevision, keyBefore, type PlacedRecord, prefixOf, trailIn } from "./audit-records.js";

/** Maximum number of records deleted at a time. */
const BATCH = 256;

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

  /** The records of the same revision before a record, newest first. */
  async #restOfRevision(key: string): Promise<KeyValue[]> {
    const keys = earlierOfRevision(key);
    if (keys.length === 0) return [];
    const texts = await this.#rows.getMany(keys);
    // A share may have replaced some of them.
    return keys.flatMap((key, index): KeyValue[] => (texts[index] === undefined ? [] : [[key, texts[index]]]));
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
    for (let last: string = ALL_RECORDS.from; ; ) {
      const [[first = ALL_RECORDS.to] = []] = await this.#rows.after(last, 1);
      if (first >= ALL_RECORDS.to) return;
      const trail = trailIn(first);
      while ((await this.#dropSome(trail, time)) === BATCH) signal?.throwIfAborted();
      signal?.throwIfAborted();
      last = keyBefore(trail);
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
    await this.#rows.delete(old.flatMap(({ key, slot }) => (slot === undefined ? [key] : [key, slot])));
    return old.length;
  }

  #read(key: string, text: string): { record: AuditRecord; slot: string | undefined } {
    const [sum, content, slot] = text.split(" ", 3);
    try {
      return { record: AuditRecord.decode(unseal(key, `${sum} ${content}`)), slot };
    } catch (error) {
      throw new StoreError(
        `store ${this.#store.name}: ${key} of its audit trail ${(error as Error).message}; ${REMEDY}`,
      );
    }
  }
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
