/**
 * The store in a file of SQLite.
 *
 * Keyv reads by key. What must be atomic, and what Keyv lacks, is SQL in the form that Keyv reads back. Keyv hides failures
 * unless told not to, and leaves its own prefix out of keys that look prefixed: so it throws on errors, and the prefix
 * is written here. Each collection has a table and a literal namespace of its own.
 */
import type KeyvSqlite from "@keyv/sqlite";
import Keyv from "keyv";
import { lostInstallation, readInstallation } from "./installation.js";
import {
  connect,
  createFile,
  endWithin,
  type FileKind,
  fillFile,
  keepsFile,
  readHeader,
  toStoreError,
} from "./sqlite-file.js";
import { type Query, type Writer, writerOf } from "./sqlite-writer.js";
import {
  COLLECTIONS,
  type Collection,
  type CollectionName,
  type Commit,
  type Entry,
  type Fill,
  type Store,
  StoreError,
} from "./store.js";

/** Its mark is "Port". */
const KIND: FileKind = { title: "a store of Portico", applicationId: 0x506f7274, format: 1, setting: "PORTICO_STORE" };

interface OpenSqlite {
  /** How long an operation may take, in milliseconds. */
  readonly deadline: number;
  readonly mustExist: boolean;
}

/**
 * Opens the store in a file, which is made where it is absent and the data folder was never set up.
 * @throws {StoreError} when it is locked, unreadable, damaged or not a store of Portico.
 */
export async function openSqlite(
  file: string,
  dataFolder: string,
  { deadline, mustExist }: OpenSqlite,
): Promise<Store> {
  // Read before the store: the first start makes the store, and then what shows that the folder is set up.
  const installation = readInstallation(dataFolder);
  try {
    if (!readHeader(KIND, file)) {
      // Who names a store that must be there does not start an authority, so the data folder does not matter.
      if (mustExist) throw new StoreError(`store ${file} does not exist`);
      if (installation !== undefined) {
        const lost = lostInstallation(file, dataFolder, installation);
        throw new StoreError(`store ${file} does not exist, ${lost}`);
      }
      await createFile(KIND, file, async (draft, marks) => (await connectAll(draft, deadline, marks)).close());
    }
    return await connectAll(file, deadline);
  } catch (error) {
    throw toStoreError(KIND, file, error as Error);
  }
}

/**
 * Makes the store in a file that is absent. It gets its name when it is filled, so it is there complete or not at all.
 * @throws {StoreError} when the file is there.
 */
export async function fillSqlite(file: string, deadline: number, fill: Fill): Promise<void> {
  await fillFile(KIND, file, async (draft, marks) => {
    const store = await connectAll(draft, deadline, marks);
    await fill({ ...store, name: file }).finally(() => store.close());
  });
}

/**
 * Opens a connection for each collection, because Keyv's adapter has one table and cannot share a connection; these read.
 * All writes go through one more connection, one at a time, on which reads would wait with them for another process's lock.
 */
async function connectAll(file: string, deadline: number, setup: readonly string[] = []): Promise<Store> {
  const within: Within = (operation) => endWithin(KIND, file, deadline, operation);
  const engines: KeyvSqlite[] = [];
  const open = async (table: CollectionName): Promise<KeyvSqlite> => {
    const engine = await connect({ kind: KIND, file, table, deadline, setup });
    engines.push(engine);
    return engine;
  };
  try {
    const readers = new Map<CollectionName, KeyvSqlite>();
    for (const name of COLLECTIONS) readers.set(name, await open(name));
    const writer = await open("log");
    const [{ quick_check: verdict }] = await within(writer.query("PRAGMA quick_check(1)"));
    if (verdict !== "ok") throw new Error(`quick_check: ${verdict.replace(/\s+/g, " ")}`);
    await within(writer.query("PRAGMA busy_timeout = 0"));
    const checkFile = keepsFile(file);
    const write = writerOf(writer, checkFile, deadline);
    const collections = new Map(
      COLLECTIONS.map((name) => [name, collectionOf(name, readers.get(name)!, write, within)]),
    );
    return {
      name: file,
      mayBeStale: false,
      collection: (name) => collections.get(name)!,
      follow: () => () => undefined,
      time: async () => undefined,
      close: async () => {
        // One by one: SQLite writes its log back into the file when the last connection closes, if it is alone by then.
        for (const engine of engines) await within(engine.close());
      },
    };
  } catch (error) {
    await Promise.allSettled(engines.map((engine) => engine.close()));
    throw error;
  }
}

/** A row as Keyv writes it: the key with its namespace, `log:…`, and the value as JSON. */
interface Row {
  readonly key: string;
  readonly value: string;
}

/**
 * @param reader a connection of this collection, for its reads
 * @param writer the connection of all writes
 * @param within ends an operation that takes too long, and says why one failed
 */
function collectionOf(table: CollectionName, reader: KeyvSqlite, writer: Writer, within: Within): Collection {
  const { write } = writer;
  const keyv = new Keyv({ store: reader, namespace: table, useKeyPrefix: false, throwOnErrors: true });
  // Each operation reports its own failure; without a listener Keyv would lose what happens between them.
  keyv.on("error", () => undefined);
  const prefix = `${table}:`;
  const insert = `INSERT INTO ${table} (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING RETURNING key`;
  const textOf = async (value: string): Promise<string> => String(await keyv.serializeData({ value }));
  const rowsOf = (entries: readonly Entry[], name: CollectionName = table) =>
    Promise.all(entries.map(async ([key, value]) => [`${name}:${key}`, await textOf(value)] as const));
  const entryOf = async ({ key, value }: Row): Promise<Entry> => {
    const content = await keyv.deserializeData<string>(value);
    return [key.slice(prefix.length), content?.value ?? ""];
  };
  return {
    get: (key) => within(keyv.get<string>(prefix + key)),
    getMany: (keys) => within(keyv.getMany<string>(keys.map((key) => prefix + key))),
    async after(key, limit) {
      const query = `SELECT key, value FROM ${table} WHERE key > ? ORDER BY key LIMIT ?`;
      const rows: Row[] = await within(reader.query(query, prefix + key, limit));
      return Promise.all(rows.map(entryOf));
    },
    async before(key, limit) {
      const query = `SELECT key, value FROM ${table} WHERE key < ? ORDER BY key DESC LIMIT ?`;
      const rows: Row[] = await within(reader.query(query, prefix + key, limit));
      return Promise.all(rows.map(entryOf));
    },
    async create(key, value) {
      return (await within(write(insert, prefix + key, await textOf(value)))).length === 1;
    },
    commit: (given) => commitTo(table, given, { writer, within, rowsOf }),
    async replace(key, value) {
      const statement = `UPDATE ${table} SET value = ? WHERE key = ? RETURNING key`;
      return (await within(write(statement, await textOf(value), prefix + key))).length === 1;
    },
    async delete(keys) {
      if (keys.length === 0) return;
      await within(write(deleteFrom(table), JSON.stringify(keys.map((key) => prefix + key))));
    },
    async deleteIf(key, value) {
      const statement = `DELETE FROM ${table} WHERE key = ? AND value = ? RETURNING key`;
      return (await within(write(statement, prefix + key, await textOf(value)))).length === 1;
    },
    async keys() {
      const rows: Row[] = await within(reader.query(`SELECT key FROM ${table} ORDER BY key`));
      return rows.map(({ key }) => key.slice(prefix.length));
    },
    async size() {
      const query = `SELECT (page_count - freelist_count) * page_size AS bytes
        FROM pragma_page_count, pragma_freelist_count, pragma_page_size`;
      return (await within(reader.query(query)))[0].bytes;
    },
  };
}

interface CommitOptions {
  readonly writer: Writer;
  readonly within: Within;
  /** Entries as Keyv writes them. */
  readonly rowsOf: (entries: readonly Entry[], name?: CollectionName) => Promise<(readonly [string, string])[]>;
}

async function commitTo(
  table: CollectionName,
  { expect, create, beside }: Commit,
  { writer, within, rowsOf }: CommitOptions,
): Promise<boolean> {
  const rows = await rowsOf(create);
  const [[expectedKey, expectedValue] = [null, null]] = await rowsOf(expect === undefined ? [] : [expect]);
  const statement = `INSERT INTO ${table} (key, value) SELECT value ->> 0, value ->> 1 FROM json_each(?1)
    WHERE (?2 IS NULL OR EXISTS (SELECT 1 FROM ${table} WHERE key = ?2 AND value = ?3))
    AND NOT EXISTS (SELECT 1 FROM ${table} WHERE key = ?4) RETURNING key`;
  const insert = async (query: Query): Promise<boolean> => {
    const made = await query(statement, JSON.stringify(rows), expectedKey, expectedValue, rows[0]![0]);
    return made.length > 0;
  };
  if (beside === undefined) return within(insert(writer.write));
  const { collection, set, delete: removed } = beside;
  const setRows = JSON.stringify(await rowsOf(set, collection));
  const removedKeys = JSON.stringify(removed.map((key) => `${collection}:${key}`));
  return within(
    writer.transact(async (query) => {
      if (!(await insert(query))) return false;
      if (set.length > 0) await query(upsertInto(collection), setRows);
      if (removed.length > 0) await query(deleteFrom(collection), removedKeys);
      return true;
    }),
  );
}

function upsertInto(table: CollectionName): string {
  return `INSERT INTO ${table} (key, value) SELECT value ->> 0, value ->> 1 FROM json_each(?) WHERE true
    ON CONFLICT (key) DO UPDATE SET value = excluded.value`;
}

function deleteFrom(table: CollectionName): string {
  return `DELETE FROM ${table} WHERE key IN (SELECT value FROM json_each(?))`;
}

type Within = <T>(operation: Promise<T>) => Promise<T>;
