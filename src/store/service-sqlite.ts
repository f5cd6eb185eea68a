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
import type KeyvSqlite from "@keyv/sqlite";
import { Code, StatusError } from "../errors.js";
import { decideCommit, type Entries } from "./commit-writes.js";
import {
  type CommitResult,
  type KeyRange,
  MAX_TOTAL_BYTES,
  type ServiceStore,
  type StoredEntry,
  type StoredWrite,
} from "./service-store.js";
import { connect, createFile, endWithin, type FileKind, readHeader, toStoreError } from "./sqlite-file.js";

/** Its mark is "Pors". */
const KIND: FileKind = {
  title: "a store of Portico's services",
  applicationId: 0x506f7273,
  format: 0,
  setting: "PORTICO_SERVICE_STORE",
};

const TABLE = "entries";
/** Completes the table that Keyv's adapter makes, of `key` and `value`. */
const COMPLETE = [
  `ALTER TABLE ${TABLE} ADD COLUMN version TEXT`,
  `ALTER TABLE ${TABLE} ADD COLUMN expires INTEGER`,
  `CREATE INDEX expiring ON ${TABLE} (expires) WHERE expires IS NOT NULL`,
];

/** Commits, and characters of their values, that may wait for their turn. */
const MAX_WAITING = 4096;
const MAX_WAITING_LENGTH = 64 * 1024 ** 2;
/** Commits, and characters of their values, that are made together. */
const MAX_TOGETHER = 256;
const MAX_TOGETHER_LENGTH = 8 * 1024 ** 2;
/** How often entries whose time has passed are deleted, in milliseconds, and how many of them in one transaction. */
const SWEEP_INTERVAL_MS = 60_000;
const MAX_SWEPT = 500;

/**
 * Opens the store in a file, which is made where it is absent.
 * @param deadline how long an operation may take, in milliseconds
 * @throws {StoreError} when it is locked, unreadable, or not a store of Portico's services.
 */
export async function openServiceSqlite(file: string, deadline: number): Promise<ServiceStore> {
  const open = (path: string, setup: readonly string[] = []) =>
    connect({ kind: KIND, file: path, table: TABLE, deadline, setup });
  try {
    if (!readHeader(KIND, file)) {
      await createFile(KIND, file, async (draft, mark) => (await open(draft, [mark, ...COMPLETE])).close());
    }
    const reader = await open(file);
    return new SqliteServiceStore(file, reader, await open(file), deadline);
  } catch (error) {
    throw toStoreError(KIND, file, error as Error);
  }
}

/** A commit that waits for its turn. */
interface Waiting {
  readonly writes: readonly StoredWrite[];
  readonly length: number;
  /** When its caller gives up, in milliseconds of `performance.now()`. */
  readonly latest: number;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

/** A row of the table. */
interface Row extends Omit<StoredEntry, "expires"> {
  readonly expires: number | null;
}

class SqliteServiceStore implements ServiceStore {
  readonly name: string;
  readonly #reader: KeyvSqlite;
  readonly #writer: KeyvSqlite;
  readonly #deadline: number;
  #waiting: Waiting[] = [];
  #waitingLength = 0;
  /** The last of the transactions, which run one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #sweeper: NodeJS.Timeout;

  constructor(file: string, reader: KeyvSqlite, writer: KeyvSqlite, deadline: number) {
    this.name = file;
    this.#reader = reader;
    this.#writer = writer;
    this.#deadline = deadline;
    this.#sweeper = setInterval(() => void this.sweep().catch(() => undefined), SWEEP_INTERVAL_MS).unref();
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
    const query = `SELECT count(*) AS number FROM ${TABLE} WHERE key >= ? AND key < ? AND (expires IS NULL OR expires > ?)`;
    const rows: { readonly number: number }[] = await this.#within(this.#reader.query(query, from, to, Date.now()));
    return rows[0]!.number;
  }

  commit(writes: readonly StoredWrite[]): Promise<CommitResult> {
    let length = 0;
    for (const write of writes) if (write.kind === "set") length += write.value.length;
    if (this.#waiting.length >= MAX_WAITING || this.#waitingLength + length > MAX_WAITING_LENGTH) {
      const message = "too many writes are waiting for the store; try again";
      return Promise.reject(new StatusError(Code.RESOURCE_EXHAUSTED, message));
    }
    const latest = performance.now() + this.#deadline;
    const done = new Promise<CommitResult>((resolve, reject) => {
      this.#waiting.push({ writes, length, latest, resolve, reject });
    });
    this.#waitingLength += length;
    if (this.#waiting.length === 1) this.#inTurn(() => this.#commitTogether());
    return this.#within(done);
  }

  async sweep(): Promise<void> {
    const statement = `DELETE FROM ${TABLE} WHERE key IN (SELECT key FROM ${TABLE} WHERE expires <= ? LIMIT ${MAX_SWEPT}) RETURNING 1`;
    for (let swept = MAX_SWEPT; swept === MAX_SWEPT; ) {
      const rows: unknown[] = await this.#within(this.#inTurn(() => this.#writer.query(statement, Date.now())));
      swept = rows.length;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    // One by one: SQLite writes its log back into the file when the last connection closes, if it is alone by then.
    await this.#within(this.#inTurn(() => this.#writer.close()));
    await this.#within(this.#reader.close());
  }

  #within<T>(operation: Promise<T>): Promise<T> {
    return endWithin(KIND, this.name, this.#deadline, operation);
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(act);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** Commits all that waits, or as much as may be done together, and then the rest in its turn. */
  async #commitTogether(): Promise<void> {
    let length = 0;
    let count = 0;
    for (const waiting of this.#waiting) {
      length += waiting.length;
      if (count > 0 && (count === MAX_TOGETHER || length > MAX_TOGETHER_LENGTH)) break;
      count++;
    }
    const together = this.#waiting.splice(0, count);
    for (const waiting of together) this.#waitingLength -= waiting.length;
    if (this.#waiting.length > 0) this.#inTurn(() => this.#commitTogether());
    // A caller that has given up was told that nothing is known, and nothing is written for it.
    const now = performance.now();
    const timely = together.filter(({ latest }) => latest > now);
    try {
      for (const answer of await this.#transact(timely)) answer();
    } catch (error) {
      for (const { reject } of timely) reject(error);
    }
  }

  /** Makes the commits in one transaction. @returns what tells their callers. */
  async #transact(commits: readonly Waiting[]): Promise<(() => void)[]> {
    const answers: (() => void)[] = [];
    if (commits.length === 0) return answers;
    await this.#writer.query("BEGIN IMMEDIATE");
    try {
      const keys = new Set(commits.flatMap(({ writes }) => writes.map(({ key }) => key)));
      const current = await readEntries(this.#writer, [...keys]);
      const changed = new Map<string, StoredEntry | undefined>();
      const now = Date.now();
      for (const { writes, resolve, reject } of commits) {
        try {
          const decided = decideCommit(writes, current, now);
          for (const [key, entry] of decided.changed) {
            current.set(key, entry);
            changed.set(key, entry);
          }
          answers.push(() => resolve(decided.result));
        } catch (error) {
          answers.push(() => reject(error));
        }
      }
      await this.#write(changed);
      await this.#writer.query("COMMIT");
      return answers;
    } catch (error) {
      // Where the transaction is over already, as after a full disk, this fails too.
      await this.#writer.query("ROLLBACK").catch(() => undefined);
      throw error;
    }
  }

  async #write(changed: Entries): Promise<void> {
    const set = [...changed.values()].filter((entry) => entry !== undefined);
    const deleted = [...changed].filter(([, entry]) => entry === undefined).map(([key]) => key);
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
