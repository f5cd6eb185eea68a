/**
 * The store in a SQLite file: one table, one connection for reads, and one for writes.
 *
 * Waiting commits are made together, in one transaction and with one flush to disk. The transaction
 * reads their keys, decides each commit on the results of the earlier ones (commit-writes.ts), and
 * writes the changes. It holds SQLite's write lock from its beginning, so no other process writes
 * in between.
 *
 * Keyv's adapter opens the connections and runs the SQL. Its own `get` is not used: it deletes
 * expired entries by key alone, and so may delete a value that another process has written
 * meanwhile.
 */

import { randomUUID } from "node:crypto";
import type KeyvSqlite from "@keyv/sqlite";
import { CommitQueue } from "./commit-queue.js";
import {
  type CommitOutcome,
  type CurrentEntries,
  decideCommits,
  keysOf,
  splitChanges,
  withUsage,
} from "./commit-writes.js";
import {
  connect,
  createFile,
  endWithin,
  type FileKind,
  fillFile,
  inodeOf,
  lateError,
  notInPlace,
  readHeader,
  toStoreError,
  watchFile,
} from "./sqlite-file.js";
import { whenFree } from "./sqlite-lock.js";
import {
  type CommitOptions,
  type CommitResult,
  type Fill,
  type KeyRange,
  type KeyValueStore,
  MAX_TOTAL_BYTES,
  STORE_TITLES,
  type StoredEntry,
  type StoredWrite,
  StoreError,
  type StoreKind,
} from "./store.js";

import { startSweeper } from "./sweeper.js";

/** The kinds of files. In ASCII the marks are "Port" and "Pors". */
export const FILE_KINDS: Readonly<Record<StoreKind, FileKind>> = {
  authority: {
    ...STORE_TITLES.authority,
    applicationId: 0x506f7274,
    format: 2,
    isChecked: true,
  },
  services: {
    ...STORE_TITLES.services,
    applicationId: 0x506f7273,
    format: 1,
    isChecked: false,
  },
};

const TABLE = "entries";
/** The table of one row with the store's ID. */
const IDENTITY = "identity";
/** The table of at most one row with the ID of the installation that the store belongs to. */
const OWNER = "installation";
/** Completes the table that Keyv's adapter creates with the columns `key` and `value`. */
const COMPLETE = [
  `ALTER TABLE ${TABLE} ADD COLUMN version TEXT`,
  `ALTER TABLE ${TABLE} ADD COLUMN expires INTEGER`,
  `CREATE INDEX expiring ON ${TABLE} (expires) WHERE expires IS NOT NULL`,
  `CREATE TABLE ${IDENTITY} (id TEXT NOT NULL)`,
  `CREATE TABLE ${OWNER} (id TEXT NOT NULL)`,
];

/** The maximum number of writes in commits that are made together. */
const MAX_TOGETHER = 1024;
const MAX_SWEPT = 500;
/**
 * The maximum number of rows that one statement writes. SQLite allows 32,766 parameters
 * (https://www.sqlite.org/limits.html, 9).
 */
const MAX_ROWS = 1_000;

/** How a file is opened. */
interface OpenFile {
  readonly kind: FileKind;
  readonly file: string;
  /** The maximum time for an operation, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Opens the store in a file. Creates the file if it is absent and may be created.
 * @param opening `lost` is undefined if the file may be created. Otherwise it is the end of the
 *   error for an absent file: empty, or a comma and what to do
 * @throws {StoreError} if it is locked, unreadable, damaged, or not a store of this kind
 */
export async function openSqlite(opening: OpenFile & { readonly lost: string | undefined }): Promise<KeyValueStore> {
  const { kind, file, lost } = opening;
  try {
    if (!readHeader(kind, file)) {
      if (lost !== undefined) throw new StoreError(`store ${file} does not exist${lost}`);
      await createFile(kind, file, (draft, marks) => complete({ ...opening, file: draft }, marks));
    }
    const before = inodeOf(file);
    return await openFile(opening, file).catch((error) => {
      // `portico restore` locks the old file until it has replaced it. This waited for the lock.
      if (inodeOf(file) === before) throw error;
      return openFile(opening, file);
    });
  } catch (error) {
    throw toStoreError(kind, file, error as Error);
  }
}

/**
 * Creates and fills the store in a file that is absent. The file gets its name after it is filled,
 * so an incomplete file is never visible.
 * @throws {StoreError} if the file exists
 */
export async function fillSqlite(opening: OpenFile, fill: Fill): Promise<void> {
  const { kind, file } = opening;
  await fillFile(kind, file, async (draft, marks) => {
    await complete({ ...opening, file: draft }, marks);
    const store = await openFile({ ...opening, file: draft }, file);
    await fill(store).finally(() => store.close());
  });
}

/** Creates the tables of a new file, and marks it. */
async function complete(opening: OpenFile, marks: readonly string[]): Promise<void> {
  const setup = [...marks, ...COMPLETE, `INSERT INTO ${IDENTITY} VALUES ('${randomUUID()}')`];
  await (await connect({ ...opening, table: TABLE, setup })).close();
}

/** @param name the file's name for messages */
async function openFile(opening: OpenFile, name: string): Promise<KeyValueStore> {
  const { kind, file, timeoutMs: deadline } = opening;
  const inode = inodeOf(file);
  const open = () => connect({ ...opening, table: TABLE });
  const engines: KeyvSqlite[] = [];
  try {
    const reader = await open();
    engines.push(reader);
    const writer = await open();
    engines.push(writer);
    const query = (statement: string) => endWithin(kind, file, deadline, writer.query(statement));
    if (kind.isChecked) {
      const [{ quick_check: verdict }] = await query("PRAGMA quick_check(1)");
      if (verdict !== "ok") throw new Error(`quick_check: ${verdict.replace(/\s+/g, " ")}`);
    }
    await query("PRAGMA busy_timeout = 0");
    const [{ id }] = await query(`SELECT id FROM ${IDENTITY}`);
    if (inodeOf(file) !== inode) throw notInPlace(name);
    return new SqliteStore({ kind, name, id, reader, writer, isInPlace: watchFile(file), timeoutMs: deadline });
  } catch (error) {
    await Promise.allSettled(engines.map((engine) => engine.close()));
    throw error;
  }
}

/** A row of the table. */
interface Row extends Omit<StoredEntry, "expires"> {
  readonly expires: number | null;
}

interface Opened {
  readonly kind: FileKind;
  readonly name: string;
  readonly id: string;
  readonly reader: KeyvSqlite;
  readonly writer: KeyvSqlite;
  /** Whether the file is the one that was opened. */
  readonly isInPlace: () => boolean;
  readonly timeoutMs: number;
}

class SqliteStore implements KeyValueStore {
  readonly name: string;
  readonly id: string;
  readonly mayBeStale = false;
  readonly isInPlace: () => boolean;
  readonly #kind: FileKind;
  readonly #reader: KeyvSqlite;
  readonly #writer: KeyvSqlite;
  readonly #timeoutMs: number;
  readonly #queue: CommitQueue;
  readonly #sweeper: NodeJS.Timeout;

  constructor({ kind, name, id, reader, writer, isInPlace, timeoutMs: deadline }: Opened) {
    this.#kind = kind;
    this.name = name;
    this.id = id;
    this.#reader = reader;
    this.#writer = writer;
    this.isInPlace = isInPlace;
    this.#timeoutMs = deadline;
    this.#queue = new CommitQueue({
      timeoutMs: deadline,
      maxTogether: MAX_TOGETHER,
      transact: (commits) => this.#transact(commits),
      toLateError: () => lateError(name, deadline),
    });
    this.#sweeper = startSweeper(() => this.sweep());
  }

  async get(keys: readonly string[]): Promise<(StoredEntry | undefined)[]> {
    const found = await this.#within(readEntries(this.#reader, keys));
    const now = Date.now();
    return keys.map((key) => {
      const entry = found.get(key);
      return entry?.expires !== undefined && entry.expires <= now ? undefined : entry;
    });
  }

  async range({ from, afterFrom, to, limit, reverse }: KeyRange): ReturnType<KeyValueStore["range"]> {
    const order = reverse ? "DESC" : "ASC";
    // The lengths are read without the values, so that only the returned values are in memory.
    const query = `WITH
      picked AS MATERIALIZED (SELECT key, octet_length(value) AS bytes FROM ${TABLE}
        WHERE key ${afterFrom ? ">" : ">="} ? AND key < ? AND (expires IS NULL OR expires > ?) ORDER BY key ${order} LIMIT ?),
      totals AS (SELECT key, bytes, sum(bytes) OVER (ORDER BY key ${order} ROWS UNBOUNDED PRECEDING) AS total FROM picked)
      SELECT key, value, version, expires, (SELECT count(*) FROM picked) AS picked FROM ${TABLE}
        WHERE key IN (SELECT key FROM totals WHERE total <= ? OR total = bytes) ORDER BY key ${order}`;
    const values = [from, to, Date.now(), limit + 1, MAX_TOTAL_BYTES];
    const rows: (Row & { readonly picked: number })[] = await this.#within(this.#reader.query(query, ...values));
    const entries = rows.slice(0, limit).map(entryOf);
    return { entries, more: (rows[0]?.picked ?? 0) > entries.length };
  }

  async count(from: string, to: string): Promise<number> {
    // Uses only the indexes. In a row, the expiry time is stored after the value, so reading it
    // means to read all pages of a large value.
    const query = `SELECT (SELECT count(*) FROM ${TABLE} WHERE key >= ?1 AND key < ?2)
      - (SELECT count(*) FROM ${TABLE} INDEXED BY expiring WHERE expires <= ?3 AND key >= ?1 AND key < ?2) AS number`;
    const rows: { readonly number: number }[] = await this.#within(this.#reader.query(query, from, to, Date.now()));
    return rows[0]!.number;
  }

  async keys(from: string, to: string): Promise<string[]> {
    const query = `SELECT key FROM ${TABLE} WHERE key >= ? AND key < ? AND (expires IS NULL OR expires > ?) ORDER BY key`;
    const rows: { readonly key: string }[] = await this.#within(this.#reader.query(query, from, to, Date.now()));
    return rows.map(({ key }) => key);
  }

  /** Every commit is durable. */
  commit(writes: readonly StoredWrite[], _options?: CommitOptions): Promise<CommitResult> {
    return this.#queue.commit(writes);
  }

  /** SQLite does not notify other processes. */
  follow(): () => void {
    return () => undefined;
  }

  async time(): Promise<undefined> {
    return undefined;
  }

  async size(): Promise<number> {
    const query = `SELECT (page_count - freelist_count) * page_size AS bytes
      FROM pragma_page_count, pragma_freelist_count, pragma_page_size`;
    const rows: { readonly bytes: number }[] = await this.#within(this.#reader.query(query));
    return rows[0]!.bytes;
  }

  async owner(): Promise<string | undefined> {
    const rows: { readonly id: string }[] = await this.#within(this.#reader.query(`SELECT id FROM ${OWNER}`));
    return rows[0]?.id;
  }

  async claim(installation: string, { withEntries = false } = {}): Promise<string | undefined> {
    // One statement takes the write lock before it reads.
    const isFree = `NOT EXISTS (SELECT 1 FROM ${OWNER}) AND (? OR NOT EXISTS (SELECT 1 FROM ${TABLE}))`;
    const statement = `INSERT INTO ${OWNER} SELECT ? WHERE ${isFree}`;
    await this.#within(
      this.#queue.inTurn(async () => {
        this.#checkFile();
        await this.#write(statement, installation, withEntries ? 1 : 0);
        this.#checkFile();
      }),
    );
    return this.owner();
  }

  async sweep(): Promise<void> {
    const statement = `DELETE FROM ${TABLE} WHERE key IN (SELECT key FROM ${TABLE} WHERE expires <= ? LIMIT ${MAX_SWEPT}) RETURNING 1`;
    for (let swept = MAX_SWEPT; swept === MAX_SWEPT; ) {
      const rows: unknown[] = await this.#within(this.#queue.inTurn(() => this.#write(statement, Date.now())));
      swept = rows.length;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    // Closes one connection after the other: SQLite writes its log back into the file when the last
    // open connection closes.
    await this.#within(this.#queue.inTurn(() => this.#writer.close()));
    await this.#within(this.#reader.close());
  }

  #within<T>(operation: Promise<T>): Promise<T> {
    return endWithin(this.#kind, this.name, this.#timeoutMs, operation);
  }

  /** @throws {StoreError} if what is written now would be lost */
  #checkFile(): void {
    if (!this.isInPlace()) throw notInPlace(this.name);
  }

  async #transact(commits: readonly (readonly StoredWrite[])[]): Promise<readonly CommitOutcome[]> {
    try {
      this.#checkFile();
      await this.#write("BEGIN IMMEDIATE");
      const read = await readEntries(this.#writer, keysOf(commits));
      const current = await withUsage(read, commits, (from, to) => this.#bytesIn(from, to));
      const { outcomes, changed } = decideCommits(commits, current, Date.now());
      await this.#apply(changed);
      await this.#writer.query("COMMIT");
      this.#checkFile();
      return outcomes;
    } catch (error) {
      // Fails if no transaction is open, for example after a full disk.
      await this.#writer.query("ROLLBACK").catch(() => undefined);
      throw toStoreError(this.#kind, this.name, error as Error);
    }
  }

  async #bytesIn(from: string, to: string): Promise<number> {
    const query = `SELECT coalesce(sum(octet_length(key) + octet_length(value)), 0) AS bytes FROM ${TABLE}
      WHERE key >= ? AND key < ?`;
    const rows: { readonly bytes: number }[] = await this.#writer.query(query, from, to);
    return rows[0]!.bytes;
  }

  /** Runs a statement that takes SQLite's write lock. */
  #write(...statement: Parameters<KeyvSqlite["query"]>): ReturnType<KeyvSqlite["query"]> {
    return whenFree(this.#timeoutMs, () => this.#writer.query(...statement));
  }

  async #apply(changed: CurrentEntries): Promise<void> {
    const { set, deleted } = splitChanges(changed);
    // The values are parameters: in JSON, a large value would be parsed again for each column.
    for (let start = 0; start < set.length; start += MAX_ROWS) {
      const rows = set.slice(start, start + MAX_ROWS);
      await this.#writer.query(
        `INSERT INTO ${TABLE} (key, value, version, expires) VALUES ${rows.map(() => "(?, ?, ?, ?)").join(", ")}
          ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires`,
        ...rows.flatMap(({ key, value, version, expires }) => [key, value, version, expires ?? null]),
      );
    }
    if (deleted.length > 0) {
      const statement = `DELETE FROM ${TABLE} WHERE key IN (SELECT value FROM json_each(?))`;
      await this.#writer.query(statement, JSON.stringify(deleted));
    }
  }
}

async function readEntries(engine: KeyvSqlite, keys: readonly string[]): Promise<Map<string, StoredEntry | undefined>> {
  const statement = `SELECT key, value, version, expires FROM ${TABLE} WHERE key IN (SELECT value FROM json_each(?))`;
  const rows: Row[] = await engine.query(statement, JSON.stringify(keys));
  return new Map(rows.map((row) => [row.key, entryOf(row)]));
}

function entryOf({ key, value, version, expires }: Row): StoredEntry {
  return { key, value, version, expires: expires ?? undefined };
}
