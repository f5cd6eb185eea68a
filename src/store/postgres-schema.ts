/**
 * Creates, recognizes and upgrades the database schema that holds a store of Portico.
 *
 * The table `format` in the schema contains the store's purpose, its format and its ID. Processes
 * that start at the same time create the schema one after the other, each in a transaction, so an
 * incomplete schema is never visible.
 */

import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Statement } from "./postgres-connection.js";
import { StoreError, unreleased } from "./store.js";

/** What distinguishes a kind of schema. */
export interface SchemaKind {
  /** The kind's name for messages: `a store of Portico`. */
  readonly title: string;
  /** The mark of this kind in the table `format`. */
  readonly mark: string;
  /** The schema if the URL names none. */
  readonly defaultSchema: string;
  /** The setting that names another store. */
  readonly setting: string;
  /** The oldest format that this version reads: the first one that was released. */
  readonly oldest: number;
  /**
   * For each format, from the oldest on, the statements that upgrade to it from the previous one.
   * This version uses the newest format.
   */
  readonly formats: readonly (readonly string[])[];
  /**
   * Tables that are created if absent, whatever the format is. A newer version may have added some.
   */
  readonly tables: Readonly<Record<string, string>>;
}

/** The kind of a schema that is being filled. No process takes it for a store. */
export function unfinished(kind: SchemaKind): SchemaKind {
  return { ...kind, title: "free for a copy", mark: `unfinished copy (${kind.mark})` };
}

/** The statement that turns a filled schema into a store. Its value is the mark of the kind. */
export function finishing(schema: string): Statement {
  return { name: "finish", text: `UPDATE "${schema}".format SET mark = $1` };
}

/** The format of a schema that was created in this transaction and has no tables yet. */
const NEW = 0;

interface Prepare {
  readonly kind: SchemaKind;
  /** The store, for messages. */
  readonly name: string;
  readonly schema: string;
  /**
   * Undefined if the schema may be created. Otherwise the end of the error for an absent schema:
   * empty, or a comma and what to do.
   */
  readonly lost: string | undefined;
  /** Whether an older format is an error. */
  readonly keepsFormat: boolean;
}

/**
 * Creates the schema if it is absent. Upgrades it if it has an older format.
 * @param client a connection that nothing else uses
 * @returns the store's ID
 * @throws {StoreError} if the schema is of another kind, of a newer version, from before the first
 *   release, or lost
 */
export async function prepareSchema(client: pg.ClientBase, options: Prepare): Promise<string> {
  const { kind, name, schema, lost, keepsFormat } = options;
  await client.query("BEGIN");
  // The lock is held until the end of the transaction.
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`portico ${schema}`]);
  const tables = await tablesIn(client, schema);
  if (!tables.includes("format")) {
    if (tables.length > 0) throw new StoreError(`store ${name}: the schema ${schema} is not ${kind.title}`);
    if (lost !== undefined) throw new StoreError(`store ${name} has no schema ${schema}, and so holds no store${lost}`);
    await createSchema(client, schema, kind.mark);
  }
  const { mark, format, id } = (await client.query(`SELECT mark, format, id FROM "${schema}".format`)).rows[0] ?? {};
  if (mark !== kind.mark) {
    throw new StoreError(`store ${name}: the schema ${schema} is not ${kind.title}; it is marked as ${mark}`);
  }
  const newest = newestOf(kind);
  if (format > newest) throw new StoreError(newer(name, format, newest));
  if (format > NEW && format < kind.oldest)
    throw new StoreError(`store ${name} ${unreleased(format, kind.oldest, kind.setting)}`);
  const isComplete = format === newest && Object.keys(kind.tables).every((table) => tables.includes(table));
  if (keepsFormat && !isComplete)
    throw new StoreError(`store ${name} has an older format: a start of this version upgrades it`);
  await client.query(`SET LOCAL search_path TO "${schema}"`);
  const done = Math.max(format - kind.oldest + 1, 0);
  for (const statement of kind.formats.slice(done).flat()) await client.query(statement);
  if (format < newest) await client.query("UPDATE format SET format = $1", [newest]);
  for (const [table, definition] of Object.entries(kind.tables)) {
    if (!tables.includes(table)) await client.query(`CREATE TABLE ${table} ${definition}`);
  }
  await client.query("COMMIT");
  return id;
}

/**
 * @param options the ID of the store; undefined before its schema was prepared: then nothing is
 *   checked
 * @throws {Error} if the schema is not the one of the store with this ID, or has a newer format by
 *   now
 */
export async function checkSchema(
  client: pg.ClientBase,
  { kind, schema, id }: { readonly kind: SchemaKind; readonly schema: string; readonly id: string | undefined },
): Promise<void> {
  if (id === undefined) return;
  const { rows } = await client.query(`SELECT id, format FROM "${schema}".format`);
  if (rows[0]?.id !== id) throw new Error("it is another store than the one that this process started with");
  if (rows[0].format > newestOf(kind)) throw new Error("a newer Portico has upgraded it; run that version");
}

async function tablesIn(client: pg.ClientBase, schema: string): Promise<string[]> {
  const { rows } = await client.query("SELECT tablename::text AS name FROM pg_tables WHERE schemaname = $1", [schema]);
  return rows.map(({ name }) => name);
}

/**
 * Creates the schema if it is absent, and its table `format`. Where the role may not create
 * schemas, another role may have created the schema already.
 */
async function createSchema(client: pg.ClientBase, schema: string, mark: string): Promise<void> {
  const { rowCount } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
  if (rowCount === 0) await client.query(`CREATE SCHEMA "${schema}"`);
  await client.query(`CREATE TABLE "${schema}".format (mark text NOT NULL, format integer NOT NULL, id uuid NOT NULL)`);
  await client.query(`INSERT INTO "${schema}".format VALUES ($1, $2, $3)`, [mark, NEW, randomUUID()]);
}

function newestOf({ oldest, formats }: SchemaKind): number {
  return oldest + formats.length - 1;
}

function newer(name: string, format: number, newest: number): string {
  const known = `its format is ${format}, and this version of Portico knows formats up to ${newest}`;
  return `store ${name} was written by a newer Portico: ${known}; run that version, or restore it from a backup`;
}
