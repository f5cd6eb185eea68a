/**
 * The collections of the authority. A collection is a map from texts to texts. In the store, its
 * keys have the prefix `<name>/`, so collections do not overlap. The file that uses a collection
 * describes its rows. store.ts states the guarantees.
 */
import type { KeyRange, KeyValueStore, StoredEntry, StoredWrite } from "./store.js";

export const COLLECTIONS = ["log", "snapshots", "grantors", "usage", "time", "audit", "quotas"] as const;
export type CollectionName = (typeof COLLECTIONS)[number];

/** The maximum number of rows that one statement reads. */
const MAX_PAGE_ROWS = 10_000;

export type KeyValue = readonly [key: string, value: string];

export interface Collection {
  /** The value of a key; undefined if the key is absent. */
  get(key: string): Promise<string | undefined>;
  /** The values of the keys, in the order of the keys. All are read at one moment. */
  getMany(keys: readonly string[]): Promise<(string | undefined)[]>;
  /**
   * The first `limit` rows with a key greater than `key`, ascending. The rows of one page are read
   * at one moment, different pages at different moments.
   */
  after(key: string, limit: number): Promise<KeyValue[]>;
  /**
   * Like `after`, but reads at one moment. It returns fewer than `limit` rows if they would exceed
   * MAX_PAGE_ROWS or MAX_TOTAL_BYTES, but at least one row if there is one. `more` says whether
   * more rows follow.
   */
  page(key: string, limit: number): Promise<{ readonly rows: readonly KeyValue[]; readonly more: boolean }>;
  /** The last `limit` rows with a key less than `key`, descending; otherwise like `after`. */
  before(key: string, limit: number): Promise<KeyValue[]>;
  /** All keys, ascending, read at one moment. */
  keys(): Promise<string[]>;
  /** Writes the value if the key is absent. Resolves to whether it was written. */
  create(key: string, value: string): Promise<boolean>;
  /** Writes the value if the key is present. Resolves to whether it was written. */
  replace(key: string, value: string, options?: { readonly durable?: boolean }): Promise<boolean>;
  /** Deletes all the keys at one moment. Ignores absent keys. */
  delete(keys: readonly string[]): Promise<void>;
  /** Deletes the key if it has this value. Resolves to whether it was deleted. */
  deleteIf(key: string, value: string): Promise<boolean>;
  /**
   * Makes all the writes or none. They may be writes to other collections too. Resolves to whether
   * they were made.
   */
  commit(writes: readonly StoredWrite[]): Promise<boolean>;
}

/** Creates the writes to one collection, for a commit. */
export interface CollectionWrites {
  /** The commit fails unless the row exists with this value. */
  expect(row: KeyValue): StoredWrite;
  /** The commit fails if the key exists. */
  expectNone(key: string): StoredWrite;
  /** Like `expectNone`. */
  create(row: KeyValue): StoredWrite;
  set(row: KeyValue): StoredWrite;
  delete(key: string): StoredWrite;
}

/** The writes to a collection, for a commit that may also write to other collections. */
export function writesTo(name: CollectionName): CollectionWrites {
  const keyOf = (key: string): string => `${name}/${key}`;
  return {
    expect: ([key, value]) => ({ kind: "check", key: keyOf(key), condition: { value } }),
    expectNone: (key) => ({ kind: "check", key: keyOf(key), condition: "absent" }),
    create: ([key, value]) => ({ ...setting(keyOf(key), value), condition: "absent" }),
    set: ([key, value]) => setting(keyOf(key), value),
    delete: (key) => ({ kind: "delete", key: keyOf(key) }),
  };
}

function setting(key: string, value: string): StoredWrite {
  return { kind: "set", key, value, expires: undefined };
}

export function collectionOf(store: KeyValueStore, name: CollectionName): Collection {
  const prefix = `${name}/`;
  /** The smallest text that is greater than all texts with the prefix. */
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
