/**
 * The store in a schema of Postgres: one table, with keys and values as bytes (bytea). So keys are
 * ordered by their bytes, whatever the database's collation is. Values may have any character; the
 * type text cannot store U+0000.
 *
 * Waiting commits are made together, in one transaction (read committed). The transaction locks
 * their keys, reads their entries, decides each commit on the results of the earlier ones
 * (commit-writes.ts), and writes the changes. A lock is an advisory lock on a hash of the key, so
 * absent keys can be locked too. Every transaction locks in ascending order, so transactions cannot
 * deadlock. Reads take no locks.
 *
 *     BEGIN, lock the keys, read the clock and the entries ──► decide here ──► write, COMMIT
 *
 * So a commit takes two round trips. If a process hangs between them, other processes wait for its
 * keys until the server ends the transaction (MAX_IDLE_MS). Each collection of the authority has
 * two queues of commits: durable ones, and others. So a change that waits for another authority or
 * for a standby does not delay the renewal of a lease record, or a report.
 *
 * The server's clock decides when an entry expires, because the clocks of the machines may differ.
 * An expiry time is adjusted by the difference when it is written, and back when it is read.
 */

import { createHash } from "node:crypto";
import type pg from "pg";
import { CommitQueue } from "./commit-queue.js";
import { type CommitOutcome, decideCommits, keysOf, splitChanges, withUsage } from "./commit-writes.js";
import { Database, type Row } from "./postgres-connection.js";
import { durabilityWarnings } from "./postgres-durability.js";
import { lateError } from "./postgres-errors.js";
import { Hints } from "./postgres-hints.js";
import { checkSchema, finishing, prepareSchema, type SchemaKind, unfinished } from "./postgres-schema.js";
import { MAX_SWEPT, msOf, readText, statementsOf, writeText } from "./postgres-statements.js";
import { readPostgresUrl } from "./postgres-url.js";
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
  type StoreKind,
} from "./store.js";
import { startSweeper } from "./sweeper.js";

/** What both kinds of schemas have in common. */
const TABLES = {
  formats: [
    [
      "CREATE TABLE entries (key bytea PRIMARY KEY, value bytea NOT NULL, version text NOT NULL, expires bigint)",
      "CREATE INDEX expiring ON entries (expires) WHERE expires IS NOT NULL",
    ],
  ],
  // The ID of the installation that the store belongs to, in at most one row.
  tables: { installation: "(one boolean PRIMARY KEY DEFAULT true CHECK (one), id text NOT NULL)" },
};
const KINDS: Readonly<Record<StoreKind, SchemaKind>> = {
  authority: {
    ...STORE_TITLES.authority,
    mark: "authority",
    defaultSchema: "portico",
    oldest: 3,
    ...TABLES,
  },
  services: {
    ...STORE_TITLES.services,
    mark: "services",
    defaultSchema: "portico_services",
    oldest: 2,
    ...TABLES,
  },
};

/**
 * The maximum number of writes, and so of locks, in commits that are made together. By default, a
 * server has space for 6400 locks.
 */
const MAX_TOGETHER = 200;
/**
 * The maximum number of characters in values that are part of the statement's text, which saves a
 * round trip. Longer values are sent as parameters.
 */
const MAX_LITERAL_LENGTH = 64 * 1024;
/**
 * How long a transaction may be idle, in milliseconds, before the server ends it and releases its
 * locks.
 */
const MAX_IDLE_MS = 2_500;
/** Clocks that differ by less count as synchronous, in milliseconds. */
const IN_STEP_MS = 1_000;

interface Options {
  readonly kind: StoreKind;
  readonly url: string;
  /** The maximum time for an operation, in milliseconds. */
  readonly timeoutMs: number;
  /** Called with a warning if acknowledged commits may be lost. */
  readonly warn: (message: string) => void;
  /**
   * Gets the store's name. Returns undefined if the store may be created. Otherwise it returns the
   * end of the error for an absent store: empty, or a comma and what to do.
   */
  readonly lost: (name: string) => string | undefined;
  /** Whether an older format is an error. If not, the store is upgraded. */
  readonly keepsFormat?: boolean;
}

/**
 * Opens the store that a URL names. Creates its schema if it is absent and may be created.
 * @throws {StoreError} if it cannot be reached, or is not a store of this kind
 */
export async function openPostgres(options: Options): Promise<KeyValueStore> {
  return (await open(KINDS[options.kind], options)).store;
}

/**
 * Creates the store in a schema that holds none. Continues an earlier filling that was interrupted.
 * @throws {StoreError} if the schema already holds a store
 */
export async function fillPostgres(options: Omit<Options, "lost">, fill: Fill): Promise<void> {
  const kind = KINDS[options.kind];
  const { store, database, schema } = await open(unfinished(kind), { ...options, lost: () => undefined });
  try {
    await fill(store);
    await database.write(finishing(schema), [kind.mark]);
  } finally {
    await store.close();
  }
}

async function open(kind: SchemaKind, options: Options) {
  const { kind: whose, url, timeoutMs, warn, lost, keepsFormat = false } = options;
  const address = readPostgresUrl(url, kind.defaultSchema);
  const { name, schema } = address;
  let id: string | undefined;
  const database = new Database({
    address,
    timeoutMs,
    setting: kind.setting,
    check: (client) => checkSchema(client, { kind, schema, id }),
  });
  const warned = new Set<string>();
  const warnOnce = (message: string): void => {
    if (!warned.has(message)) warn(`store ${name}: ${message}`);
    warned.add(message);
  };
  /**
   * A connection outside the pools. The primary may have changed since the last one, so the
   * durability of each is checked.
   */
  const connect = (kind: "read" | "write"): Promise<pg.Client> =>
    database.open(kind, async (client) => {
      for (const message of await durabilityWarnings(client)) warnOnce(message);
    });
  try {
    await database.use(connect("write"), async (client) => {
      id = await prepareSchema(client, { kind, name, schema, lost: lost(name), keepsFormat });
    });
  } catch (error) {
    await database.close();
    throw error;
  }
  const hints = new Hints({ connect: () => connect("read"), channel: schema });
  const store = new PostgresStore(database, { whose, id: id ?? "", schema, timeoutMs, hints });
  return { store, database, schema };
}

/** The settings of a store whose schema is ready. */
interface Opened {
  readonly whose: StoreKind;
  readonly id: string;
  readonly schema: string;
  readonly timeoutMs: number;
  readonly hints: Hints;
}

class PostgresStore implements KeyValueStore {
  readonly name: string;
  readonly id: string;
  readonly mayBeStale = true;
  readonly #whose: StoreKind;
  readonly #schema: string;
  readonly #table: string;
  readonly #timeoutMs: number;
  readonly #hints: Hints;
  readonly #database: Database;
  readonly #statements: ReturnType<typeof statementsOf>;
  /** The key is the collection and whether the commits are durable. */
  readonly #queues = new Map<string, CommitQueue>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(database: Database, { whose, id, schema, timeoutMs, hints }: Opened) {
    this.name = database.name;
    this.id = id;
    this.#whose = whose;
    this.#schema = schema;
    this.#timeoutMs = timeoutMs;
    this.#hints = hints;
    this.#database = database;
    this.#table = `"${schema}".entries`;
    this.#statements = statementsOf(this.#table, `"${schema}".installation`);
    this.#sweeper = startSweeper(() => this.sweep());
  }

  async get(keys: readonly string[]): Promise<(StoredEntry | undefined)[]> {
    const { rows, ahead } = await this.#read("get", [keys.map(bytes)]);
    const found = new Map(rows.map((row) => [textOf(row.key), entryOf(row, ahead)]));
    return keys.map((key) => found.get(key));
  }

  async range({ from, afterFrom, to, limit, reverse }: KeyRange): ReturnType<KeyValueStore["range"]> {
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

  async keys(from: string, to: string): Promise<string[]> {
    return (await this.#database.read(this.#statements.keys, [bytes(from), bytes(to)])).map(({ key }) => textOf(key));
  }

  async commit(writes: readonly StoredWrite[], { durable = true }: CommitOptions = {}): Promise<CommitResult> {
    const collection = this.#whose === "authority" ? collectionIn(writes[0]?.key ?? "") : "";
    const result = await this.#queueOf(collection, durable).commit(writes);
    if (result.committed) for (const topic of this.#topicsOf(writes, result.changes)) this.#hints.notify(topic);
    return result;
  }

  follow(topic: string, listener: () => void): () => void {
    return this.#hints.follow(topic, listener);
  }

  isInPlace(): boolean {
    return true;
  }

  async time(): Promise<number> {
    return Number((await this.#database.read(this.#statements.time, []))[0]?.now);
  }

  async size(): Promise<number> {
    return Number((await this.#database.read(this.#statements.size, []))[0]?.bytes);
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
    this.#hints.close();
    await Promise.all([...this.#queues.values()].map((queue) => queue.inTurn(async () => undefined)));
    await this.#database.close();
  }

  /** What others may follow of a commit. Authorities follow collections, services logs. */
  #topicsOf(writes: readonly StoredWrite[], changes: readonly { readonly revision?: number }[]): Set<string> {
    if (this.#whose === "authority") return new Set(writes.map(({ key }) => collectionIn(key)));
    return new Set(writes.flatMap(({ log }, index) => (log !== undefined && changes[index]?.revision ? [log] : [])));
  }

  #queueOf(collection: string, durable: boolean): CommitQueue {
    const name = `${collection} ${durable}`;
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const queue = new CommitQueue({
      timeoutMs: this.#timeoutMs,
      maxTogether: MAX_TOGETHER,
      transact: (commits) => this.#transact(commits, durable),
      toLateError: (isBegun) => lateError(this.name, { timeoutMs: this.#timeoutMs, mayHaveWritten: isBegun }),
    });
    this.#queues.set(name, queue);
    return queue;
  }

  /** Returns the rows, and how far the server's clock is ahead, in milliseconds. */
  async #read(statement: "get" | "range" | "rangeDescending", values: readonly unknown[]) {
    const sent = Date.now();
    const rows = await this.#database.read(this.#statements[statement], values);
    return { rows, ahead: rows[0] === undefined ? 0 : aheadOf(Number(rows[0].now), sent, Date.now()) };
  }

  async #transact(commits: readonly (readonly StoredWrite[])[], durable: boolean): Promise<readonly CommitOutcome[]> {
    const keys = keysOf(commits);
    const sent = Date.now();
    return this.#database.transact({ begin: this.#begin(keys, durable), durable }, async (begun, query) => {
      const [[clock] = [], rows = []] = begun.slice(-2);
      const now = Number(clock?.now);
      const ahead = aheadOf(now, sent, Date.now());
      const read = new Map(rows.map((row) => [textOf(row.key), entryOf(row, 0)]));
      const current = await withUsage(read, commits, async (from, to) => {
        const [row] = await query(this.#statements.bytes, [bytes(from), bytes(to)]);
        return Number(row?.bytes);
      });
      const moved = ahead === 0 ? commits : commits.map((writes) => writes.map((write) => moveTime(write, ahead)));
      const { outcomes, changed } = decideCommits(moved, current, now);
      const { set, deleted } = splitChanges(changed);
      if (set.reduce((length, { value }) => length + value.length, 0) <= MAX_LITERAL_LENGTH)
        return { result: outcomes, end: writeText(this.#table, set, deleted) };
      await query(this.#statements.write, valuesOf(set, deleted));
      return { result: outcomes, end: "COMMIT" };
    });
  }

  /**
   * The statements that begin a transaction, lock the keys, and read the server's time and the
   * entries of the keys, in this order.
   */
  #begin(keys: readonly string[], durable: boolean): string {
    const locks = [...new Set(keys.map((key) => lockOf(this.#schema, key)))].sort((a, b) => (a < b ? -1 : 1));
    return `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${MAX_IDLE_MS};
      ${durable ? "" : "SET LOCAL synchronous_commit = off;"}
      SELECT count(pg_advisory_xact_lock(lock)) FROM unnest('{${locks.join(",")}}'::bigint[]) AS lock;
      SELECT ${msOf("clock_timestamp()")} AS now; ${readText(this.#table, keys)}`;
  }
}

/** The values for the statement `write`. */
function valuesOf(set: readonly StoredEntry[], deleted: readonly string[]): unknown[] {
  return [
    set.map(({ key }) => bytes(key)),
    set.map(({ value }) => bytes(value)),
    set.map(({ version }) => version),
    set.map(({ expires }) => expires ?? null),
    deleted.map(bytes),
  ];
}

/** The authority's collection that a key belongs to. */
function collectionIn(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

/**
 * The number of a key's advisory lock, as text. If two keys have the same number, their commits
 * wait for each other without need, but are correct.
 */
function lockOf(schema: string, key: string): string {
  return createHash("sha1").update(`${schema}\0${key}`).digest().readBigInt64BE().toString();
}

/**
 * How far the server's clock is ahead of this machine's clock, in milliseconds; 0 if they are
 * synchronous.
 * @param now the server's time
 * @param sent when the request was sent, by this machine's clock
 * @param received when the response arrived, by this machine's clock
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
