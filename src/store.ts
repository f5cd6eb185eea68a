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
import { makeFolder } from "./folder.js";

/** The store cannot be used. The message names it and says what to do. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}

/** Text by key. Every operation ends within the store's deadline, else rejects with StoreError. */
export interface Collection {
  get(key: string): Promise<string | undefined>;
  /** The values of the keys, in their order, as they were at one moment. */
  getMany(keys: readonly string[]): Promise<(string | undefined)[]>;
  /**
   * Writes the value where the key is absent and, if `previous` is given, that key is present; both at one moment.
   * Once this resolves, the value is on disk. Whether it was written.
   */
  create(key: string, value: string, previous?: string): Promise<boolean>;
  /** Deletes the keys, all at one moment. Those that are absent are no fault. */
  delete(keys: readonly string[]): Promise<void>;
  /** Every key, ascending. */
  keys(): Promise<string[]>;
}

export const COLLECTIONS = ["log", "snapshots", "grantors", "usage"] as const;
export type CollectionName = (typeof COLLECTIONS)[number];

export interface Store {
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
  return openSqlite(path === "" ? join(dataFolder, "portico.sqlite") : resolve(path), deadline);
}

/** A store that is gone when it is closed, for tests. */
export function openMemoryStore(): Store {
  return storeOf((name) => {
    const map = new Map<string, string>();
    const prefix = `${name}:`;
    return {
      keyv: new Keyv({ store: map, namespace: name, useKeyPrefix: false, throwOnErrors: true }),
      insert: async (key, value, previous) => {
        if (map.has(key) || (previous !== undefined && !map.has(previous))) return false;
        map.set(key, value);
        return true;
      },
      keys: async () => [...map.keys()].filter((key) => key.startsWith(prefix)).sort(),
      close: async () => map.clear(),
    };
  }, DEADLINE);
}

/**
 * What an engine gives for one collection. Keys here carry the namespace, `log:…`; Keyv's own prefixing leaves out keys
 * that look prefixed, so it is off.
 */
interface Adapter {
  readonly keyv: Keyv;
  insert(key: string, value: string, previous: string | undefined): Promise<boolean>;
  keys(): Promise<string[]>;
  close(): Promise<void>;
}

function storeOf(open: (name: CollectionName) => Adapter, deadline: number): Store {
  const adapters = new Map(COLLECTIONS.map((name) => [name, open(name)] as const));
  const collections = new Map([...adapters].map(([name, adapter]) => [name, collectionOf(name, adapter, deadline)]));
  return {
    collection: (name) => collections.get(name)!,
    close: async () => {
      // One by one: SQLite writes its log back into the file when the last connection closes, if it is alone by then.
      for (const adapter of adapters.values()) await within(deadline, adapter.close());
    },
  };
}

function collectionOf(name: CollectionName, { keyv, insert, keys }: Adapter, deadline: number): Collection {
  // Each operation reports its own failure; without a listener Keyv would lose what happens between them.
  keyv.on("error", () => undefined);
  const prefix = `${name}:`;
  return {
    get: (key) => within(deadline, keyv.get<string>(prefix + key)),
    getMany: (wanted) => within(deadline, keyv.getMany<string>(wanted.map((key) => prefix + key))),
    create: async (key, value, previous) => {
      const text = String(await keyv.serializeData({ value }));
      return within(deadline, insert(prefix + key, text, previous === undefined ? undefined : prefix + previous));
    },
    delete: async (unwanted) => {
      if (unwanted.length > 0) await within(deadline, keyv.deleteMany(unwanted.map((key) => prefix + key)));
    },
    keys: async () => (await within(deadline, keys())).map((key) => key.slice(prefix.length)),
  };
}

/** What the operation gives, or a StoreError: it failed, or the deadline passed, when it may yet happen. */
async function within<T>(deadline: number, operation: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreError(`the store did not answer within ${deadline} ms`)), deadline);
  });
  try {
    return await Promise.race([operation, late]);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`the store failed: ${(error as Error).message}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

// SQLite

/** Marks a file as ours in its header (https://www.sqlite.org/fileformat2.html, 1.3.14): "Port". */
const APPLICATION_ID = 0x506f7274;
const MAGIC = "SQLite format 3\0";
const HEADER_LENGTH = 100;

async function openSqlite(file: string, deadline: number): Promise<Store> {
  try {
    if (!readHeader(file)) await createSqlite(file, deadline);
    return await connectAll(file, deadline);
  } catch (error) {
    throw refusal(file, error);
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
    const ours = header.toString("latin1", 0, 16) === MAGIC && header.readUInt32BE(68) === APPLICATION_ID;
    if (length < HEADER_LENGTH || !ours) {
      throw new StoreError(
        length === 0
          ? `store ${file} is empty: it has lost its content; restore it from a backup, or delete it to start anew`
          : `store ${file} is not a store of Portico, or is damaged; name another file in PORTICO_STORE, or restore it`,
      );
    }
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

/** A connection for each collection: Keyv's adapter has one table, and cannot share a connection. */
async function connectAll(file: string, deadline: number, setup: readonly string[] = []): Promise<Store> {
  const engines = new Map<CollectionName, KeyvSqlite>();
  try {
    for (const name of COLLECTIONS) {
      const engine = new KeyvSqlite({
        uri: `sqlite://${file}`,
        table: name,
        // SQLite gives up first, and so says why.
        busyTimeout: Math.floor(deadline / 2),
      });
      engine.on("error", () => undefined);
      for (const statement of setup) await within(deadline, engine.query(statement));
      await prepare(engine, deadline);
      engines.set(name, engine);
    }
    const [first] = engines.values();
    const [{ quick_check: verdict }] = await within(deadline, first!.query("PRAGMA quick_check(1)"));
    if (verdict !== "ok") throw new Error(`quick_check: ${verdict.replace(/\s+/g, " ")}`);
  } catch (error) {
    await Promise.allSettled([...engines.values()].map((engine) => engine.close()));
    throw error;
  }
  return storeOf((name) => sqliteAdapter(name, engines.get(name)!), deadline);
}

async function prepare(engine: KeyvSqlite, deadline: number): Promise<void> {
  const [{ journal_mode: mode }] = await within(deadline, engine.query("PRAGMA journal_mode = WAL"));
  if (mode !== "wal") throw new Error(`the file system does not support SQLite's write-ahead log (got ${mode})`);
  await within(deadline, engine.query("PRAGMA synchronous = FULL"));
}

function sqliteAdapter(name: CollectionName, engine: KeyvSqlite): Adapter {
  const insert = `INSERT INTO ${name} (key, value) SELECT ?, ? WHERE ? IS NULL OR EXISTS (SELECT 1 FROM ${name} WHERE key = ?)
    ON CONFLICT (key) DO NOTHING RETURNING key`;
  return {
    keyv: new Keyv({ store: engine, namespace: name, useKeyPrefix: false, throwOnErrors: true }),
    insert: async (key, value, previous) =>
      (await engine.query(insert, key, value, previous ?? null, previous ?? null)).length === 1,
    keys: async () => {
      const rows: { key: string }[] = await engine.query(`SELECT key FROM ${name} ORDER BY key`);
      return rows.map((row) => row.key);
    },
    close: () => engine.close(),
  };
}

/** Why the file cannot be opened, for the person who starts the process. */
function refusal(file: string, error: unknown): StoreError {
  const cause = error instanceof StoreError && error.cause !== undefined ? error.cause : error;
  if (cause instanceof StoreError && cause.message.startsWith(`store ${file}`)) return cause;
  const { code = "", message } = cause as NodeJS.ErrnoException;
  const reason =
    code === "SQLITE_BUSY" || code === "SQLITE_LOCKED"
      ? "is locked by another process; stop that process, or name another file in PORTICO_STORE"
      : code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "SQLITE_READONLY"
        ? "may not be read and written; give this user the right to"
        : code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB" || message.startsWith("quick_check")
          ? `is damaged (${message}); restore it from a backup`
          : `cannot be opened: ${message}`;
  return new StoreError(`store ${file} ${reason}`, { cause });
}
