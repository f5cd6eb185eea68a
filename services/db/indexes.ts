/**
 * Indexes. For each record and indexed field there is an entry whose key begins with the field's value, in an order of keys that is
 * the order of values, and whose value is the record's ID. An index says which records may match; the filter decides.
 */
import { type Filter, Operator } from "../../src/gen/db/db.js";
import { type Json, type JsonObject, valueAt } from "./filter.js";

/** A table, as records and indexes are kept for it. */
export interface IndexedTable {
  /** What keys begin with: a name of the table that nobody chooses, so that a renamed table keeps its records. */
  readonly id: string;
  /** The fields, in the order that keys number them by. */
  readonly indexes: readonly string[];
}

/** Stands between a value and the record's ID: sorts before all that a text may go on with. */
const END = "\u0001";
/**
 * The text in a key is cut after 64 characters, and before a character that sorts as END does or that a key cannot have. Texts
 * with the same beginning are together then; the filter tells them apart.
 */
const MAX_TEXT = 64;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is they that texts are cut before.
const CUT = /[\0\u0001]/;

/** The keys that index a record. */
export function indexKeys({ id: table, indexes }: IndexedTable, id: string, fields: JsonObject): string[] {
  return indexes.flatMap((field, number) => {
    const value = keyOf(valueAt(fields, field.split(".")));
    return value === undefined ? [] : [`${table}/${number}/${value}${END}${id}`];
  });
}

/** Where in an index the records are that may match. */
export interface IndexRange {
  readonly prefix: string;
  readonly after?: string;
  readonly reverse?: boolean;
}

/** The places of an index that have every record which may match a filter; undefined where no index serves it. */
export function placesFor(table: IndexedTable, filter: Filter | undefined): readonly IndexRange[] | undefined {
  for (const part of filter === undefined ? [] : filter.and.length > 0 ? filter.and : [filter]) {
    const number = table.indexes.indexOf(part.field);
    const places = number === -1 ? undefined : placesOf(`${table.id}/${number}/`, part);
    if (places !== undefined) return places;
  }
  return undefined;
}

function placesOf(index: string, { operator, value }: Filter): readonly IndexRange[] | undefined {
  if (operator === Operator.IN) {
    const prefixes = (value as Json[]).map(prefixOf);
    return prefixes.includes(undefined) ? undefined : prefixes.map((prefix) => ({ prefix: `${index}${prefix}` }));
  }
  const key = keyOf(value);
  if (key === undefined) return undefined;
  // All values of a type have its letter first.
  const type = `${index}${key[0]}`;
  switch (operator) {
    case Operator.OPERATOR_UNSPECIFIED:
    case Operator.EQUAL:
      return [{ prefix: `${index}${prefixOf(value)}` }];
    case Operator.STARTS_WITH:
      return [{ prefix: `${index}${key}` }];
    case Operator.LESS:
    case Operator.LESS_OR_EQUAL:
      return [{ prefix: type, after: `${index}${key}\u{10ffff}`, reverse: true }];
    case Operator.GREATER:
    case Operator.GREATER_OR_EQUAL:
      return [{ prefix: type, after: `${index}${key}` }];
    default:
      return undefined;
  }
}

/** A value in a key; undefined for what is not indexed: null, arrays, objects, absent fields. */
function keyOf(value: Json | undefined): string | undefined {
  switch (typeof value) {
    case "boolean":
      return `b${value ? 1 : 0}`;
    case "number":
      return `n${numberKey(value)}`;
    case "string":
      return `s${
        Array.from(value.slice(0, 2 * MAX_TEXT))
          .slice(0, MAX_TEXT)
          .join("")
          .split(CUT, 1)[0]
      }`;
    default:
      return undefined;
  }
}

/** What all keys of a value begin with, and no others where the text is not cut. */
function prefixOf(value: Json): string | undefined {
  const key = keyOf(value);
  const cut = typeof value === "string" && key !== `s${value}`;
  return key === undefined || cut ? key : `${key}${END}`;
}

/** 16 hexadecimal digits that sort as numbers do: those of the double, with all bits of negative ones turned, else the sign's. */
function numberKey(value: number): string {
  const bytes = Buffer.alloc(8);
  // Plus 0 makes 0 of -0, which is equal to it.
  bytes.writeDoubleBE(value + 0);
  const bits = bytes.readBigUInt64BE();
  const negative = bits >> 63n === 1n;
  return BigInt.asUintN(64, negative ? ~bits : bits | (1n << 63n))
    .toString(16)
    .padStart(16, "0");
}
