/**
 * Tables. A table has a name, indexed fields, and an ID under which its records, indexes and counts
 * are stored.
 */
import { nanoid } from "nanoid";
import {
  alreadyExists,
  type Call,
  type Entry,
  invalidArgument,
  notFound,
  resourceExhausted,
} from "../../src/kit/index.js";
import { checkName } from "../patterns/checks.js";
import { checkField, type JsonObject } from "./filter.js";
import type { IndexedTable } from "./indexes.js";

/** The maximum number of tables in a namespace. */
const MAX_TABLES = 1000;
const MAX_INDEXES = 8;
/** The maximum number of records in a table. */
export const MAX_RECORDS = 100_000;

/** A record, stored under its table's ID and its own. Times are in milliseconds since 1970. */
export interface StoredRecord {
  readonly fields: JsonObject;
  readonly created: number;
  readonly updated: number;
  readonly revision: number;
}

export function tablesOf(call: Call) {
  return call.store<IndexedTable>("tables");
}

export function recordsOf(call: Call) {
  return call.store<StoredRecord>("records");
}

/** The number of records by the table's ID, and the number of tables under `tables`. */
export function countsOf(call: Call) {
  return call.store<number>("counts");
}

/**
 * A table that must exist.
 * @throws {StatusError} NOT_FOUND
 */
export async function tableOf(call: Call, name: string, field = "table"): Promise<Entry<IndexedTable>> {
  checkName(field, name);
  const entry = await tablesOf(call).getEntry(name);
  if (entry === undefined) throw notFound(`There is no table ${name}`);
  return entry;
}

export function checkIndexes(indexes: readonly string[]): void {
  if (indexes.length > MAX_INDEXES) throw invalidArgument(`indexes: must be at most ${MAX_INDEXES}`);
  for (const [index, field] of indexes.entries()) {
    checkField(`indexes[${index}]`, field);
    if (indexes.indexOf(field) < index) throw invalidArgument(`indexes[${index}]: ${field} is named twice`);
  }
}

/**
 * Creates a table.
 * @throws {StatusError} ALREADY_EXISTS, RESOURCE_EXHAUSTED
 */
export async function createTable(call: Call, name: string, indexes: readonly string[]): Promise<void> {
  const table: IndexedTable = { id: nanoid(), indexes };
  const result = await tablesOf(call).commit([
    { set: name, value: table, ifAbsent: true },
    { increment: "tables", by: 1, max: MAX_TABLES, collection: "counts" },
  ]);
  if (result.committed) return;
  if (result.failed === 0) throw alreadyExists(`table: there is a table ${name}`);
  throw resourceExhausted(`There are ${MAX_TABLES} tables: drop some first`);
}

/** The collections whose keys begin with the ID of a table. */
export const KEPT_BY_TABLE = ["records", "indexes"] as const;
