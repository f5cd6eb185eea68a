/**
 * Makes invalid requests from a valid one: for each field, also of nested messages, values that no
 * service accepts.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { hasOwnForm } from "../../src/json/types.js";

/** A request with one invalid field. */
export interface BadRequest {
  /** Path of the field from the request, such as `filter.field`. */
  readonly path: string;
  /** The JSON name of the field, without its path. */
  readonly name: string;
  readonly what: "wrong type" | "over-long" | "extreme";
  readonly request: object;
}

/** Fields of messages that are nested deeper are left out. */
const MAX_DEPTH = 3;
/** Longer than any value that a service stores. */
const LONG = "x".repeat(1024 ** 2 + 1);

const NUMBERS = new Map<ScalarType, readonly unknown[]>([
  [ScalarType.INT32, [-1, 0, -(2 ** 31), 2 ** 31 - 1]],
  [ScalarType.UINT32, [0, 2 ** 32 - 1]],
  [ScalarType.INT64, ["-1", "0", `${-(2n ** 63n)}`, `${2n ** 63n - 1n}`]],
  [ScalarType.UINT64, ["0", `${2n ** 64n - 1n}`]],
  [ScalarType.DOUBLE, [-1, 0, 1.5e308, "NaN", "-Infinity"]],
]);

/**
 * Returns every invalid request that the fields of a message give.
 * @param good a valid request
 */
export function badRequests(type: DescMessage, good: object): BadRequest[] {
  return fieldsBelow(type, good, "", MAX_DEPTH);
}

function fieldsBelow(type: DescMessage, good: object, before: string, depth: number): BadRequest[] {
  return type.fields.flatMap((field) => {
    const { jsonName: name } = field;
    const path = `${before}${name}`;
    const siblings = Object.fromEntries(
      Object.entries(good).filter(([other]) => !field.oneof?.fields.some(({ jsonName }) => jsonName === other)),
    );
    const withValue = (value: unknown) => ({ ...siblings, [name]: value });
    const own = badValuesOf(field).map(([what, value]) => ({ path, name, what, request: withValue(value) }));
    if (field.fieldKind !== "message" || hasOwnForm(field.message) || depth === 0) return own;
    const inner = (good as Readonly<Record<string, object>>)[name] ?? {};
    const below = fieldsBelow(field.message, inner, `${path}.`, depth - 1);
    return [...own, ...below.map((bad) => ({ ...bad, request: withValue(bad.request) }))];
  });
}

function badValuesOf(field: DescField): [BadRequest["what"], unknown][] {
  if (field.fieldKind === "list" || field.fieldKind === "map") return [["wrong type", 7]];
  if (field.fieldKind === "enum") return [["wrong type", "NONE_OF_THEM"]];
  if (field.fieldKind === "message") return takesAnything(field.message.typeName) ? [] : [["wrong type", 7]];
  if (field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES) {
    const long = field.scalar === ScalarType.BYTES ? Buffer.from(LONG).toString("base64") : LONG;
    return [
      ["wrong type", {}],
      ["over-long", long],
    ];
  }
  const extremes = (NUMBERS.get(field.scalar) ?? []).map((value): [BadRequest["what"], unknown] => ["extreme", value]);
  return [["wrong type", "neither"], ...extremes];
}

function takesAnything(typeName: string): boolean {
  return typeName === "google.protobuf.Value";
}
