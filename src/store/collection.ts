/**
 * The collections of the authority: texts by key, each collection apart by the prefix `<name>/` of its keys in the store.
 * The file that uses a collection describes its rows. The guarantees are those of store.ts.
 */
import type { KeyRange, KeyValueStore, StoredEntry, StoredWrite } from "./store.js";

/** The names of the collections. */
export const COLLECTIONS = ["log", "snapshots", "grantors", "usage", "time", "audit"] as const;
/** The name of a collection. */
export type CollectionName = (typeof COLLECTIONS)[number];

/** Rows that are read at one moment. */
const MAX_PAGE_ROWS = 10_000;

/** A key with its value. */
export type KeyValue = readonly [key: string, value: string];

/** The rows of a collection. */
export interface Collection {
  /** The value of a key; undefined where it is absent. */
  get(key: string): Promise<string | undefined>;
  /** The values of the keys, in the order of the keys, as they were at one moment. */
  getMany(keys: readonly string[]): Promise<(string | undefined)[]>;
  /** The first `limit` rows whose key is greater than `key`, ascending. As they were at one moment, as far as a page goes. */
  after(key: string, limit: number): Promise<KeyValue[]>;
  /**
   * As `after`, at one moment: fewer than `limit` where they are more than MAX_PAGE_ROWS, or would exceed MAX_TOTAL_BYTES; at
   * least one, where there is one. `more` is whether others follow.
   */
  page(key: string, limit: number): Promise<{ readonly rows: readonly KeyValue[]; readonly more: boolean }>;
  /** The last `limit` rows whose key is less than `key`, descending; else as `after`. */
  before(key: string, limit: number): Promise<KeyValue[]>;
  /** Every key, ascending, as they were at one moment. */
  keys(): Promise<string[]>;
  /** Writes the value where the key is absent. Resolves to whether it was written. */
  create(key: string, value: string): Promise<boolean>;
  /** Writes the value where the key is present. Resolves to whether it was. */
  replace(key: string, value: string, options?: { readonly durable?: boolean }): Promise<boolean>;
  /** Deletes the keys, all at one moment. Absent keys are ignored. */
  delete(keys: readonly string[]): Promise<void>;
  /** Deletes the key where it has this value. Resolves to whether it had. */
  deleteIf(key: string, value: string): Promise<boolean>;
  /** Makes the writes, to this collection and to others, or none of them. Resolves to whether they were made. */
  commit(writes: readonly StoredWrite[]): Promise<boolean>;
}

/** Makes the writes of a commit to a collection. */
export interface CollectionWrites {
  /** Fails unless the row is there with its value. */
  expect(row: KeyValue): StoredWrite;
  /** Fails where the key is there. */
  create(row: KeyValue): StoredWrite;
  set(row: KeyValue): StoredWrite;
  delete(key: string): StoredWrite;
}

/** The writes to a collection, for a commit that may write to others too. */
export function writesTo(name: CollectionName): CollectionWrites {
  const keyOf = (key: string): string => `${name}/${key}`;
  return {
    expect: ([key, value]) => ({ kind: "check", key: keyOf(key), condition: { value } }),
    create: ([key, value]) => ({ ...setting(keyOf(key), value), condition: "absent" }),
    set: ([key, value]) => setting(keyOf(key), value),
    delete: (key) => ({ kind: "delete", key: keyOf(key) }),
  };
}

function setting(key: string, value: string): StoredWrite {
  return { kind: "set", key, value, expires: undefined };
}

/** The collection of a store. */
export function collectionOf(store: KeyValueStore, name: CollectionName): Collection {
  const prefix = `${name}/`;
  /** The least text that is greater than all with the prefix. */
  const end = `${name}0`;
  const writes = writesTo(name);
  const rowOf = ({ key, value }: StoredEntry): KeyValue => [key.slice(prefix.length), value];
  const readPage = async (range: KeyRange) => {
    const { entries, more } = await store.range({ ...range, limit: Math.min(range.limit, MAX_PAGE_ROWS) });
    return { rows: entries.map(rowOf), more };
  };
  const readAll = async (range: KeyRange): Promise<KeyValue[]> => {
    const { rows, more } = await readPage(range);
    const limit = range.limit - rows.length;
    if (!more || limit === 0) return rows;
    const last = prefix + rows.at(-1)![0];
    const rest = range.reverse ? { ...range, to: last, limit } : { ...range, from: last, afterFrom: true, limit };
    return [...rows, ...(await readAll(rest))];
  };
  const rangeAfter = (key: string, limit: number): KeyRange => ({
    from: prefix + key,
    afterFrom: true,
    to: end,
    limit,
  });
  const commit = async (writes: readonly StoredWrite[]): Promise<boolean> => (await store.commit(writes)).committed;
  const getMany = async (keys: readonly string[]): Promise<(string | undefined)[]> =>
    (await store.get(keys.map((key) => prefix + key))).map((entry) => entry?.value);
  return {
    get: async (key) => (await getMany([key]))[0],
    getMany,
    after: (key, limit) => readAll(rangeAfter(key, limit)),
    page: (key, limit) => readPage(rangeAfter(key, limit)),
    before: (key, limit) => readAll({ from: prefix, to: prefix + key, limit, reverse: true }),
    keys: async () => (await store.keys(prefix, end)).map((key) => key.slice(prefix.length)),
    create: (key, value) => commit([writes.create([key, value])]),
    async replace(key, value, options) {
      const write: StoredWrite = { ...writes.set([key, value]), condition: "present" };
      return (await store.commit([write], options)).committed;
    },
    async delete(keys) {
      if (keys.length > 0) await commit(keys.map(writes.delete));
    },
    deleteIf: (key, value) => commit([{ ...writes.delete(key), condition: { value } }]),
    commit,
  };
}
