/**
 * The store in a schema of Postgres: a table for each collection, with keys and values as bytes (bytea). So keys are
 * ordered by their bytes whatever the database's collation is, and values may have any character; text cannot hold U+0000.
 *
 * Each operation is one statement, and so one transaction. It relies on read committed, which every session is set to.
 */
import type pg from "pg";
import { lostInstallation, readInstallation } from "./installation.js";
import { Database, type Row, type Statement } from "./postgres-connection.js";
import { durabilityWarnings } from "./postgres-durability.js";
import { Hints } from "./postgres-hints.js";
import { checkSchema, finishing, prepareSchema, type SchemaKind, unfinished } from "./postgres-schema.js";
import { readPostgresUrl } from "./postgres-url.js";
import { COLLECTIONS, type Collection, type CollectionName, type Entry, type Fill, type Store } from "./store.js";

const TABLE = "(key bytea PRIMARY KEY, value bytea NOT NULL)";
const SETTING = "PORTICO_STORE";
const KIND: SchemaKind = {
  title: "a store of Portico",
  mark: "authority",
  defaultSchema: "portico",
  setting: SETTING,
  oldest: 2,
  formats: [[]],
  tables: Object.fromEntries(COLLECTIONS.map((name) => [name, TABLE])),
};
/** As text: a number would come damaged (see `queryOf`). */
const TIME: Statement = {
  name: "time",
  text: "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS now",
};

interface Options {
  readonly url: string;
  readonly dataFolder: string;
  /** How long an operation may take, in milliseconds. */
  readonly deadline: number;
  /** Told what puts acknowledged changes at risk. */
  readonly warn: (message: string) => void;
  readonly mustExist: boolean;
}

/**
 * Makes the store in a schema that holds none. One whose filling was broken off is filled on.
 * @throws {StoreError} when the schema holds a store already.
 */
export async function fillPostgres(options: Options, fill: Fill): Promise<void> {
  const { store, database, schema } = await open(unfinished(KIND), { ...options, dataFolder: "" });
  try {
    await fill(store);
    await database.write(finishing(schema), [KIND.mark]);
  } finally {
    await store.close();
  }
}

/**
 * Opens the store that a URL names. Its tables are made where they are absent and the data folder was never set up.
 * @throws {StoreError} when it cannot be reached, or is not a store of Portico.
 */
export async function openPostgres(options: Options): Promise<Store> {
  return (await open(KIND, options)).store;
}

async function open(kind: SchemaKind, { url, dataFolder, deadline, warn, mustExist }: Options) {
  const address = readPostgresUrl(url, KIND.defaultSchema);
  const { name, schema } = address;
  // Read before the store: the first start makes the store, and then what shows that the folder is set up.
  const installation = readInstallation(dataFolder);
  // Who names a store that must be there does not start an authority, so the data folder does not matter.
  const lost = mustExist
    ? "and so holds no store"
    : installation
      ? lostInstallation(name, dataFolder, installation)
      : undefined;
  let id: string | undefined;
  const database = new Database({
    address,
    deadline,
    setting: SETTING,
    check: (client) => checkSchema(client, { kind, schema, id }),
  });
  const warned = new Set<string>();
  const warnOnce = (message: string): void => {
    if (!warned.has(message)) warn(`store ${name}: ${message}`);
    warned.add(message);
  };
  /** A connection of its own. Another server may be in charge than before, so it is judged anew. */
  const connect = async (kind: "read" | "write"): Promise<pg.Client> => {
    const client = await database.open(kind);
    for (const message of await durabilityWarnings(client)) warnOnce(message);
    return client;
  };
  try {
    await database.use(connect("write"), async (client) => {
      id = await prepareSchema(client, { kind, name, schema, lost });
    });
  } catch (error) {
    await database.close();
    throw error;
  }
  const hints = new Hints({ connect: () => connect("read"), channel: schema });
  const collections = new Map(COLLECTIONS.map((table) => [table, collectionOf(database, schema, table, hints)]));
  const store: Store = {
    name,
    mayBeStale: true,
    collection: (name) => collections.get(name)!,
    follow: (name, listener) => hints.follow(name, listener),
    time: async () => Number((await database.read(TIME, []))[0]?.now),
    close: async () => {
      hints.close();
      await database.close();
    },
  };
  return { store, database, schema };
}

/** A key or a text, or a column of them. */
type Value = string | readonly string[];

function collectionOf(database: Database, schema: string, name: CollectionName, hints: Hints): Collection {
  const table = `${schema}.${name}`;
  const statement = (verb: string, text: string): Statement => ({ name: `${verb} ${name}`, text });
  const get = statement("get", `SELECT value FROM ${table} WHERE key = $1`);
  const getMany = statement("getMany", `SELECT key, value FROM ${table} WHERE key = ANY($1::bytea[])`);
  const after = statement("after", `SELECT key, value FROM ${table} WHERE key > $1 ORDER BY key LIMIT $2::bigint`);
  const before = statement(
    "before",
    `SELECT key, value FROM ${table} WHERE key < $1 ORDER BY key DESC LIMIT $2::bigint`,
  );
  const size = statement("size", `SELECT pg_total_relation_size('${table}'::regclass)::text AS bytes`);
  const keys = statement("keys", `SELECT key FROM ${table} ORDER BY key`);
  const create = statement(
    "create",
    `INSERT INTO ${table} (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING RETURNING true`,
  );
  const replace = statement("replace", `UPDATE ${table} SET value = $2 WHERE key = $1 RETURNING true`);
  const replaceSoon = statement(
    "replaceSoon",
    `WITH soon AS (SELECT set_config('synchronous_commit', 'off', true))
     UPDATE ${table} SET value = $2 FROM soon WHERE key = $1 RETURNING true`,
  );
  // Found by the index, and so locked in the order of keys, as a commit locks them: no two wait for each other.
  const remove = statement("delete", `DELETE FROM ${table} WHERE key = ANY($1::bytea[])`);
  const removeIf = statement("deleteIf", `DELETE FROM ${table} WHERE key = $1 AND value = $2 RETURNING true`);
  const write = async (statement: Statement, values: readonly Value[], durable = true): Promise<boolean> => {
    const parameters = values.map((value) => (typeof value === "string" ? bytes(value) : value.map(bytes)));
    const written = (await database.write(statement, parameters, { durable })).length === 1;
    if (written) hints.tell(name);
    return written;
  };
  return {
    async get(key) {
      const [row] = await database.read(get, [bytes(key)]);
      return row && textOf(row.value);
    },
    async getMany(keys) {
      const rows = await database.read(getMany, [keys.map(bytes)]);
      const values = new Map(rows.map(({ key, value }) => [textOf(key), textOf(value)]));
      return keys.map((key) => values.get(key));
    },
    after: async (key, limit) => (await database.read(after, [bytes(key), limit])).map(entryOf),
    before: async (key, limit) => (await database.read(before, [bytes(key), limit])).map(entryOf),
    create: (key, value) => write(create, [key, value]),
    commit: ({ expect, create: [first, ...others], beside }) =>
      write(commitStatement(schema, name, { expects: expect !== undefined, beside: beside?.collection }), [
        ...first!,
        ...columnsOf(others),
        ...(expect ?? []),
        ...(beside === undefined ? [] : [...columnsOf(beside.set), beside.delete]),
      ]),
    replace: (key, value, { durable = true } = {}) => write(durable ? replace : replaceSoon, [key, value], durable),
    async delete(keys) {
      if (keys.length > 0) await database.write(remove, [keys.map(bytes)]);
    },
    deleteIf: async (key, value) => (await database.write(removeIf, [bytes(key), bytes(value)])).length === 1,
    keys: async () => (await database.read(keys, [])).map(({ key }) => textOf(key)),
    size: async () => Number((await database.read(size, []))[0]?.bytes),
  };
}

/** The statement of a commit to a collection, whose values are in the order of the parameters. */
function commitStatement(
  schema: string,
  name: CollectionName,
  { expects, beside }: { readonly expects: boolean; readonly beside: CollectionName | undefined },
): Statement {
  const table = `${schema}.${name}`;
  const other = `${schema}.${beside}`;
  const [set, values, removed] = (expects ? [7, 8, 9] : [5, 6, 7]).map((number) => `$${number}::bytea[]`);
  // The lock on the expected entry is held until the commit: whoever deletes or replaces that entry comes before or after.
  const expected = `expected AS (SELECT FROM ${table} WHERE key = $5 AND value = $6 FOR SHARE),`;
  const others = `, upserted AS (INSERT INTO ${other} (key, value)
      SELECT key, value FROM first, unnest(${set}, ${values}) AS given (key, value)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value),
    removed AS (DELETE FROM ${other} WHERE key = ANY(${removed}) AND EXISTS (SELECT FROM first))`;
  return {
    name: `commit ${name} ${expects ? "after" : "anew"} ${beside ?? "alone"}`,
    text: `WITH ${expects ? expected : ""}
    first AS (INSERT INTO ${table} (key, value) SELECT $1::bytea, $2::bytea ${expects ? "FROM expected" : ""}
      ON CONFLICT (key) DO NOTHING RETURNING true),
    created AS (INSERT INTO ${table} (key, value)
      SELECT key, value FROM first, unnest($3::bytea[], $4::bytea[]) AS given (key, value))
    ${beside === undefined ? "" : others}
    SELECT FROM first`,
  };
}

/** The keys of entries, and their values. */
function columnsOf(entries: readonly Entry[]): [keys: string[], values: string[]] {
  return [entries.map(([key]) => key), entries.map(([, value]) => value)];
}

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

function textOf(value: unknown): string {
  return (value as Buffer).toString();
}

function entryOf({ key, value }: Row): Entry {
  return [textOf(key), textOf(value)];
}
