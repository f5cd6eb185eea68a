/**
 * The store in a file of SQLite.
 *
 * Keyv reads by key. What must be atomic, and what Keyv lacks, is SQL in the form that Keyv reads back. Keyv hides failures
 * unless told not to, and leaves its own prefix out of keys that look prefixed: so it throws on errors, and the prefix
 * is written here. Each collection has a table and a literal namespace of its own.
 *
 * The file is made under another name and then linked to its own, so a file that is there was once complete: one that
 * is empty, cut off or of another program is refused, never taken for a fresh installation.
 */
import { randomUUID } from "node:crypto";
import { closeSync, constants, linkSync, openSync, readSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import KeyvSqlite from "@keyv/sqlite";
import Keyv from "keyv";
import { makeFolder, syncFolder } from "../folder.js";
import { lostInstallation, readInstallation } from "./installation.js";
import {
  COLLECTIONS,
  type Collection,
  type CollectionName,
  type Entry,
  REMEDY,
  type Store,
  StoreError,
} from "./store.js";

/** Marks a file as ours in its header (https://www.sqlite.org/fileformat2.html, 1.3.14): "Port". */
const APPLICATION_ID = 0x506f7274;
/** The newest format (SQLite's user_version) that this version reads and writes. */
const FORMAT = 0;
const MAGIC = "SQLite format 3\0";
const HEADER_LENGTH = 100;

/**
 * Opens the store in a file, which is made where it is absent and the data folder was never set up.
 * @param deadline how long an operation may take, in milliseconds
 * @throws {StoreError} when it is locked, unreadable, damaged or not a store of Portico.
 */
export async function openSqlite(file: string, dataFolder: string, deadline: number): Promise<Store> {
  // Read before the store: the first start makes the store, and then what shows that the folder is set up.
  const installation = readInstallation(dataFolder);
  try {
    if (!readHeader(file)) {
      if (installation !== undefined) {
        const lost = lostInstallation(file, dataFolder, installation);
        throw new StoreError(`store ${file} does not exist, ${lost}`);
      }
      await createSqlite(file, deadline);
    }
    return await connectAll(file, deadline);
  } catch (error) {
    if (error instanceof StoreError && error.message.startsWith(`store ${file} `)) throw error;
    throw new StoreError(`store ${file} ${reasonOf(error as Error)}`, { cause: error });
  }
}

/** Whether the file is there. @throws when it is there, but no store of ours. */
function readHeader(file: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDWR);
  } catch (error) {
    // ENOTDIR: one of the folders in its path is a file; making the folder says so.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
  try {
    const header = Buffer.alloc(HEADER_LENGTH);
    const length = readSync(descriptor, header, 0, HEADER_LENGTH, 0);
    if (length === 0) throw new StoreError(`store ${file} is empty: it has lost its content; ${REMEDY}`);
    const ours = header.toString("latin1", 0, 16) === MAGIC && header.readUInt32BE(68) === APPLICATION_ID;
    if (length < HEADER_LENGTH || !ours) {
      throw new StoreError(`store ${file} is not a store of Portico, or is damaged; ${REMEDY}`);
    }
    checkFormat(file, header.readUInt32BE(60));
    return true;
  } finally {
    closeSync(descriptor);
  }
}

/** Makes a whole, empty store, and gives it its name unless another process was first. */
async function createSqlite(file: string, deadline: number): Promise<void> {
  const folder = dirname(file);
  try {
    makeFolder(folder);
  } catch (error) {
    const remedy = "give this user the right to create it, or name another folder in PORTICO_DATA or PORTICO_STORE";
    throw new StoreError(
      `store ${file} has no folder, and ${folder} cannot be created (${(error as Error).message}); ${remedy}`,
      { cause: error },
    );
  }
  const draft = `${file}.${randomUUID()}.new`;
  // SQLite gives its other files the permissions of this one.
  closeSync(openSync(draft, "wx", 0o600));
  try {
    const store = await connectAll(draft, deadline, [`PRAGMA application_id = ${APPLICATION_ID}`]);
    await store.close();
    readHeader(draft);
    linkSync(draft, file);
    syncFolder(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(draft + suffix, { force: true });
  }
}

/** @throws {StoreError} when a newer version wrote the file. */
function checkFormat(file: string, format: number): void {
  if (format <= FORMAT) return;
  const known = `its format is ${format}, and this version of Portico knows formats up to ${FORMAT}`;
  throw new StoreError(`store ${file} was written by a newer Portico: ${known}; run that version, or ${REMEDY}`);
}

/**
 * Opens a connection for each collection, because Keyv's adapter has one table and cannot share a connection; these read.
 * All writes go through one more connection, one at a time. SQLite holds a connection, and a thread of Node's few, for as
 * long as a write waits for another process's lock; on connections of their own, reads are answered meanwhile.
 */
async function connectAll(file: string, deadline: number, setup: readonly string[] = []): Promise<Store> {
  const within: Within = (operation) => endWithin(file, deadline, operation);
  const engines: KeyvSqlite[] = [];
  const connect = async (table: CollectionName): Promise<KeyvSqlite> => {
    // SQLite gives up before the deadline, and so gives the reason.
    const engine = new KeyvSqlite({ uri: `sqlite://${file}`, table, busyTimeout: Math.floor(deadline / 2) });
    engine.on("error", () => undefined);
    engines.push(engine);
    await prepare(engine, file, setup, within);
    return engine;
  };
  try {
    const readers = new Map<CollectionName, KeyvSqlite>();
    for (const name of COLLECTIONS) readers.set(name, await connect(name));
    const writer = await connect("log");
    const [{ quick_check: verdict }] = await within(writer.query("PRAGMA quick_check(1)"));
    if (verdict !== "ok") throw new Error(`quick_check: ${verdict.replace(/\s+/g, " ")}`);
    const write = oneAtATime((statement, ...values) => writer.query(statement, ...values), deadline);
    const collections = new Map(
      COLLECTIONS.map((name) => [name, collectionOf(name, readers.get(name)!, write, within)]),
    );
    return {
      name: file,
      collection: (name) => collections.get(name)!,
      close: async () => {
        // One by one: SQLite writes its log back into the file when the last connection closes, if it is alone by then.
        for (const engine of engines) await within(engine.close());
      },
    };
  } catch (error) {
    await Promise.allSettled(engines.map((engine) => engine.close()));
    throw error instanceof StoreError && error.cause instanceof Error ? error.cause : error;
  }
}

async function prepare(engine: KeyvSqlite, file: string, setup: readonly string[], within: Within): Promise<void> {
  const query = (statement: string) => within(engine.query(statement));
  const [{ user_version: format }] = await query("PRAGMA user_version");
  checkFormat(file, format);
  for (const statement of setup) await query(statement);
  const [{ journal_mode: mode }] = await query("PRAGMA journal_mode = WAL");
  if (mode !== "wal") throw new Error(`the file system does not support SQLite's write-ahead log (got ${mode})`);
  await query("PRAGMA synchronous = FULL");
}

type Query = KeyvSqlite["query"];

/** Runs each query when those before it have ended, unless its deadline has passed by then. */
function oneAtATime(query: Query, deadline: number): Query {
  let turn: Promise<unknown> = Promise.resolve();
  return (statement, ...values) => {
    const latest = performance.now() + deadline;
    const result = turn.then(() => {
      if (performance.now() > latest) throw new Error("the writes before it took too long");
      return query(statement, ...values);
    });
    turn = result.catch(() => undefined);
    return result;
  };
}

/** A row as Keyv writes it: the key with its namespace, `log:…`, and the value as JSON. */
interface Row {
  readonly key: string;
  readonly value: string;
}

/**
 * @param reader a connection of this collection, for its reads
 * @param write runs a statement on the connection of all writes
 * @param within ends an operation that takes too long, and says why one failed
 */
function collectionOf(table: CollectionName, reader: KeyvSqlite, write: Query, within: Within): Collection {
  const keyv = new Keyv({ store: reader, namespace: table, useKeyPrefix: false, throwOnErrors: true });
  // Each operation reports its own failure; without a listener Keyv would lose what happens between them.
  keyv.on("error", () => undefined);
  const prefix = `${table}:`;
  const insert = `INSERT INTO ${table} (key, value) SELECT ?, ? WHERE ? IS NULL OR EXISTS (SELECT 1 FROM ${table} WHERE key = ?)
    ON CONFLICT (key) DO NOTHING RETURNING key`;
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
    async create(key, value, previous) {
      const text = String(await keyv.serializeData({ value }));
      const before = previous === undefined ? null : prefix + previous;
      return (await within(write(insert, prefix + key, text, before, before))).length === 1;
    },
    async delete(keys) {
      if (keys.length === 0) return;
      const statement = `DELETE FROM ${table} WHERE key IN (SELECT value FROM json_each(?))`;
      await within(write(statement, JSON.stringify(keys.map((key) => prefix + key))));
    },
    async keys() {
      const rows: Row[] = await within(reader.query(`SELECT key FROM ${table} ORDER BY key`));
      return rows.map(({ key }) => key.slice(prefix.length));
    },
  };
}

type Within = <T>(operation: Promise<T>) => Promise<T>;

/**
 * The result of an operation.
 * @throws {StoreError} naming the file, when it failed, or the deadline passed; then it may yet happen.
 */
async function endWithin<T>(file: string, deadline: number, operation: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreError(`store ${file} did not answer within ${deadline} ms`)), deadline);
  });
  try {
    return await Promise.race([operation, late]);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`store ${file} ${reasonOf(error as Error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Why an operation failed and what to do, for the person who runs the process. */
function reasonOf(error: Error & { code?: string }): string {
  const { code = "", message } = error;
  if (code === "SQLITE_BUSY" || code === "SQLITE_LOCKED") {
    return "is locked by another process; stop that process, or name another file in PORTICO_STORE";
  }
  if (code === "SQLITE_FULL") return `cannot grow (${message}); make room on its disk`;
  if (["EACCES", "EPERM", "EROFS", "SQLITE_READONLY"].includes(code)) {
    return "may not be read and written; give this user the right to";
  }
  if (code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB" || message.startsWith("quick_check")) {
    return `is damaged (${message}); ${REMEDY}`;
  }
  return `cannot be used: ${message}; ${REMEDY}`;
}
