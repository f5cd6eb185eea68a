/**
 * The store of services in a file of SQLite: one table, a connection for reads, and one for writes.
 *
 * Commits that wait for their turn are made together, in one transaction and with one wait for the disk: their keys are
 * read, each commit is decided on what those before it leave (commit-writes.ts), and what has changed is written. The
 * transaction holds SQLite's lock from its beginning, so no other process writes in between.
 *
 * Keyv's adapter connects, but its own `get` is not used: it deletes what has expired by key alone, and so may delete what
 * another has written meanwhile.
 */
import { randomUUID } from "node:crypto";
import type KeyvSqlite from "@keyv/sqlite";
import { CommitQueue } from "./commit-queue.js";
import { type CommitOutcome, decideCommits, type Entries, keysOf, splitChanges } from "./commit-writes.js";
import {
  type CommitResult,
  type FillServices,
  type KeyRange,
  MAX_TOTAL_BYTES,
  type ServiceStore,
  type StoredEntry,
  type StoredWrite,
} from "./service-store.js";
import {
  connect,
  createFile,
  endWithin,
  type FileKind,
  fillFile,
  keepsFile,
  lateError,
  readHeader,
  toStoreError,
} from "./sqlite-file.js";
import { StoreError } from "./store.js";
import { startSweeper } from "./sweeper.js";

/** Its mark is "Pors". */
const KIND: FileKind = {
  title: "a store of Portico's services",
  applicationId: 0x506f7273,
  format: 1,
  setting: "PORTICO_SERVICE_STORE",
};

const TABLE = "entries";
/** The store's ID, in a table of one row. */
const IDENTITY = "identity";
/** The ID of the installation that it belongs to, in a table of at most one row. */
const OWNER = "installation";
/** Completes the table that Keyv's adapter makes, of `key` and `value`. */
const COMPLETE = [
  `ALTER TABLE ${TABLE} ADD COLUMN version TEXT`,
  `ALTER TABLE ${TABLE} ADD COLUMN expires INTEGER`,
  `CREATE INDEX expiring ON ${TABLE} (expires) WHERE expires IS NOT NULL`,
  `CREATE TABLE ${IDENTITY} (id TEXT NOT NULL)`,
  `CREATE TABLE ${OWNER} (id TEXT NOT NULL)`,
];

/** Writes of the commits that are made together. */
const MAX_TOGETHER = 1024;
const MAX_SWEPT = 500;

/**
 * Opens the store in a file.
 * @param deadline how long an operation may take, in milliseconds
 * @param mustExist whether a file that is absent is an error. Else it is made
 * @throws {StoreError} when it is locked, unreadable, or not a store of Portico's services.
 */
export async function openServiceSqlite(file: string, deadline: number, mustExist = false): Promise<ServiceStore> {
  try {
    if (!readHeader(KIND, file)) {
      if (mustExist) throw new StoreError(`store ${file} does not exist`);
      await createFile(KIND, file, (draft, marks) => complete(draft, marks, deadline));
    }
    return await openFile(file, file, deadline);
  } catch (error) {
    throw toStoreError(KIND, file, error as Error);
  }
}

/**
 * Makes the store in a file that is absent. It gets its name when it is filled, so it is there complete or not at all.
 * @throws {StoreError} when the file is there.
 */
export async function fillServiceSqlite(file: string, deadline: number, fill: FillServices): Promise<void> {
  await fillFile(KIND, file, async (draft, marks) => {
    await complete(draft, marks, deadline);
    const store = await openFile(draft, file, deadline);
    await fill(store).finally(() => store.close());
  });
}

/** Makes the tables of a new file, and marks it. */
async function complete(draft: string, marks: readonly string[], deadline: number): Promise<void> {
  const setup = [...marks, ...COMPLETE, `INSERT INTO ${IDENTITY} VALUES ('${randomUUID()}')`];
  await (await connect({ kind: KIND, file: draft, table: TABLE, deadline, setup })).close();
}

/** @param name of the file, for messages */
async function openFile(file: string, name: string, deadline: number): Promise<ServiceStore> {
  const open = () => connect({ kind: KIND, file, table: TABLE, deadline });
  const reader = await open();
  const writer = await open();
  const [{ id }] = await writer.query(`SELECT id FROM ${IDENTITY}`);
  return new SqliteServiceStore({ name, id, reader, writer, checkFile: keepsFile(file, name), deadline });
}

/** A row of the table. */
interface Row extends Omit<StoredEntry, "expires"> {
  readonly expires: number | null;
}

/** An open file. */
interface Opened {
  readonly name: string;
  readonly id: string;
  readonly reader: KeyvSqlite;
  readonly writer: KeyvSqlite;
  /** @throws {StoreError} where the file is not the one that was opened. */
  readonly checkFile: () => void;
  readonly deadline: number;
}

class SqliteServiceStore implements ServiceStore {
  readonly name: string;
  readonly id: string;
  readonly #reader: KeyvSqlite;
  readonly #writer: KeyvSqlite;
  readonly #checkFile: () => void;
  readonly #deadline: number;
  readonly #queue: CommitQueue;
  readonly #sweeper: NodeJS.Timeout;

  constructor({ name, id, reader, writer, checkFile, deadline }: Opened) {
    this.name = name;
    this.id = id;
    this.#reader = reader;
    this.#writer = writer;
    this.#checkFile = checkFile;
    this.#deadline = deadline;
    this.#queue = new CommitQueue({
      deadline,
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

  async range({ from, afterFrom, to, limit, reverse }: KeyRange): ReturnType<ServiceStore["range"]> {
    const order = reverse ? "DESC" : "ASC";
    // The lengths are read without the values, so that only what is given is in memory.
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
    // By the indexes alone: where a value is large, the time behind it in its row is read through all the value's pages.
    const query = `SELECT (SELECT count(*) FROM ${TABLE} WHERE key >= ?1 AND key < ?2)
      - (SELECT count(*) FROM ${TABLE} INDEXED BY expiring WHERE expires <= ?3 AND key >= ?1 AND key < ?2) AS number`;
    const rows: { readonly number: number }[] = await this.#within(this.#reader.query(query, from, to, Date.now()));
    return rows[0]!.number;
  }

  commit(writes: readonly StoredWrite[]): Promise<CommitResult> {
    return this.#queue.commit(writes);
  }

  async owner(): Promise<string | undefined> {
    const rows: { readonly id: string }[] = await this.#within(this.#reader.query(`SELECT id FROM ${OWNER}`));
    return rows[0]?.id;
  }

  async claim(installation: string, { withEntries = false } = {}): Promise<string | undefined> {
    // One statement, which takes the lock for writes before it reads.
    const isFree = `NOT EXISTS (SELECT 1 FROM ${OWNER}) AND (? OR NOT EXISTS (SELECT 1 FROM ${TABLE}))`;
    const statement = `INSERT INTO ${OWNER} SELECT ? WHERE ${isFree}`;
    await this.#within(
      this.#queue.inTurn(async () => {
        this.#checkFile();
        await this.#writer.query(statement, installation, withEntries ? 1 : 0);
        this.#checkFile();
      }),
    );
    return this.owner();
  }

  async sweep(): Promise<void> {
    const statement = `DELETE FROM ${TABLE} WHERE key IN (SELECT key FROM ${TABLE} WHERE expires <= ? LIMIT ${MAX_SWEPT}) RETURNING 1`;
    for (let swept = MAX_SWEPT; swept === MAX_SWEPT; ) {
      const rows: unknown[] = await this.#within(this.#queue.inTurn(() => this.#writer.query(statement, Date.now())));
      swept = rows.length;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    // One by one: SQLite writes its log back into the file when the last connection closes, if it is alone by then.
    await this.#within(this.#queue.inTurn(() => this.#writer.close()));
    await this.#within(this.#reader.close());
  }

  #within<T>(operation: Promise<T>): Promise<T> {
    return endWithin(KIND, this.name, this.#deadline, operation);
  }

  async #transact(commits: readonly (readonly StoredWrite[])[]): Promise<readonly CommitOutcome[]> {
    try {
      this.#checkFile();
      await this.#writer.query("BEGIN IMMEDIATE");
      const current = await readEntries(this.#writer, keysOf(commits));
      const { outcomes, changed } = decideCommits(commits, current, Date.now());
      await this.#write(changed);
      await this.#writer.query("COMMIT");
      this.#checkFile();
      return outcomes;
    } catch (error) {
      // Where no transaction is open, as after a full disk, this fails too.
      await this.#writer.query("ROLLBACK").catch(() => undefined);
      throw toStoreError(KIND, this.name, error as Error);
    }
  }

  async #write(changed: Entries): Promise<void> {
    const { set, deleted } = splitChanges(changed);
    if (set.length > 0) {
      const rows = set.map(({ key, value, version, expires }) => [key, value, version, expires ?? null]);
      const columns = [0, 1, 2, 3].map((index) => `value ->> ${index}`).join(", ");
      await this.#writer.query(
        `INSERT INTO ${TABLE} (key, value, version, expires) SELECT ${columns} FROM json_each(?) WHERE true
          ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires`,
        JSON.stringify(rows),
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
