/**
 * The store: a few collections of text by key, that survive a crash. It is Keyv over the engine that the URL names,
 * with the two things Keyv lacks: it says when something failed, and it creates a key only where that is safe.
 *
 * Keyv reads, writes and deletes. What must be atomic goes straight to the engine, in the form that Keyv reads back.
 * Each collection has a table and a literal namespace of its own, and nothing is ever cleared or deleted while
 * iterating. Another engine is another `Adapter` below, and must pass test/contract/store.ts.
 *
 * A file of SQLite is made whole under another name and then linked to its own, so that a file that is there was
 * once complete: one that is empty, cut off or of another program is refused, never taken for a fresh installation.
 */
import { randomUUID } from "node:crypto";
import { closeSync, constants, fsyncSync, linkSync, openSync, readSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import KeyvSqlite from "@keyv/sqlite";
import Keyv from "keyv";
import { makeFolder } from "../folder.js";
import { lostInstallation, readInstallation } from "./installation.js";

/** The store cannot be used. The message names it and says what to do. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}

/** A key with its value. */
export type Entry = readonly [key: string, value: string];

/**
 * Text by key; keys are ASCII. A write that waits or fails, on a full or locked disk, holds up no read. Every operation ends within the store's deadline, else rejects with StoreError. Each method
 * states what an engine must guarantee; test/contract/store.ts has a test for each sentence.
 */
export interface Collection {
  /** The value of a key, or undefined where it is absent. Sees every write that had resolved, by any process. */
  get(key: string): Promise<string | undefined>;
  /** The values of the keys, in the order of the keys, as they were at one moment. Sees what `get` sees. */
  getMany(keys: readonly string[]): Promise<(string | undefined)[]>;
  /**
   * The first `limit` entries whose key is greater than `key`, ascending, as they were at one moment. Sees what `get`
   * sees. Costs no more than what it returns.
   */
  after(key: string, limit: number): Promise<Entry[]>;
  /**
   * Writes the value where the key is absent and, if `previous` is given, that key is present; both at one moment.
   * Resolves to whether it was written. Of several writers of a key, in any processes, one gets `true`. Once it
   * resolves, the value is on disk. Where it rejects, the value may have been written all the same.
   */
  create(key: string, value: string, previous?: string): Promise<boolean>;
  /** Deletes the keys, all at one moment. Absent keys are ignored. A deleted key can be created again. */
  delete(keys: readonly string[]): Promise<void>;
  /** Every key, ascending, as they were at one moment. Sees what `get` sees. */
  keys(): Promise<string[]>;
}

export const COLLECTIONS = ["log", "snapshots", "grantors", "usage", "time"] as const;
export type CollectionName = (typeof COLLECTIONS)[number];

export interface Store {
  /** The file or server, for messages: `/var/lib/portico/portico.sqlite`. */
  readonly name: string;
  /** The collections share nothing: the same key may be in each, with different values. */
  collection(name: CollectionName): Collection;
  close(): Promise<void>;
}

/** How long an operation may take, in milliseconds. */
const DEADLINE = 10_000;

/**
 * Opens the store that a URL names: `sqlite:` is portico.sqlite in the data folder, `sqlite:/path/to/file` another file.
 * @throws {StoreError} when it is locked, unreadable, damaged or not a store of Portico.
 */
export async function openStore(url: string, dataFolder: string, deadline: number = DEADLINE): Promise<Store> {
  const path = url.slice("sqlite:".length);
  if (!url.startsWith("sqlite:")) throw new StoreError(`store ${url}: only sqlite: is supported`);
  return openSqlite(path === "" ? join(dataFolder, "portico.sqlite") : resolve(path), dataFolder, deadline);
}

/** A store in memory, which is gone when it is closed; for tests. */
export function openMemoryStore(): Store {
  const open = (name: CollectionName): Adapter => {
    const map = new Map<string, string>();
    const prefix = `${name}:`;
    const keys = (): string[] => [...map.keys()].filter((key) => key.startsWith(prefix)).sort();
    return {
      keyv: new Keyv({ store: map, namespace: name, useKeyPrefix: false, throwOnErrors: true }),
      after: async (key, limit) =>
        keys()
          .filter((other) => other > key)
          .slice(0, limit)
          .map((key) => ({ key, value: map.get(key) ?? "" })),
      insert: async (key, value, previous) => {
        if (map.has(key) || (previous !== undefined && !map.has(previous))) return false;
        map.set(key, value);
        return true;
      },
      remove: async (keys) => {
        for (const key of keys) map.delete(key);
      },
      keys: async () => keys(),
      close: async () => map.clear(),
    };
  };
  return storeOf({ name: "in memory", open, deadline: DEADLINE });
}

/**
 * What an engine does for one collection. Keys here carry the namespace, `log:…`, and values are as Keyv writes them.
 * Keyv's own prefixing leaves out keys that look prefixed, so it is off.
 */
interface Adapter {
  readonly keyv: Keyv;
  after(key: string, limit: number): Promise<{ readonly key: string; readonly value: string }[]>;
  insert(key: string, value: string, previous: string | undefined): Promise<boolean>;
  remove(keys: readonly string[]): Promise<void>;
  keys(): Promise<string[]>;
  close(): Promise<void>;
}

interface Engine {
  readonly name: string;
  readonly open: (name: CollectionName) => Adapter;
  readonly close?: () => Promise<void>;
  /** How long an operation may take, in milliseconds. */
  readonly deadline: number;
}

function storeOf(engine: Engine): Store {
  const adapters = new Map(COLLECTIONS.map((name) => [name, engine.open(name)] as const));
  const collections = new Map([...adapters].map(([name, adapter]) => [name, collectionOf(name, adapter, engine)]));
  return {
    name: engine.name,
    collection: (name) => collections.get(name)!,
    close: async () => {
      // One by one: SQLite writes its log back into the file when the last connection closes, if it is alone by then.
      for (const adapter of adapters.values()) await within(engine, adapter.close());
      if (engine.close) await within(engine, engine.close());
    },
  };
}

function collectionOf(name: CollectionName, adapter: Adapter, engine: Engine): Collection {
  const { keyv } = adapter;
  // Each operation reports its own failure; without a listener Keyv would lose what happens between them.
  keyv.on("error", () => undefined);
  const prefix = `${name}:`;
  const read = async ({ key, value }: { key: string; value: string }): Promise<Entry> => {
    const content = await keyv.deserializeData<string>(value);
    return [key.slice(prefix.length), content?.value ?? ""];
  };
  return {
    get: (key) => within(engine, keyv.get<string>(prefix + key)),
    getMany: (wanted) => within(engine, keyv.getMany<string>(wanted.map((key) => prefix + key))),
    after: async (key, limit) => Promise.all((await within(engine, adapter.after(prefix + key, limit))).map(read)),
    create: async (key, value, previous) => {
      const text = String(await keyv.serializeData({ value }));
      return within(engine, adapter.insert(prefix + key, text, previous === undefined ? undefined : prefix + previous));
    },
    delete: async (unwanted) => {
      if (unwanted.length > 0) await within(engine, adapter.remove(unwanted.map((key) => prefix + key)));
    },
    keys: async () => (await within(engine, adapter.keys())).map((key) => key.slice(prefix.length)),
  };
}

/**
 * The result of the operation.
 * @throws {StoreError} naming the store, when it failed, or the deadline passed; then it may yet happen.
 */
async function within<T>({ name, deadline }: Pick<Engine, "name" | "deadline">, operation: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreError(`store ${name} did not answer within ${deadline} ms`)), deadline);
  });
  try {
    return await Promise.race([operation, late]);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`store ${name} ${reasonOf(error as Error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

// SQLite

/** Marks a file as ours in its header (https://www.sqlite.org/fileformat2.html, 1.3.14): "Port". */
const APPLICATION_ID = 0x506f7274;
/** The newest format (SQLite's user_version) that this version reads and writes. */
const FORMAT = 0;
const MAGIC = "SQLite format 3\0";
const HEADER_LENGTH = 100;

async function openSqlite(file: string, dataFolder: string, deadline: number): Promise<Store> {
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
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
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
  makeFolder(folder);
  const draft = `${file}.${randomUUID()}.new`;
  // SQLite gives its other files the permissions of this one.
  closeSync(openSync(draft, "wx", 0o600));
  try {
    const store = await connectAll(draft, deadline, [`PRAGMA application_id = ${APPLICATION_ID}`]);
    await store.close();
    readHeader(draft);
    linkSync(draft, file);
    const descriptor = openSync(folder, constants.O_RDONLY);
    fsyncSync(descriptor);
    closeSync(descriptor);
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
  const engines: KeyvSqlite[] = [];
  const connect = async (table: CollectionName): Promise<KeyvSqlite> => {
    // SQLite gives up before the deadline, and so gives the reason.
    const engine = new KeyvSqlite({ uri: `sqlite://${file}`, table, busyTimeout: Math.floor(deadline / 2) });
    engine.on("error", () => undefined);
    engines.push(engine);
    await prepare(engine, file, deadline, setup);
    return engine;
  };
  try {
    const readers = new Map<CollectionName, KeyvSqlite>();
    for (const name of COLLECTIONS) readers.set(name, await connect(name));
    const writer = await connect("log");
    const [{ quick_check: verdict }] = await within({ name: file, deadline }, writer.query("PRAGMA quick_check(1)"));
    if (verdict !== "ok") throw new Error(`quick_check: ${verdict.replace(/\s+/g, " ")}`);
    const write = oneAtATime((statement, ...values) => writer.query(statement, ...values), deadline);
    const open = (name: CollectionName) => sqliteAdapter(name, readers.get(name)!, write);
    return storeOf({ name: file, open, close: () => writer.close(), deadline });
  } catch (error) {
    await Promise.allSettled(engines.map((engine) => engine.close()));
    throw error instanceof StoreError && error.cause instanceof Error ? error.cause : error;
  }
}

async function prepare(engine: KeyvSqlite, file: string, deadline: number, setup: readonly string[]): Promise<void> {
  const query = (statement: string) => within({ name: file, deadline }, engine.query(statement));
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

function sqliteAdapter(name: CollectionName, reader: KeyvSqlite, write: Query): Adapter {
  const insert = `INSERT INTO ${name} (key, value) SELECT ?, ? WHERE ? IS NULL OR EXISTS (SELECT 1 FROM ${name} WHERE key = ?)
    ON CONFLICT (key) DO NOTHING RETURNING key`;
  return {
    keyv: new Keyv({ store: reader, namespace: name, useKeyPrefix: false, throwOnErrors: true }),
    after: (key, limit) =>
      reader.query(`SELECT key, value FROM ${name} WHERE key > ? ORDER BY key LIMIT ?`, key, limit),
    insert: async (key, value, previous) =>
      (await write(insert, key, value, previous ?? null, previous ?? null)).length === 1,
    remove: async (keys) => {
      await write(`DELETE FROM ${name} WHERE key IN (SELECT value FROM json_each(?))`, JSON.stringify(keys));
    },
    keys: async () => {
      const rows: { key: string }[] = await reader.query(`SELECT key FROM ${name} ORDER BY key`);
      return rows.map((row) => row.key);
    },
    close: () => reader.close(),
  };
}

/** What to do about a store that cannot be used. */
export const REMEDY = "restore it from a backup, or name another file in PORTICO_STORE";

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
