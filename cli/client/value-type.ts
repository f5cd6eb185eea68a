/**
 * The types of fields. They are recognized by the schemas that the gateway writes for them
 * (gateway/openapi/).
 */
import { type Document, type DocumentSchema, referredName } from "./document.js";

/** The type of one value. */
export type ValueType =
  | { readonly kind: PlainKind }
  | { readonly kind: "int"; readonly bits: 32 | 64; readonly signed: boolean }
  | { readonly kind: "float"; readonly bits: 32 | 64 }
  /** `name` includes the package: `helloworld.CallRequest`. */
  | { readonly kind: "message" | "enum"; readonly name: string };

type PlainKind = "string" | "bool" | "bytes" | "null" | "none" | WellKnown;
/** The google.protobuf types with a special JSON form. */
type WellKnown = "timestamp" | "duration" | "mask" | "struct" | "list" | "value" | "any";

/** The type of a field. */
export interface FieldType {
  /** Undefined for a single value. */
  readonly many: "list" | "map" | undefined;
  /** The type of a map's keys. */
  readonly key: "string" | "bool" | "int" | "uint";
  /** The type of the value, or of each value of a list or map. */
  readonly value: ValueType;
}

const WELL_KNOWN: ReadonlyMap<string, PlainKind> = new Map<string, PlainKind>([
  ["google.protobuf.Timestamp", "timestamp"],
  ["google.protobuf.Duration", "duration"],
  ["google.protobuf.FieldMask", "mask"],
  ["google.protobuf.Struct", "struct"],
  ["google.protobuf.ListValue", "list"],
  ["google.protobuf.Value", "value"],
  ["google.protobuf.Any", "any"],
  ["google.protobuf.NullValue", "null"],
  ["bytes-base64", "bytes"],
]);

export function fieldTypeOf(schema: DocumentSchema, document: Document): FieldType {
  const given = withoutNull(schema);
  const { items, propertyNames, additionalProperties } = given;
  const key = keyOf(propertyNames);
  if (given.$ref === undefined) {
    if (items !== undefined) return { many: "list", key, value: valueTypeOf(items, document) };
    if (typeof additionalProperties === "object")
      return { many: "map", key, value: valueTypeOf(additionalProperties, document) };
  }
  return { many: undefined, key, value: valueTypeOf(given, document) };
}

/** @param schema undefined, or an unknown schema, means a value of any type */
export function valueTypeOf(schema: DocumentSchema | undefined, document: Document): ValueType {
  if (schema === undefined) return { kind: "none" };
  const given = withoutNull(schema);
  const name = referredName(given);
  if (name !== undefined) return referredType(name, document);
  const one = given.anyOf?.[0] ?? given;
  switch ([one.type].flat()[0]) {
    case "null":
      return { kind: "null" };
    case "boolean":
      return { kind: "bool" };
    case "integer":
      return numberType(one.format);
    case "number":
      return numberType(one.format);
    case "string":
      if (one.contentEncoding === "base64") return { kind: "bytes" };
      return one.format === "int64" || one.format === "uint64" ? numberType(one.format) : { kind: "string" };
  }
  return { kind: "value" };
}

export function isEnum(schema: DocumentSchema): boolean {
  return [schema, ...(schema.anyOf ?? [])].some((one) => one.enum !== undefined);
}

function referredType(name: string, { components }: Document): ValueType {
  const [, number] = /^number-(\w+)-input$/.exec(name) ?? [];
  if (number !== undefined) return numberType(number);
  const own = name.replace(/-(?:input|output)$/, "");
  const kind = WELL_KNOWN.get(own);
  if (kind !== undefined) return { kind };
  return { kind: isEnum(components.schemas[name] ?? {}) ? "enum" : "message", name: own };
}

function numberType(format = ""): ValueType {
  if (format === "double" || format === "float") return { kind: "float", bits: format === "double" ? 64 : 32 };
  return { kind: "int", bits: format.endsWith("64") ? 64 : 32, signed: !format.startsWith("u") };
}

/** Every field may be `null` in a request. This means that the field is absent. */
function withoutNull(schema: DocumentSchema): DocumentSchema {
  const choices = schema.anyOf?.filter(({ type }) => type !== "null") ?? [];
  if (schema.anyOf !== undefined && choices.length === 1) return withoutNull(choices[0] ?? {});
  return schema;
}

function keyOf(names: DocumentSchema | undefined): FieldType["key"] {
  if (names?.enum !== undefined) return "bool";
  if (names?.pattern === undefined) return "string";
  return names.pattern.startsWith("^(?:-?") ? "int" : "uint";
}
