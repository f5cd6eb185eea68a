/** JSON Schemas of scalar values in proto3 JSON (https://protobuf.dev/programming-guides/json/), as src/json reads and writes it. */
import { ScalarType } from "@bufbuild/protobuf";
import type { Direction, Schema } from "./schema.js";

/** The schema of a value. A long schema has a name, under which a document holds it once. */
export function scalarSchema(scalar: ScalarType, direction: Direction): { name?: string; schema: Schema } {
  if (scalar === ScalarType.STRING) return { schema: { type: "string" } };
  if (scalar === ScalarType.BOOL) return { schema: { type: "boolean" } };
  if (scalar === ScalarType.BYTES)
    return direction === "output" ? { schema: BASE64 } : { name: "bytes-base64", schema: BASE64_IN };
  const { name, read, written } = numberOf(scalar);
  return direction === "output" ? { schema: written } : { name: `number-${name}`, schema: read };
}

/** The schema of a map's keys, which are strings in JSON whatever their type; undefined where every string is a key. */
export function mapKeySchema(scalar: ScalarType): Schema | undefined {
  if (scalar === ScalarType.STRING) return undefined;
  if (scalar === ScalarType.BOOL) return { enum: ["true", "false"] };
  return { pattern: `^(?:${numberOf(scalar).digits})$` };
}

const BASE64: Schema = {
  type: "string",
  contentEncoding: "base64",
  pattern: "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
};

const BASE64_IN: Schema = {
  type: "string",
  description: "Base64, in its usual or its URL-safe alphabet, with or without padding.",
  contentEncoding: "base64",
  pattern: "^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?$",
};

interface NumberForm {
  readonly name: string;
  readonly read: Schema;
  readonly written: Schema;
  /** A pattern of the integers, without anchors. */
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

/** A pattern of the decimal integers from 0 to `max`, without leading zeros. */
export function upTo(max: string): string {
  const shorter = max.length > 1 ? [`[1-9][0-9]{0,${max.length - 2}}`] : [];
  const below = [...max].flatMap((digit, at) => {
    const least = at === 0 ? 1 : 0;
    const rest = at === max.length - 1 ? "" : `[0-9]{${max.length - at - 1}}`;
    return Number(digit) > least ? [`${max.slice(0, at)}[${least}-${Number(digit) - 1}]${rest}`] : [];
  });
  return ["0", ...shorter, ...below, max].join("|");
}

const INT32 = integer("int32", -(2 ** 31), 2 ** 31, "2147483647");
const UINT32 = integer("uint32", 0, 2 ** 32, "4294967295");
const INT64 = integer("int64", -(2 ** 63), 2 ** 63, "9223372036854775807");
const UINT64 = integer("uint64", 0, 2 ** 64, "18446744073709551615");

/** Integers from `minimum` to `max`. `limit` is `max` + 1, a power of two that a double holds exactly. */
function integer(name: string, minimum: number, limit: number, max: string): NumberForm {
  const least = `${BigInt(minimum)}`;
  const digits = minimum === 0 ? upTo(max) : `-?(?:${upTo(max)})|${least}`;
  const bounds = { type: "integer", format: name, minimum, exclusiveMaximum: limit };
  const long = name.endsWith("64");
  const read: Schema = {
    description: `An integer from ${least} to ${max}, as a number or in a string.${
      long ? " Beyond 53 bits most JSON libraries lose digits of a number: then it must be a string." : ""
    }`,
    anyOf: [bounds, { type: "string", pattern: `^(?:${minimum === 0 ? `-0|${digits}` : digits})$` }],
  };
  const pattern = `^${minimum === 0 ? "" : "-?"}(?:0|[1-9][0-9]{0,${max.length - 1}})$`;
  return { name, read, written: long ? { type: "string", format: name, pattern } : bounds, digits };
}

/** The smallest number that rounds to infinity as a float: halfway between the largest float and the next power of two. */
const FLOAT_LIMIT = 2 ** 128 - 2 ** 103;

const DOUBLE = floating("double", {}, "[0-9]{1,2}");
const FLOAT = floating("float", { exclusiveMinimum: -FLOAT_LIMIT, exclusiveMaximum: FLOAT_LIMIT }, "1?[0-9]|2[0-2]");

/** @param exponents a pattern of the exponents that keep every number in a string within the type's range */
function floating(name: string, bounds: Schema, exponents: string): NumberForm {
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
