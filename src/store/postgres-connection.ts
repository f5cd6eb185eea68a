/**
 * Connections to Postgres, in separate pools for reads and writes: waiting writes block no reads.
 *
 * Each operation has one deadline, which includes the wait for a connection. The server cancels a
 * late read. It does not cancel a late write: a write that is interrupted while it waits for a
 * synchronous standby is committed, but not yet safe. So at the deadline the connection is dropped,
 * and the outcome of the write is unknown. The outcome is also unknown if the connection is lost,
 * or if the server responds with a warning, as it does for an interrupted wait (SQLSTATE 01000).
 *
 *     operation ──► pool (reads or writes) of the primary ──► connection, checked when it is made
 *                   (of several servers in a URL, one that is down or a standby is skipped)
 *
 * After a failover, connections to the former primary may still exist. Postgres numbers its history
 * with a timeline, which increases with each promotion of a standby. Once a durable write has
 * resolved on one timeline, connections of earlier timelines are not used.
 */

import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { within } from "../within.js";
import { PostgresClient } from "./postgres-client.js";
import { isOfStatement, NotPrimaryError, READ_ONLY, SUCCESSFUL, toPostgresError } from "./postgres-errors.js";
import { sharesSessions } from "./postgres-pooler.js";
import { setSession } from "./postgres-session.js";
import { formatServer, type PostgresAddress } from "./postgres-url.js";
import type { StoreError } from "./store.js";

/** A statement, which the server prepares once for each connection. */
export interface Statement {
  /** A unique name for this text. */
  readonly name: string;
  readonly text: string;
}

/** A row. Text and bytea are UTF-8; other types must be cast to text (see `queryOf`). */
export type Row = Readonly<Record<string, unknown>>;

export interface DatabaseOptions {
  readonly address: PostgresAddress;
  /** The maximum time for an operation, in milliseconds. */
  readonly timeoutMs: number;
  /** The setting that names the store, for messages. */
  readonly setting: string;
  /** Checks a new connection. @throws {Error} if it must not be used */
  readonly check: (client: pg.ClientBase) => Promise<void>;
}

/** The maximum number of connections to a server, for reads and for writes each. */
const MAX_CONNECTIONS = 4;
/** How long a server may take to close connections cleanly, in milliseconds. */
const CLOSE_TIME = 1_000;
/** The maximum number of operations that wait for a connection. */
const MAX_WAITING = 1_000;
/**
 * The maximum number of writes that wait for an absent standby, of all processes with this role.
 * While more of them wait, no write is begun.
 */
const MAX_HELD = 20;

/** The state that is checked for each new connection. A role can see its own pg_stat_activity. */
const STATE = `SELECT pg_is_in_recovery() AS "isStandby", current_setting('default_transaction_read_only') = 'on' AS "isReadOnly",
  current_setting('synchronous_commit') AS "synchronousCommit",
  CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline,
  (SELECT count(*)::int FROM pg_stat_activity WHERE usename = current_user AND wait_event = 'SyncRep') AS held`;

const SHARED_SESSIONS =
  "a pooler gives its sessions to other clients between two transactions. Have it pool sessions (PgBouncer: " +
  "pool_mode = session), or name the server itself";

type Kind = "read" | "write";

/** Why a server of the URL, by its index, gave no connection. */
interface Failure {
  readonly server: number;
  readonly error: unknown;
}

/** The pools of a database. */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #pools: readonly Readonly<Record<Kind, pg.Pool>>[];
  /** The index of the last server that was the primary. */
  #current = 0;
  readonly #sockets = new Set<Socket>();
  readonly #timelines = new WeakMap<pg.ClientBase, number>();
  /** The newest timeline on which a durable write has resolved. */
  #timeline = 0;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#pools = options.address.servers.map((_, server) => ({
      read: this.#pool(server, "read"),
      write: this.#pool(server, "write"),
    }));
  }

  get name(): string {
    return this.#options.address.name;
  }

  /** Reads. If the connection is lost, it tries another one. @throws {StoreError} */
  async read(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const end = performance.now() + this.#options.timeoutMs;
    for (let lost = 0; ; lost++) {
      const client = await this.#connect("read", end);
      try {
        const { rows } = await client.query(queryOf(statement, values, end));
        client.release();
        return rows;
      } catch (error) {
        const isUsable = isOfStatement(error);
        client.release(!isUsable);
        // All connections of the pool may have been lost at once.
        if (isUsable || lost > MAX_CONNECTIONS || performance.now() >= end) throw this.#toStoreError(error);
      }
    }
  }

  /**
   * Writes with one statement, which is a transaction. Waits for the disk and the standbys.
   * @throws {StoreError} if it was not written, or if that is unknown
   */
  async write(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.#onWriter(true, async (client, end, commits) => {
      commits();
      return (await client.query(queryOf(statement, values, end))).rows;
    });
  }

  /**
   * Writes with several statements in one transaction.
   * @param options `begin`: the statements that begin it, without values, sent in one round trip.
   *   `durable`: whether the commit waits for the disk and the standbys; if not, the statements in
   *   `begin` must say so
   * @param act gets the rows of each statement in `begin`, may run further statements, and returns
   *   the statements that end the transaction. The last one is COMMIT. They take one more round
   *   trip. If `act` fails, nothing is written
   * @throws {StoreError} if it was not written, or if that is unknown
   */
  async transact<T>(
    { begin, durable }: { readonly begin: string; readonly durable: boolean },
    act: (
      begun: readonly (readonly Row[])[],
      query: (statement: Statement, values: readonly unknown[]) => Promise<Row[]>,
    ) => Promise<{ readonly result: T; readonly end: string }>,
  ): Promise<T> {
    return this.#onWriter(durable, async (client, end, commits) => {
      const withinTime = (text: string) => client.query({ text, ...timeLeft(end) });
      try {
        // For a text with several statements, pg returns an array with a result for each.
        const results = (await withinTime(begin)) as unknown as pg.QueryResult[];
        const rows = results.map((result) => result.rows);
        const acted = await act(rows, async (statement, values) => {
          return (await client.query(queryOf(statement, values, end))).rows;
        });
        commits();
        await withinTime(acted.end);
        return acted.result;
      } catch (error) {
        // A failed transaction holds its locks until it is rolled back.
        if (isOfStatement(error)) await withinTime("ROLLBACK");
        throw error;
      }
    });
  }

  /**
   * Runs `act` on a connection for writes. Drops the connection if the outcome of the write is
   * unknown.
   * @param act calls `commits` right before it sends a statement that may commit
   */
  async #onWriter<T>(
    durable: boolean,
    act: (client: pg.ClientBase, end: number, commits: () => void) => Promise<T>,
  ): Promise<T> {
    const end = performance.now() + this.#options.timeoutMs;
    const client = await this.#connect("write", end);
    let warning: string | undefined;
    const onNotice = ({ code, message }: { code?: string | undefined; message?: string | undefined }): void => {
      // A server may translate the severity into another language, but not the code.
      if (code !== SUCCESSFUL) warning = message ?? code;
    };
    client.on("notice", onNotice);
    let isKnown = false;
    let isCommitting = false;
    try {
      const result = await act(client, end, () => {
        isCommitting = true;
      });
      if (warning !== undefined) throw new Error(`it warned: ${warning}`);
      isKnown = true;
      if (durable) this.#timeline = Math.max(this.#timeline, this.#timelines.get(client) ?? 0);
      return result;
    } catch (error) {
      isKnown = warning === undefined && isOfStatement(error);
      throw this.#toStoreError(error, { mayHaveWritten: isCommitting && !isKnown });
    } finally {
      client.off("notice", onNotice);
      client.release(!isKnown);
    }
  }

  /**
   * Opens a connection to the primary, which the caller ends.
   * @param look runs on it first
   * @throws {StoreError} also if `look` fails
   */
  async open(kind: Kind, look: (client: pg.Client) => Promise<void>): Promise<pg.Client> {
    const failures: Failure[] = [];
    for (const [server] of this.#pools.entries()) {
      const client = new PostgresClient(this.#config(server));
      try {
        await client.connect();
        await this.#setUp(client, kind, server);
        await look(client);
        this.#current = server;
        return client;
      } catch (error) {
        failures.push({ server, error });
        await client.end().catch(() => undefined);
      }
    }
    throw this.#unreachable(failures);
  }

  /** Runs `act` on a connection of `open` within the deadline, and ends it. @throws {StoreError} */
  async use(opening: Promise<pg.Client>, act: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = await opening;
    // This makes the running operation fail.
    const timer = setTimeout(() => void client.end(), this.#options.timeoutMs);
    try {
      await act(client);
    } catch (error) {
      throw this.#toStoreError(error);
    } finally {
      clearTimeout(timer);
      void client.end();
    }
  }

  /** Also works if the server does not respond. Connections of `open` must have ended. */
  async close(): Promise<void> {
    const ended = Promise.all(this.#pools.flatMap(({ read, write }) => [read.end(), write.end()]));
    const late = new AbortController();
    await Promise.race([ended, sleep(CLOSE_TIME, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    for (const socket of this.#sockets) socket.destroy();
  }

  #socket(): Socket {
    const socket = new Socket();
    this.#sockets.add(socket);
    return socket.on("close", () => this.#sockets.delete(socket));
  }

  #config(server: number): pg.ClientConfig {
    const { address, timeoutMs } = this.#options;
    const { host, port } = address.servers[server]!;
    const { user, password, database, ssl } = address;
    return {
      host,
      database,
      ssl,
      // A key with the value undefined would hide the value of the environment.
      ...(port === undefined ? {} : { port }),
      ...(user === undefined ? {} : { user }),
      ...(password === undefined ? {} : { password }),
      application_name: "portico",
      stream: () => this.#socket(),
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      query_timeout: timeoutMs,
      // Leaves time to try the next server.
      connectionTimeoutMillis: Math.ceil(timeoutMs / 2 / address.servers.length),
    };
  }

  #pool(server: number, kind: Kind): pg.Pool {
    const pool = new pg.Pool({
      ...this.#config(server),
      Client: PostgresClient,
      max: MAX_CONNECTIONS,
      idleTimeoutMillis: 0,
      onConnect: (client) => this.#setUp(client, kind, server),
    });
    // An error of an idle connection, which the pool then drops.
    pool.on("error", () => undefined);
    return pool;
  }

  /** @throws {Error} if the server must not be used */
  async #setUp(client: pg.ClientBase, kind: Kind, server: number): Promise<void> {
    const { rows } = await client.query(STATE);
    const { isStandby, isReadOnly, synchronousCommit, timeline, held } = rows[0];
    if (isStandby) throw new NotPrimaryError("is a standby (pg_is_in_recovery)");
    if (isReadOnly) throw new NotPrimaryError("is read-only (default_transaction_read_only)", READ_ONLY);
    this.#timelines.set(client, Number.parseInt(timeline, 16));
    if (this.#isOutdated(client)) {
      throw new NotPrimaryError(`is of timeline ${timeline}: another server was promoted and has taken writes since`);
    }
    if (kind === "write" && held >= MAX_HELD) {
      throw new Error(`${held} earlier writes still wait for a synchronous standby, which is away`);
    }
    if (await sharesSessions(client, this.#config(server))) throw new Error(SHARED_SESSIONS);
    const isDurable = ["on", "remote_apply"].includes(synchronousCommit);
    await setSession(client, {
      statement_timeout: kind === "read" ? `${this.#options.timeoutMs}` : "0",
      // Set even if it stays the same: the server's configuration may change later.
      synchronous_commit: isDurable ? synchronousCommit : "on",
    });
    // Ends a write that waits for a lock after its connection was dropped, if the server can.
    await client.query("SET client_connection_check_interval = 1000").catch(() => undefined);
    await this.#options.check(client);
  }

  /** A connection to the primary. The caller releases it. */
  async #connect(kind: Kind, end: number): Promise<pg.PoolClient> {
    const { timeoutMs } = this.#options;
    const connecting = this.#connectToAny(kind, end);
    const late = () => this.#toStoreError(new Error(`timeout: none within ${timeoutMs} ms`));
    try {
      return await within(end - performance.now(), connecting, late);
    } catch (error) {
      connecting.then(
        (client) => client.release(),
        () => undefined,
      );
      throw error;
    }
  }

  async #connectToAny(kind: Kind, end: number): Promise<pg.PoolClient> {
    const failures: Failure[] = [];
    for (const _ of this.#pools) {
      const server = this.#current;
      const pool = this.#pools[server]![kind];
      if (pool.waitingCount >= MAX_WAITING) throw this.#toStoreError(new Error("too many operations wait for it"));
      try {
        return await this.#currentConnection(pool);
      } catch (error) {
        failures.push({ server, error });
        if (this.#current === server) this.#current = (server + 1) % this.#pools.length;
        if (performance.now() >= end) break;
      }
    }
    throw this.#unreachable(failures);
  }

  async #currentConnection(pool: pg.Pool): Promise<pg.PoolClient> {
    for (;;) {
      const client = await pool.connect();
      if (!this.#isOutdated(client)) return client;
      client.release(true);
    }
  }

  #isOutdated(client: pg.ClientBase): boolean {
    return (this.#timelines.get(client) ?? 0) < this.#timeline;
  }

  #unreachable(failures: readonly Failure[]): StoreError {
    if (failures.length <= 1) return this.#toStoreError(failures[0]?.error);
    const { servers } = this.#options.address;
    const each = failures.map(({ server, error }) => `${formatServer(servers[server]!)}: ${(error as Error).message}`);
    return this.#toStoreError(new NotPrimaryError(`has no primary (${each.join("; ")})`));
  }

  #toStoreError(error: unknown, { mayHaveWritten = false } = {}): StoreError {
    const { address, setting, timeoutMs: deadline } = this.#options;
    return toPostgresError(error as Error, { name: address.name, setting, timeoutMs: deadline, mayHaveWritten });
  }
}

/**
 * Requests binary results, so that bytea is not sent as hexadecimal digits. The client reads every
 * value as UTF-8, which corrupts binary numbers.
 */
function queryOf(statement: Statement, values: readonly unknown[], end: number): pg.QueryConfig & object {
  return { ...statement, values: [...values], ...{ binary: true }, ...timeLeft(end) };
}

function timeLeft(end: number): object {
  return { query_timeout: Math.max(1, Math.ceil(end - performance.now())) };
}
