/**
 * The schema of a database that holds a store of Portico: how it is made, recognised, and upgraded.
 *
 * A table `format` in it says what the store is for, its format, and its ID. Processes that start at the same time make
 * the schema one after the other, in a transaction each, so it is never there by half.
 */

import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Statement } from "./postgres-connection.js";
import { StoreError, unreleased } from "./store.js";

/** What distinguishes a kind of schema. */
export interface SchemaKind {
  /** What the schema is, for messages: `a store of Portico`. */
  readonly title: string;
  /** Marks it in the table `format`. */
  readonly mark: string;
  /** Where the URL names no other. */
  readonly defaultSchema: string;
  /** The setting that names another store. */
  readonly setting: string;
  /** The oldest format that this version reads: the first one that was released. */
  readonly oldest: number;
  /** For each format, from the oldest on, the statements that lead to it from the one before. The newest is what this version uses. */
  readonly formats: readonly (readonly string[])[];
  /** Tables that are made where they are absent, whatever the format: newer versions may have added some. */
  readonly tables: Readonly<Record<string, string>>;
}

/** The kind of a schema that is being filled: no process takes it for a store. */
export function unfinished(kind: SchemaKind): SchemaKind {
  return { ...kind, title: "free for a copy", mark: `unfinished copy (${kind.mark})` };
}

/** The statement that makes a filled schema a store, with the mark of its kind as its value. */
export function finishing(schema: string): Statement {
  return { name: "finish", text: `UPDATE ${schema}.format SET mark = $1` };
}

/** The format of a schema that was made in this transaction, and has no tables yet. */
const NEW = 0;

interface Prepare {
  readonly kind: SchemaKind;
  /** The store, for messages. */
  readonly name: string;
  readonly schema: string;
  /** Undefined where the schema may be made; else what follows where it is missed: empty, or a comma and what to do. */
  readonly lost: string | undefined;
}

/**
 * Makes the schema where it is absent, and upgrades it where it is of an older format.
 * @param client a connection of its own
 * @returns the store's ID.
 * @throws {StoreError} where the schema is not of this kind, of a newer version or from before the first release, or lost.
 */
export async function prepareSchema(client: pg.ClientBase, { kind, name, schema, lost }: Prepare): Promise<string> {
  await client.query("BEGIN");
  // Held until the end of the transaction.
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`portico ${schema}`]);
  const tables = await tablesIn(client, schema);
  if (!tables.includes("format")) {
    if (tables.length > 0) throw new StoreError(`store ${name}: the schema ${schema} is not ${kind.title}`);
    if (lost !== undefined) throw new StoreError(`store ${name} has no schema ${schema}, and so holds no store${lost}`);
    await createSchema(client, schema, kind.mark);
  }
  const { mark, format, id } = (await client.query(`SELECT mark, format, id FROM ${schema}.format`)).rows[0] ?? {};
  if (mark !== kind.mark) {
    throw new StoreError(`store ${name}: the schema ${schema} is not ${kind.title}; it is marked as ${mark}`);
  }
  const newest = newestOf(kind);
  if (format > newest) throw new StoreError(newer(name, format, newest));
  if (format > NEW && format < kind.oldest)
    throw new StoreError(`store ${name} ${unreleased(format, kind.oldest, kind.setting)}`);
  await client.query(`SET LOCAL search_path TO ${schema}`);
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
 * @param options the ID of the store; undefined before its schema was prepared, when there is nothing to check
 * @throws {Error} where the schema is not that of the store with the ID, or of a newer version by now.
 */
export async function checkSchema(
  client: pg.ClientBase,
  { kind, schema, id }: { readonly kind: SchemaKind; readonly schema: string; readonly id: string | undefined },
): Promise<void> {
  if (id === undefined) return;
  const { rows } = await client.query(`SELECT id, format FROM ${schema}.format`);
  if (rows[0]?.id !== id) throw new Error("it is another store than the one that this process started with");
  if (rows[0].format > newestOf(kind)) throw new Error("a newer Portico has upgraded it; run that version");
}

async function tablesIn(client: pg.ClientBase, schema: string): Promise<string[]> {
  const { rows } = await client.query("SELECT tablename::text AS name FROM pg_tables WHERE schemaname = $1", [schema]);
  return rows.map(({ name }) => name);
}

/** The schema may be there already, where the role may not create any. */
async function createSchema(client: pg.ClientBase, schema: string, mark: string): Promise<void> {
  const { rowCount } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
  if (rowCount === 0) await client.query(`CREATE SCHEMA ${schema}`);
  await client.query(`CREATE TABLE ${schema}.format (mark text NOT NULL, format integer NOT NULL, id uuid NOT NULL)`);
  await client.query(`INSERT INTO ${schema}.format VALUES ($1, $2, $3)`, [mark, NEW, randomUUID()]);
}

function newestOf({ oldest, formats }: SchemaKind): number {
  return oldest + formats.length - 1;
}

function newer(name: string, format: number, newest: number): string {
  const known = `its format is ${format}, and this version of Portico knows formats up to ${newest}`;
  return `store ${name} was written by a newer Portico: ${known}; run that version, or restore it from a backup`;
}
