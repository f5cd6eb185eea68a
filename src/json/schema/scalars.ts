/**
 * JSON Schemas of values in proto3 JSON (https://protobuf.dev/programming-guides/json/), as
 * src/json reads and writes them.
 */
import { type DescMessage, ScalarType } from "@bufbuild/protobuf";

/** A JSON Schema, draft 2020-12, which OpenAPI 3.1 uses; also any other object of a document. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/**
 * Whether a schema describes requests (input) or responses (output). A reader of proto3 JSON
 * accepts more than a writer writes: `5` and `"5"` for a number, and null for a field that is not
 * set.
 */
export type Direction = "input" | "output";

/** The schema of a value. A long schema has a name, so that a document contains it only once. */
export function scalarSchema(scalar: ScalarType, direction: Direction): { name?: string; schema: JsonSchema } {
  if (scalar === ScalarType.STRING) return { schema: { type: "string" } };
  if (scalar === ScalarType.BOOL) return { schema: { type: "boolean" } };
  if (scalar === ScalarType.BYTES)
    return direction === "output" ? { schema: BASE64 } : { name: "bytes-base64", schema: BASE64_IN };
  const { name, read, written } = numberOf(scalar);
  return direction === "output" ? { schema: written } : { name: `number-${name}`, schema: read };
}

/**
 * The schema of a map's keys, which are strings in JSON for every type. Undefined when every string
 * is a valid key.
 */
export function mapKeySchema(scalar: ScalarType): JsonSchema | undefined {
  if (scalar === ScalarType.STRING) return undefined;
  if (scalar === ScalarType.BOOL) return { enum: ["true", "false"] };
  return { pattern: `^(?:${numberOf(scalar).digits})$` };
}

const BASE64: JsonSchema = {
  type: "string",
  contentEncoding: "base64",
  pattern: "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
};

const BASE64_IN: JsonSchema = {
  type: "string",
  description: "Base64, in its usual or its URL-safe alphabet, with or without padding.",
  contentEncoding: "base64",
  pattern: "^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?$",
};

interface NumberForm {
  readonly name: string;
  readonly read: JsonSchema;
  readonly written: JsonSchema;
  /** A pattern for the integers, without anchors. */
  readonly digits: string;
}

function numberOf(scalar: ScalarType): NumberForm {
  switch (scalar) {
    case ScalarType.DOUBLE:
      return DOUBLE;
    case ScalarType.FLOAT:
      return FLOAT;
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return INT32;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return UINT32;
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return UINT64;
    default:
      return INT64;
  }
}

/** A pattern for the decimal integers from 0 to `max`, without leading zeros. */
function upTo(max: string): string {
  const shorter = max.length > 1 ? [`[1-9][0-9]{0,${max.length - 2}}`] : [];
  const below = [...max].flatMap((digit, at) => {
    const lowest = at === 0 ? 1 : 0;
    const rest = at === max.length - 1 ? "" : `[0-9]{${max.length - at - 1}}`;
    return Number(digit) > lowest ? [`${max.slice(0, at)}[${lowest}-${Number(digit) - 1}]${rest}`] : [];
  });
  return ["0", ...shorter, ...below, max].join("|");
}

const INT32 = integer("int32", -(2 ** 31), 2 ** 31, "2147483647");
const UINT32 = integer("uint32", 0, 2 ** 32, "4294967295");
const INT64 = integer("int64", -(2 ** 63), 2 ** 63, "9223372036854775807");
const UINT64 = integer("uint64", 0, 2 ** 64, "18446744073709551615");

/**
 * Integers from `minimum` to `max`. `limit` is `max` + 1, a power of two that a double holds
 * exactly.
 */
function integer(name: string, minimum: number, limit: number, max: string): NumberForm {
  const lowest = `${BigInt(minimum)}`;
  const digits = minimum === 0 ? upTo(max) : `-?(?:${upTo(max)})|${lowest}`;
  const bounds = { type: "integer", format: name, minimum, exclusiveMaximum: limit };
  const long = name.endsWith("64");
  const read: JsonSchema = {
    description: `An integer from ${lowest} to ${max}, as a number or in a string.${
      long ? " Beyond 53 bits most JSON libraries lose digits of a number: then it must be a string." : ""
    }`,
    anyOf: [bounds, { type: "string", pattern: `^(?:${minimum === 0 ? `-0|${digits}` : digits})$` }],
  };
  const pattern = `^${minimum === 0 ? "" : "-?"}(?:0|[1-9][0-9]{0,${max.length - 1}})$`;
  return { name, read, written: long ? { type: "string", format: name, pattern } : bounds, digits };
}

/**
 * The smallest number that rounds to infinity as a float: halfway between the largest float and the
 * next power of two.
 */
const FLOAT_LIMIT = 2 ** 128 - 2 ** 103;

const DOUBLE = floating("double", {}, "[0-9]{1,2}");
const FLOAT = floating("float", { exclusiveMinimum: -FLOAT_LIMIT, exclusiveMaximum: FLOAT_LIMIT }, "1?[0-9]|2[0-2]");

/**
 * @param exponents a pattern for the exponents that keep every number in a string within the type's
 * range
 */
function floating(name: string, bounds: JsonSchema, exponents: string): NumberForm {
  const number = { type: "number", format: name, ...bounds };
  const text = `-?(?:0|[1-9][0-9]{0,14})(?:\\.[0-9]{1,20})?(?:[eE][+-]?(?:${exponents}))?`;
  return {
    name,
    read: {
      description: "A number, as such or in a string, or NaN, Infinity or -Infinity in a string.",
      anyOf: [number, { type: "string", pattern: `^(?:${text}|NaN|-?Infinity)$` }],
    },
    written: { anyOf: [number, { type: "string", enum: ["NaN", "Infinity", "-Infinity"] }] },
    digits: "",
  };
}

/** The schema of a well-known type; undefined for any other type. */
export function wellKnownSchema({ typeName }: DescMessage, direction: Direction): JsonSchema | undefined {
  return FORMS.get(typeName)?.[direction];
}

const YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)";
const DAY = "(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])";
const TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";

const timestamp = (fraction: string, zone: string): JsonSchema => ({
  type: "string",
  description: "A time of the years 0001 to 9999 (RFC 3339).",
  format: "date-time",
  pattern: `^${YEAR}-${DAY}T${TIME}${fraction}${zone}$`,
});

const TIMESTAMP = {
  input: timestamp("(?:\\.[0-9]{1,9})?", "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"),
  output: timestamp("(?:\\.(?:[0-9]{3}){1,3})?", "Z"),
};

const DURATION = alike({
  type: "string",
  description: "Seconds, such as `1.5s`: at most 315576000000, which is 10,000 years.",
  pattern: `^-?(?:${upTo("315576000000")})(?:\\.[0-9]{1,9})?s$`,
});

const FIELD_MASK = alike({
  type: "string",
  description: "Names of fields in lowerCamelCase, with commas between, such as `name,address.street`.",
  pattern: "^(?:[^_,]+(?:,[^_,]+)*)?$",
});

const STRUCT = alike({ type: "object", description: "Any JSON object.", additionalProperties: true });
const LIST = alike({ type: "array", description: "Any JSON array.", items: {} });
const VALUE = alike({ description: "Any JSON value." });

const ANY = alike({
  type: "object",
  description:
    "A message of any type of the service. `@type` says which one; the others are its fields, or where its JSON is no object of fields, `value`.",
  properties: {
    "@type": { type: "string", pattern: "/", description: "Such as `type.googleapis.com/google.protobuf.Duration`." },
  },
  additionalProperties: true,
});

function alike(schema: JsonSchema): Readonly<Record<Direction, JsonSchema>> {
  return { input: schema, output: schema };
}

const FORMS: ReadonlyMap<string, Readonly<Record<Direction, JsonSchema>>> = new Map([
  ["google.protobuf.Timestamp", TIMESTAMP],
  ["google.protobuf.Duration", DURATION],
  ["google.protobuf.FieldMask", FIELD_MASK],
  ["google.protobuf.Struct", STRUCT],
  ["google.protobuf.ListValue", LIST],
  ["google.protobuf.Value", VALUE],
  ["google.protobuf.Any", ANY],
]);
