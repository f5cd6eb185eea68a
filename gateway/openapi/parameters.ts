/**
 * The fields of a message as query parameters (src/json/read/query.ts): `inner.text=x` for a nested
 * field, a repeated name for a list, `counts[key]=1` for a map. Lists and maps of messages cannot
 * be query parameters.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { commentOf } from "../../src/contract/comments.js";
import { deprecation, described, type Schemas, secrecy } from "../../src/json/schema/messages.js";
import { type JsonSchema, mapKeySchema } from "../../src/json/schema/scalars.js";
import { hasOwnForm, isRequired, wrapped } from "../../src/json/types.js";
import { suchAs } from "./examples.js";

/**
 * Maximum depth of a message whose fields become parameters, because each level may multiply their
 * number.
 */
const MAX_DEPTH = 3;
const MAX_PARAMETERS = 50;
/** Maximum fields that are examined. A message is examined again wherever it is nested. */
const MAX_LOOKED_AT = 1_000;

interface Parameter {
  readonly field: DescField;
  readonly name: string;
  readonly schema: JsonSchema;
}

/**
 * The parameters of a GET: at most 50, from at most three levels of messages, and none of a message
 * that is nested in itself.
 */
export function queryParameters(type: DescMessage, schemas: Schemas): JsonSchema[] {
  return parametersOf(type, schemas).map(({ field, name, schema }) => {
    const example = field.fieldKind === "scalar" && field.scalar === ScalarType.STRING ? suchAs(field) : undefined;
    return {
      name,
      in: "query",
      ...described(commentOf(field, field.parent.file)),
      ...(isRequired(field) && !name.includes(".") && { required: true }),
      ...deprecation(field),
      style: field.fieldKind === "map" ? "deepObject" : "form",
      explode: true,
      schema: { ...schema, ...secrecy(field, "input") },
      ...(example !== undefined && { example }),
    };
  });
}

/**
 * The schema of a form. Bytes are files, and maps are left out, because forms cannot express them.
 * All other fields are as in a query.
 */
export function formSchema(type: DescMessage, schemas: Schemas): JsonSchema {
  const parts = parametersOf(type, schemas).filter(({ field }) => field.fieldKind !== "map");
  const properties = parts.map(({ field, name, schema }): [string, JsonSchema] => {
    const more = { ...secrecy(field, "input"), ...described(commentOf(field, field.parent.file)) };
    if (field.scalar !== ScalarType.BYTES || name.includes(".")) return [name, { ...schema, ...more }];
    return [name, { ...(field.fieldKind === "list" ? { type: "array", items: FILE } : FILE), ...more }];
  });
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(!schemas.style.ignoreUnknown && { additionalProperties: false }),
  };
}

const FILE: JsonSchema = { type: "string", format: "binary", contentMediaType: "application/octet-stream" };

/** Messages at one depth, each with the messages in which it is nested. */
type Level = { type: DescMessage; prefix: string; within: readonly DescMessage[] }[];

function parametersOf(type: DescMessage, schemas: Schemas): Parameter[] {
  const found: Parameter[] = [];
  let lookedAt = 0;
  let level: Level = hasOwnForm(type) ? [] : [{ type, prefix: "", within: [] }];
  for (let depth = 1; depth <= MAX_DEPTH; depth++) {
    const next: Level = [];
    for (const { type, prefix, within } of level) {
      for (const field of type.fields) {
        if (++lookedAt > MAX_LOOKED_AT) return found;
        const name = prefix + schemas.nameOf(field);
        const schema = schemaOf(field, schemas);
        if (found.length === MAX_PARAMETERS) return found;
        if (schema !== undefined) found.push({ field, name, schema });
        else if (isNested(field) && field.message !== type && !within.includes(field.message)) {
          next.push({ type: field.message, prefix: `${name}.`, within: [...within, type] });
        }
      }
    }
    level = next;
  }
  return found;
}

function isNested(field: DescField): field is DescField & { fieldKind: "message" } {
  return field.fieldKind === "message" && !hasOwnForm(field.message);
}

/** The schema of a parameter; undefined if the field cannot be written as text. */
function schemaOf(field: DescField, schemas: Schemas): JsonSchema | undefined {
  const one = leafSchema(field, schemas);
  if (one === undefined || (field.fieldKind !== "list" && field.fieldKind !== "map")) return one;
  if (field.fieldKind === "list") return { type: "array", items: one };
  const propertyNames = mapKeySchema(field.mapKey);
  return { type: "object", ...(propertyNames && { propertyNames }), additionalProperties: one };
}

function leafSchema({ message, enum: type, scalar }: DescField, schemas: Schemas): JsonSchema | undefined {
  if (type?.typeName === "google.protobuf.NullValue") return { type: "string", enum: ["NULL_VALUE"] };
  if (message === undefined) return schemas.single({ enum: type, scalar }, "input");
  if (message.typeName === "google.protobuf.Value") return { type: "string" };
  const isText = wrapped(message) !== undefined || WRITTEN_AS_TEXT.has(message.typeName);
  return isText ? schemas.message(message, "input") : undefined;
}

const WRITTEN_AS_TEXT: ReadonlySet<string> = new Set(
  ["Timestamp", "Duration", "FieldMask"].map((name) => `google.protobuf.${name}`),
);
