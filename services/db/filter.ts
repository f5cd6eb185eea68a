/**
 * Filters: whether a record matches. A filter is a message, so there is no text to parse and
 * nothing to quote.
 */
import { type Filter, Operator } from "../../src/gen/db/db.js";
import { invalidArgument } from "../../src/kit/index.js";

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [name: string]: Json };

export type Matcher = (fields: JsonObject) => boolean;

const MAX_PARTS = 100;
const MAX_FIELD = 256;
const MAX_MEMBERS = 100;

const all: Matcher = () => true;

/** @throws {StatusError} INVALID_ARGUMENT that names the part, `filter.and[0].operator: …` */
export function compileFilter(filter: Filter | undefined): Matcher {
  return filter === undefined ? all : compile(filter, "filter", { parts: 0 });
}

function compile(filter: Filter, path: string, size: { parts: number }): Matcher {
  if (++size.parts > MAX_PARTS) throw invalidArgument(`filter: has more than ${MAX_PARTS} parts`);
  const { field, and, or, not } = filter;
  const kinds = [field !== "", and.length > 0, or.length > 0, not !== undefined].filter(Boolean).length;
  if (kinds !== 1) throw invalidArgument(`${path}: must have one of \`field\`, \`and\`, \`or\`, \`not\`, has ${kinds}`);
  if (not !== undefined) {
    const matches = compile(not, `${path}.not`, size);
    return (fields) => !matches(fields);
  }
  if (field !== "") return comparison(filter, path);
  const name = and.length > 0 ? "and" : "or";
  const parts = filter[name].map((part, index) => compile(part, `${path}.${name}[${index}]`, size));
  return name === "and"
    ? (fields) => parts.every((matches) => matches(fields))
    : (fields) => parts.some((matches) => matches(fields));
}

function comparison({ field, operator, value }: Filter, path: string): Matcher {
  checkField(`${path}.field`, field);
  const names = field.split(".");
  const wanted = (value ?? null) as Json;
  checkNumbers(`${path}.value`, wanted);
  const matches = operatorOf(operator, wanted, path);
  return (fields) => matches(valueAt(fields, names));
}

/** A field's name. Dots separate the members of nested objects: `address.city`. */
export function checkField(path: string, field: string): void {
  if (field !== "" && Buffer.byteLength(field) <= MAX_FIELD && !field.split(".").includes("")) return;
  throw invalidArgument(`${path}: must be names with a dot between them, at most ${MAX_FIELD} bytes`);
}

/** The value of a field; undefined if the field is absent. */
export function valueAt(fields: JsonObject, names: readonly string[]): Json | undefined {
  let value: Json | undefined = fields;
  for (const name of names) {
    if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
      return undefined;
    value = (value as JsonObject)[name];
  }
  return value;
}

/**
 * Checks that JSON can represent every number of a value. Protobuf's values may also be NaN or
 * infinity. A record would store these as null, but its indexes as they are.
 * @throws {StatusError} INVALID_ARGUMENT that names the field, `fields.scores[2]: …`
 */
export function checkNumbers(path: string, value: Json): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw invalidArgument(`${path}: must be a number of JSON, got ${value}`);
  }
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const [index, member] of value.entries()) checkNumbers(`${path}[${index}]`, member);
  } else {
    for (const [name, member] of Object.entries(value)) checkNumbers(`${path}.${name}`, member as Json);
  }
}

type Test = (value: Json | undefined) => boolean;

function operatorOf(operator: Operator, wanted: Json, path: string): Test {
  const isEqual: Test = (value) => equal(value ?? null, wanted);
  switch (operator) {
    case Operator.OPERATOR_UNSPECIFIED:
    case Operator.EQUAL:
      return isEqual;
    case Operator.NOT_EQUAL:
      return (value) => !isEqual(value);
    case Operator.LESS:
      return ordered(wanted, path, (order) => order < 0);
    case Operator.LESS_OR_EQUAL:
      return ordered(wanted, path, (order) => order <= 0);
    case Operator.GREATER:
      return ordered(wanted, path, (order) => order > 0);
    case Operator.GREATER_OR_EQUAL:
      return ordered(wanted, path, (order) => order >= 0);
    case Operator.STARTS_WITH:
      if (typeof wanted !== "string") throw invalidArgument(`${path}.value: must be a text for STARTS_WITH`);
      return (value) => typeof value === "string" && value.startsWith(wanted);
    case Operator.CONTAINS:
      return (value) =>
        typeof value === "string"
          ? typeof wanted === "string" && value.includes(wanted)
          : Array.isArray(value) && value.some((member) => equal(member, wanted));
    case Operator.IN:
      if (!Array.isArray(wanted) || wanted.length > MAX_MEMBERS) {
        throw invalidArgument(`${path}.value: must be an array of at most ${MAX_MEMBERS} for IN`);
      }
      return (value) => wanted.some((member) => equal(value ?? null, member));
    default:
      throw invalidArgument(`${path}.operator: is unknown, got ${operator}`);
  }
}

/** Compares values of the same type as `wanted`. Values of other types do not match. */
function ordered(wanted: Json, path: string, matches: (order: number) => boolean): Test {
  if (typeof wanted === "number") return (value) => typeof value === "number" && matches(value - wanted);
  if (typeof wanted !== "string")
    throw invalidArgument(`${path}.value: must be a number or a text, which have an order`);
  const bytes = Buffer.from(wanted);
  return (value) => typeof value === "string" && matches(Buffer.compare(Buffer.from(value), bytes));
}

/** Whether two JSON values are equal. The order of an object's members does not matter. */
export function equal(one: Json, other: Json): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((member, index) => equal(member, other[index] as Json));
  }
  const [left, right] = [one as JsonObject, other as JsonObject];
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => Object.hasOwn(right, name) && equal(left[name] as Json, right[name] as Json));
}
