/**
 * The store of services in a schema of Postgres: one table, with keys and values as bytes (bytea), as in postgres.ts.
 *
 * Commits that wait for their turn are made together, in one transaction of read committed. It locks their keys, reads
 * their entries, decides each commit on what those before it leave (commit-writes.ts), and writes what has changed. A lock
 * is an advisory lock on a hash of the key, so it holds absent keys too, and every transaction locks in ascending order, so
 * no two wait for each other. Reads lock nothing.
 *
 *     BEGIN, lock the keys, read the clock ──► read the entries ──► decide here ──► write ──► COMMIT
 *
 * A process that hangs between these keeps others from its keys for as long as the server lets it (MAX_IDLE_MS).
 *
 * The server's clock says when an entry expires, because the machines' clocks may differ: a time that a service gives is
 * moved by the difference, and moved back where it is read.
 */
import { createHash } from "node:crypto";
import { CommitQueue } from "./commit-queue.js";
import { type CommitOutcome, decideCommits, type Entries, keysOf, splitChanges } from "./commit-writes.js";
import { Database, type Row } from "./postgres-connection.js";
import { durabilityWarnings } from "./postgres-durability.js";
import { lateError } from "./postgres-errors.js";
import { checkSchema, finishing, prepareSchema, type SchemaKind, unfinished } from "./postgres-schema.js";
import { readPostgresUrl } from "./postgres-url.js";
import {
  type CommitResult,
  type FillServices,
  type KeyRange,
  MAX_TOTAL_BYTES,
  type ServiceStore,
  type StoredEntry,
  type StoredWrite,
} from "./service-store.js";
import { startSweeper } from "./sweeper.js";

const SETTING = "PORTICO_SERVICE_STORE";
const KIND: SchemaKind = {
  title: "a store of Portico's services",
  mark: "services",
  defaultSchema: "portico_services",
  setting: SETTING,
  oldest: 2,
  formats: [
    [
      "CREATE TABLE entries (key bytea PRIMARY KEY, value bytea NOT NULL, version text NOT NULL, expires bigint)",
      "CREATE INDEX expiring ON entries (expires) WHERE expires IS NOT NULL",
    ],
  ],
  // The ID of the installation that it belongs to, in at most one row.
  tables: { installation: "(one boolean PRIMARY KEY DEFAULT true CHECK (one), id text NOT NULL)" },
};

/** Writes, and so locks, of the commits that are made together. By default, a server has room for 6400 locks. */
const MAX_TOGETHER = 200;
/** How long the server waits for this process within a transaction, in milliseconds, before it ends it and its locks. */
const MAX_IDLE_MS = 2_500;
/** How far two clocks may differ and count as the same, in milliseconds. */
const IN_STEP_MS = 1_000;
const MAX_SWEPT = 500;

const msOf = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::bigint`;

interface Options {
  readonly url: string;
  /** How long an operation may take, in milliseconds. */
  readonly deadline: number;
  /** Told what puts acknowledged commits at risk. */
  readonly warn: (message: string) => void;
  readonly mustExist: boolean;
}

/**
 * Opens the store that a URL names. Its schema is made where it is absent, unless it must exist.
 * @throws {StoreError} when it cannot be reached, or is not a store of Portico's services.
 */
export async function openServicePostgres(options: Options): Promise<ServiceStore> {
  return (await open(KIND, options)).store;
}

/**
 * Makes the store in a schema that holds none. One whose filling was broken off is filled on.
 * @throws {StoreError} when the schema holds a store already.
 */
export async function fillServicePostgres(options: Options, fill: FillServices): Promise<void> {
  const { store, database, schema } = await open(unfinished(KIND), options);
  try {
    await fill(store);
    await database.write(finishing(schema), [KIND.mark]);
  } finally {
    await store.close();
  }
}

async function open(kind: SchemaKind, { url, deadline, warn, mustExist }: Options) {
  const address = readPostgresUrl(url, KIND.defaultSchema);
  const { name, schema } = address;
  let id: string | undefined;
  const database = new Database({
    address,
    deadline,
    setting: SETTING,
    check: (client) => checkSchema(client, { kind, schema, id }),
  });
  try {
    await database.use(database.open("write"), async (client) => {
      for (const message of await durabilityWarnings(client)) warn(`store ${name}: ${message}`);
      id = await prepareSchema(client, { kind, name, schema, lost: mustExist ? "and so holds no store" : undefined });
    });
  } catch (error) {
    await database.close();
    throw error;
  }
  return { store: new PostgresServiceStore(database, { id: id ?? "", schema, deadline }), database, schema };
}

/** A schema that is ready. */
interface Opened {
  readonly id: string;
  readonly schema: string;
  readonly deadline: number;
}

class PostgresServiceStore implements ServiceStore {
  readonly name: string;
  readonly id: string;
  readonly #schema: string;
  readonly #database: Database;
  readonly #statements: ReturnType<typeof statementsOf>;
  readonly #queue: CommitQueue;
  readonly #sweeper: NodeJS.Timeout;

  constructor(database: Database, { id, schema, deadline }: Opened) {
    this.name = database.name;
    this.id = id;
    this.#schema = schema;
    this.#database = database;
    this.#statements = statementsOf(`${schema}.entries`, `${schema}.installation`);
    this.#queue = new CommitQueue({
      deadline,
      maxTogether: MAX_TOGETHER,
      transact: (commits) => this.#transact(commits),
      toLateError: (isBegun) => lateError(database.name, { deadline, mayHaveWritten: isBegun }),
    });
    this.#sweeper = startSweeper(() => this.sweep());
  }

  async get(keys: readonly string[]): Promise<(StoredEntry | undefined)[]> {
    const { rows, ahead } = await this.#read("get", [keys.map(bytes)]);
    const found = new Map(rows.map((row) => [textOf(row.key), entryOf(row, ahead)]));
    return keys.map((key) => found.get(key));
  }

  async range({ from, afterFrom, to, limit, reverse }: KeyRange): ReturnType<ServiceStore["range"]> {
    const name = reverse ? "rangeDescending" : "range";
    const values = [bytes(from), afterFrom === true, bytes(to), limit + 1, MAX_TOTAL_BYTES];
    const { rows, ahead } = await this.#read(name, values);
    const entries = rows.slice(0, limit).map((row) => entryOf(row, ahead));
    return { entries, more: Number(rows[0]?.picked ?? 0) > entries.length };
  }

  async count(from: string, to: string): Promise<number> {
    const [row] = await this.#database.read(this.#statements.count, [bytes(from), bytes(to)]);
    return Number(row?.number);
  }

  commit(writes: readonly StoredWrite[]): Promise<CommitResult> {
    return this.#queue.commit(writes);
  }

  async owner(): Promise<string | undefined> {
    const [row] = await this.#database.read(this.#statements.owner, []);
    return row?.id as string | undefined;
  }

  async claim(installation: string, { withEntries = false } = {}): Promise<string | undefined> {
    await this.#database.write(this.#statements.claim, [installation, withEntries]);
    return this.owner();
  }

  async sweep(): Promise<void> {
    for (let swept = MAX_SWEPT; swept === MAX_SWEPT; ) {
      swept = (await this.#database.write(this.#statements.sweep, [lockOf(this.#schema, "sweep")])).length;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await this.#queue.inTurn(() => this.#database.close());
  }

  /** Rows, and by how much the server's clock is ahead. */
  async #read(statement: "get" | "range" | "rangeDescending", values: readonly unknown[]) {
    const sent = Date.now();
    const rows = await this.#database.read(this.#statements[statement], values);
    return { rows, ahead: rows[0] === undefined ? 0 : aheadOf(Number(rows[0].now), sent, Date.now()) };
  }

  async #transact(commits: readonly (readonly StoredWrite[])[]): Promise<readonly CommitOutcome[]> {
    const keys = keysOf(commits);
    const sent = Date.now();
    return this.#database.transact(this.#begin(keys), async ({ now }, query) => {
      const ahead = aheadOf(Number(now), sent, Date.now());
      const rows = await query(this.#statements.read, [keys.map(bytes)]);
      const current = new Map(rows.map((row) => [textOf(row.key), entryOf(row, 0)]));
      const moved = ahead === 0 ? commits : commits.map((writes) => writes.map((write) => moveTime(write, ahead)));
      const { outcomes, changed } = decideCommits(moved, current, Number(now));
      if (changed.size > 0) await query(this.#statements.write, valuesOf(changed));
      return outcomes;
    });
  }

  /** The statements that begin a transaction, lock the keys, and give the server's time. */
  #begin(keys: readonly string[]): string {
    const locks = [...new Set(keys.map((key) => lockOf(this.#schema, key)))].sort((a, b) => (a < b ? -1 : 1));
    return `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${MAX_IDLE_MS};
      SELECT count(pg_advisory_xact_lock(lock)) FROM unnest('{${locks.join(",")}}'::bigint[]) AS lock;
      SELECT ${msOf("clock_timestamp()")} AS now`;
  }
}

/** The statements on the table. Numbers are given as text: what is not UTF-8 comes damaged (see `queryOf`). */
function statementsOf(table: string, owner: string) {
  const columns = "key, value, version, expires::text";
  const present = `(expires IS NULL OR expires > ${msOf("now()")})`;
  // The sizes are read without the values, so that only what is given is read.
  const range = (order: "ASC" | "DESC") => `WITH
    picked AS MATERIALIZED (SELECT key, octet_length(value) AS bytes FROM ${table}
      WHERE key >= $1 AND NOT ($2::boolean AND key = $1) AND key < $3 AND ${present} ORDER BY key ${order} LIMIT $4::bigint),
    totals AS (SELECT key, bytes, sum(bytes) OVER (ORDER BY key ${order} ROWS UNBOUNDED PRECEDING) AS total FROM picked)
    SELECT ${columns}, (SELECT count(*)::text FROM picked) AS picked, ${msOf("now()")}::text AS now FROM ${table}
      WHERE key IN (SELECT key FROM totals WHERE total <= $5::bigint OR total = bytes) ORDER BY key ${order}`;
  return {
    get: {
      name: "get",
      text: `SELECT ${columns}, ${msOf("now()")}::text AS now FROM ${table} WHERE key = ANY($1::bytea[]) AND ${present}`,
    },
    range: { name: "range", text: range("ASC") },
    rangeDescending: { name: "rangeDescending", text: range("DESC") },
    count: {
      name: "count",
      text: `SELECT count(*)::text AS number FROM ${table} WHERE key >= $1 AND key < $2 AND ${present}`,
    },
    owner: { name: "owner", text: `SELECT id FROM ${owner}` },
    claim: {
      name: "claim",
      text: `INSERT INTO ${owner} (id) SELECT $1 WHERE $2::boolean OR NOT EXISTS (SELECT 1 FROM ${table}) ON CONFLICT DO NOTHING`,
    },
    read: { name: "read", text: `SELECT ${columns} FROM ${table} WHERE key = ANY($1::bytea[])` },
    write: {
      name: "write",
      text: `WITH removed AS (DELETE FROM ${table} WHERE key = ANY($5::bytea[]))
        INSERT INTO ${table} (key, value, version, expires)
        SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::bigint[])
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires`,
    },
    // By one process at a time. It waits for no commit, and so none waits for one that waits for it.
    sweep: {
      name: "sweep",
      text: `WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock($1::bigint) AS mine),
        expired AS MATERIALIZED (SELECT key FROM ${table} WHERE expires <= ${msOf("now()")} AND (SELECT mine FROM turn)
          ORDER BY expires LIMIT ${MAX_SWEPT} FOR UPDATE SKIP LOCKED)
        DELETE FROM ${table} WHERE key IN (SELECT key FROM expired) RETURNING true`,
    },
  };
}

/** The values of the statement `write`. */
function valuesOf(changed: Entries): unknown[] {
  const { set, deleted } = splitChanges(changed);
  return [
    set.map(({ key }) => bytes(key)),
    set.map(({ value }) => bytes(value)),
    set.map(({ version }) => version),
    set.map(({ expires }) => expires ?? null),
    deleted.map(bytes),
  ];
}

/** The number that a key is locked by, as text. Keys that have the same one wait for each other needlessly. */
function lockOf(schema: string, key: string): string {
  return createHash("sha1").update(`${schema}\0${key}`).digest().readBigInt64BE().toString();
}

/**
 * By how much the server's clock is ahead of this machine's, in milliseconds; 0 where they are in step.
 * @param sent when the server was asked for its time, and `received` when that came, by this machine's clock
 */
function aheadOf(now: number, sent: number, received: number): number {
  const ahead = Math.min(0, now - sent) || Math.max(0, now - received);
  return Math.abs(ahead) < IN_STEP_MS ? 0 : Math.round(ahead);
}

function moveTime(write: StoredWrite, by: number): StoredWrite {
  if (!("expires" in write)) return write;
  return { ...write, expires: moved(write.expires, by) };
}

function moved(expires: number | undefined, by: number): number | undefined {
  return expires === undefined ? undefined : Math.min(expires + by, Number.MAX_SAFE_INTEGER);
}

function entryOf({ key, value, version, expires }: Row, ahead: number): StoredEntry {
  const time = expires === null ? undefined : Number(expires);
  return { key: textOf(key), value: textOf(value), version: version as string, expires: moved(time, -ahead) };
}

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

function textOf(value: unknown): string {
  return (value as Buffer).toString();
}
