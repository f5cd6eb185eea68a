/** The JSON schema of a configuration file, for editors. */
import { type Field, type FileSection, SECTIONS } from "./sections.js";

export function schemaOfConfiguration(): string {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Configuration of Portico",
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(SECTIONS.map((section) => [section.name, schemaOfSection(section)])),
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function schemaOfSection({ about, fields }: FileSection): object {
  const items = {
    type: "object",
    additionalProperties: false,
    required: fields.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(fields.map((field) => [field.name, schemaOfField(field)])),
  };
  return { description: about, type: "array", items };
}

function schemaOfField({ kind, words, meaning: description, usual }: Field): object {
  const stated = usual === undefined || typeof usual === "function" ? {} : { default: usual };
  return { description, ...typeOf(kind), ...(words && { enum: words }), ...stated };
}

function typeOf(kind: Field["kind"]): object {
  if (kind === "list") return { type: "array", items: { type: "string" } };
  if (kind === "scalar") return { type: ["string", "integer"] };
  if (kind === "number") return { type: "integer" };
  return { type: kind === "boolean" ? "boolean" : "string" };
}
