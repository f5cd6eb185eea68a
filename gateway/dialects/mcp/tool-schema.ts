/**
 * The JSON Schemas of a tool (draft 2020-12). They are the schemas of the OpenAPI documents, each
 * with its own definitions, and without the formats and extensions that JSON Schema validators do
 * not know.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { Schemas, type SchemasOptions } from "../../../src/json/schema/messages.js";
import type { Direction, JsonSchema } from "../../../src/json/schema/scalars.js";
import { hasOwnForm } from "../../../src/json/types.js";
import { atOnce } from "../../../src/overload/pace.js";

/**
 * The only member of arguments or content for messages that are not objects in JSON, such as
 * google.protobuf.StringValue.
 */
export const VALUE = "value";

const OBJECTS: ReadonlySet<string> = new Set(["google.protobuf.Struct", "google.protobuf.Any"]);

/**
 * Whether a message is always an object in JSON. Other messages are put into an object as the
 * member `value`.
 */
export function isObjectInJson(type: DescMessage): boolean {
  return !hasOwnForm(type) || OBJECTS.has(type.typeName);
}

/** The schema of one message, as the arguments of a tool or as its content. */
export function messageSchema(type: DescMessage, direction: Direction, options: SchemasOptions): JsonSchema {
  const schemas = new Schemas(options);
  const root = schemas.message(type, direction);
  const components = atOnce(schemas.components());
  const object = isObjectInJson(type) ? (components[nameOf(root)] as JsonSchema) : wrappedIn(root);
  const schema = { ...object, ...(Object.keys(components).length > 0 && { $defs: components }) };
  return withoutUnused(plain(schema) as JsonSchema);
}

/**
 * The schema of the result of a streaming endpoint: its messages, and whether there were more of
 * them.
 */
export function streamSchema(type: DescMessage, options: SchemasOptions): JsonSchema {
  const { $defs, ...message } = messageSchema(type, "output", options);
  return {
    type: "object",
    properties: { messages: { type: "array", items: message }, truncated: { type: "boolean" } },
    required: ["messages", "truncated"],
    ...($defs !== undefined && { $defs }),
  };
}

function wrappedIn(schema: JsonSchema): JsonSchema {
  return { type: "object", properties: { [VALUE]: schema }, required: [VALUE], additionalProperties: false };
}

const COMPONENTS = "#/components/schemas/";

function nameOf({ $ref }: JsonSchema): string {
  return String($ref).slice(COMPONENTS.length);
}

/**
 * Formats of the documents that JSON Schema validators know. `password` does not restrict a value.
 */
const FORMATS: ReadonlySet<unknown> = new Set(["date-time", "password"]);
/** Keywords whose members are schemas, under names from the contract. */
const NAMED: ReadonlySet<string> = new Set(["properties", "$defs"]);
/** Keywords whose values contain no schemas. They are not changed. */
const DATA: ReadonlySet<string> = new Set(["enum", "required"]);

function plain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plain);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword, value]) => !keyword.startsWith("x-") && (keyword !== "format" || FORMATS.has(value)))
      .map(([keyword, value]) => [keyword, plainValue(keyword, value)]),
  );
}

function plainValue(keyword: string, value: unknown): unknown {
  if (DATA.has(keyword)) return value;
  if (keyword === "$ref") return String(value).replace(COMPONENTS, "#/$defs/");
  if (!NAMED.has(keyword)) return plain(value);
  return Object.fromEntries(Object.entries(value as JsonSchema).map(([name, one]) => [name, plain(one)]));
}

/**
 * Removes the definitions that nothing refers to. The root is among its own definitions only if it
 * contains itself.
 */
function withoutUnused({ $defs = {}, ...root }: JsonSchema): JsonSchema {
  const defs = $defs as Readonly<Record<string, JsonSchema>>;
  const used = new Map<string, JsonSchema>();
  const open: JsonSchema[] = [root];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    for (const [, name] of JSON.stringify(one).matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g)) {
      const found = defs[name as string];
      if (found === undefined || used.has(name as string)) continue;
      used.set(name as string, found);
      open.push(found);
    }
  }
  return used.size === 0 ? root : { ...root, $defs: Object.fromEntries(used) };
}
