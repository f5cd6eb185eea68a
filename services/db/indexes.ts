/**
 * Indexes. For each record and indexed field there is an index entry. Its key begins with the
 * field's value, written so that keys sort like values. Its value is the record's ID. An index
 * finds the records that may match. The filter then decides which of them do.
 */
import { type Filter, Operator } from "../../src/gen/db/db.js";
import { type Json, type JsonObject, valueAt } from "./filter.js";

/** A table, as its records and indexes refer to it. */
export interface IndexedTable {
  /**
   * The prefix of keys. It is generated and never changes, so a renamed table keeps its records.
   */
  readonly id: string;
  /** The fields. Keys contain the position of a field in this list. */
  readonly indexes: readonly string[];
}

/**
 * Separates the value from the record's ID. It sorts before every character that may continue a
 * text.
 */
const END = "\u0001";
/**
 * A text in a key is cut after 64 characters. It is also cut before a character that sorts like END
 * or that a key cannot have. So texts with the same beginning may be together in the index; the
 * filter distinguishes them.
 */
const MAX_TEXT = 64;
// biome-ignore lint/suspicious/noControlCharactersInRegex: texts are cut before these characters.
const CUT = /[\0\u0001]/;

/** The keys that index a record. */
export function indexKeys({ id: table, indexes }: IndexedTable, id: string, fields: JsonObject): string[] {
  return indexes.flatMap((field, number) => {
    const value = keyOf(valueAt(fields, field.split(".")));
    return value === undefined ? [] : [`${table}/${number}/${value}${END}${id}`];
  });
}

/** The part of an index with the records that may match. */
export interface IndexRange {
  readonly prefix: string;
  readonly after?: string;
  readonly reverse?: boolean;
}

/**
 * The ranges of an index that contain every record that may match the filter; undefined if no index
 * can be used.
 */
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
  // The first character of a key is the letter of the value's type.
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

/**
 * A value as part of a key; undefined for values that are not indexed: null, arrays, objects,
 * absent fields.
 */
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

/**
 * The prefix of all keys of a value. If the text is not cut, keys of other values do not have it.
 */
function prefixOf(value: Json): string | undefined {
  const key = keyOf(value);
  const cut = typeof value === "string" && key !== `s${value}`;
  return key === undefined || cut ? key : `${key}${END}`;
}

/**
 * 16 hexadecimal digits that sort like the numbers: the bits of the double, with all bits inverted
 * for a negative number, and only the sign bit inverted for others.
 */
function numberKey(value: number): string {
  const bytes = Buffer.alloc(8);
  // Adding 0 turns -0 into 0. The two are equal, so they must have the same key.
  bytes.writeDoubleBE(value + 0);
  const bits = bytes.readBigUInt64BE();
  const negative = bits >> 63n === 1n;
  return BigInt.asUintN(64, negative ? ~bits : bits | (1n << 63n))
    .toString(16)
    .padStart(16, "0");
}
