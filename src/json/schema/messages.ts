/**
 * The schemas of a document. Each message and enum that the endpoints use is a component:
 * `helloworld.CallResponse-output` for responses, `helloworld.CallRequest-input` for requests. No
 * name in descriptors has a hyphen, so these names are unique.
 *
 * Client generators make names from them and from the operations, such as `HelloworldCallResponse`
 * for the response of `Helloworld.Call`. These names do not end in Input or Output, so they are
 * unique, too.
 */
import {
  type DescEnum,
  type DescExtension,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescOneof,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import { commentOf } from "../../contract/comments.js";
import { isSecret } from "../../contract/secrets.js";
import type { Steps } from "../../overload/pace.js";
import { takesNull } from "../read/field.js";
import {
  extensionsByType,
  isImplicit,
  isNullWhenUnset,
  isRequired,
  type JsonStyle,
  wrapped,
  writtenName,
} from "../types.js";
import { type Direction, type JsonSchema, mapKeySchema, scalarSchema, wellKnownSchema } from "./scalars.js";

type Field = DescField | DescExtension;
type NameOf = (field: DescField) => string;
/** The type of one value: a field, an element of a list, or a value of a map. */
type Single = Partial<Pick<DescField, "message" | "enum" | "scalar">>;

/**
 * A oneof with at most this many members has a schema that excludes each pair. For a larger oneof
 * only the description states the rule.
 */
const MAX_PAIRED = 16;
/**
 * The maximum number of such pairs of a message. For further oneofs only the description states the
 * rule.
 */
const MAX_PAIRS = 2_000;

export interface SchemasOptions {
  /** The types of the service, for the extensions of its messages. */
  readonly types: Registry;
  /** How the messages look in JSON. */
  readonly style?: JsonStyle | undefined;
  /**
   * The maximum number of fields and enum values in all schemas together. Default: no maximum.
   * Types beyond it get a schema without their parts, so that a huge contract stays cheap.
   */
  readonly maxParts?: number | undefined;
}

/** The description of a type whose parts did not fit. */
const CUT = "This type is too large to be shown here; the OpenAPI document of the service has all of it.";

export class Schemas {
  readonly #types: Registry;
  readonly style: JsonStyle;
  /** The number of fields and enum values that may still be written. */
  #partsLeft: number;
  readonly #components = new Map<string, JsonSchema>();
  /**
   * Components that are referred to but not written yet. A queue, because types may contain each
   * other.
   */
  readonly #pending: [key: string, make: () => Steps<JsonSchema>][] = [];
  #extensions: ReadonlyMap<string, readonly DescExtension[]> | undefined;

  constructor({ types, style = {}, maxParts = Number.POSITIVE_INFINITY }: SchemasOptions) {
    this.#partsLeft = maxParts;
    this.#types = types;
    this.style = style;
  }

  /**
   * All components that were referred to, and the components that these refer to, sorted by name.
   * Yields after each field and each enum value with its comment.
   */
  *components(): Steps<Record<string, JsonSchema>> {
    // In the order of their references: if not all parts fit, the types nearest to the endpoints
    // are written.
    for (const [key, make] of this.#pending) {
      this.#components.set(key, yield* make());
      yield;
    }
    this.#pending.length = 0;
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The schema of a message as the body of a request or a response. */
  message(type: DescMessage, direction: Direction): JsonSchema {
    return this.single({ message: type }, direction);
  }

  /** The schema of one value. */
  single({ message, enum: type, scalar }: Single, direction: Direction): JsonSchema {
    if (message !== undefined) {
      const inner = wrapped(message);
      if (inner !== undefined) return this.single(inner, direction);
      const own = wellKnownSchema(message, direction);
      return this.#refer(message.typeName, direction, own ?? (() => this.#object(message, direction)));
    }
    if (type !== undefined) return this.#enumeration(type, direction);
    const { name, schema } = scalarSchema(scalar!, direction);
    return name === undefined ? schema : this.#refer(name, direction, schema);
  }

  #enumeration(type: DescEnum, direction: Direction): JsonSchema {
    if (type.typeName === "google.protobuf.NullValue" && direction === "output") return { type: "null" };
    return this.#refer(type.typeName, direction, () => this.#enum(type, direction));
  }

  *#enum(type: DescEnum, direction: Direction): Steps<JsonSchema> {
    return this.#fits(type.values.length) ? yield* enumSchema(type, direction) : { description: CUT };
  }

  #refer(name: string, direction: Direction, schema: JsonSchema | (() => Steps<JsonSchema>)): JsonSchema {
    const key = `${name}-${direction}`;
    if (!this.#components.has(key)) {
      const isLater = typeof schema === "function";
      this.#components.set(key, isLater ? {} : schema);
      if (isLater) this.#pending.push([key, schema]);
    }
    return { $ref: `#/components/schemas/${key}` };
  }

  *#object(type: DescMessage, direction: Direction): Steps<JsonSchema> {
    const fields: readonly Field[] = [...type.fields, ...this.#extensionsOf(type)];
    if (!this.#fits(fields.length + 1)) return { type: "object", description: CUT };
    const input = direction === "input";
    const choices = type.oneofs.filter((oneof) => oneof.fields.length > 1);
    const properties: [name: string, schema: JsonSchema][] = [];
    const required: string[] = [];
    for (const field of fields) {
      const name = this.nameOf(field);
      properties.push([name, this.#property(field, direction)]);
      if (isRequired(field) || (!input && this.#isAlwaysWritten(field))) required.push(name);
      yield;
    }
    const nameOf = (field: DescField) => this.nameOf(field);
    const exclusive = input ? exclusivePairs(choices, nameOf) : [];
    return {
      type: "object",
      ...described(commentOfType(type), ...choices.map((choice) => choiceInWords(choice, nameOf))),
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
      ...(exclusive.length > 0 && { not: { anyOf: exclusive } }),
      ...(input && !this.style.ignoreUnknown && { additionalProperties: false }),
      ...deprecation(type),
    };
  }

  /** Reserves the parts of one type from the parts that may still be written. */
  #fits(parts: number): boolean {
    this.#partsLeft -= parts;
    return this.#partsLeft >= 0;
  }

  #property(field: Field, direction: Direction): JsonSchema {
    const schema = this.field(field, direction);
    const mayBeNull = direction === "input" ? !isRequired(field) : isNullWhenUnset(field, this.style);
    const given = mayBeNull ? nullable(schema, field) : schema;
    return {
      ...given,
      ...presence(field),
      ...secrecy(field, direction),
      ...described(commentOf(field, fileOf(field))),
      ...deprecation(field),
    };
  }

  /**
   * Whether a field is in every response. Fields without presence are, unless zeros are omitted.
   */
  #isAlwaysWritten(field: Field): boolean {
    if (isNullWhenUnset(field, this.style)) return true;
    return field.kind === "field" && !this.style.omitZeros && isImplicit(field);
  }

  /** The name of a field. Requests may have its other name too. */
  nameOf(field: Field): string {
    return writtenName(field, this.style);
  }

  /** The schema of a field's value. */
  field(field: Field, direction: Direction): JsonSchema {
    if (field.fieldKind === "list") return { type: "array", items: this.single(field, direction) };
    if (field.fieldKind !== "map") return this.single(field, direction);
    const propertyNames = mapKeySchema(field.mapKey);
    const additionalProperties = this.single(field, direction);
    return { type: "object", ...(propertyNames && { propertyNames }), additionalProperties };
  }

  #extensionsOf({ typeName }: DescMessage): readonly DescExtension[] {
    this.#extensions ??= extensionsByType(this.#types);
    return this.#extensions.get(typeName) ?? [];
  }
}

function fileOf(field: Field): DescFile {
  return field.kind === "field" ? field.parent.file : field.file;
}

/** Allows null, which means that the field is not set, unless null is a value of its type. */
function nullable(schema: JsonSchema, field: Field): JsonSchema {
  if (takesNull(field)) return schema;
  if (typeof schema.type === "string") return { ...schema, type: [schema.type, "null"] };
  return { anyOf: [schema, { type: "null" }] };
}

/**
 * Marks a scalar, enum or wrapper that distinguishes absent from zero. Messages always do, lists
 * and maps never do, so these are not marked.
 */
function presence(field: Field): { "x-explicit-presence"?: true } {
  const isValue = field.fieldKind === "scalar" || field.fieldKind === "enum";
  const isWrapper = field.fieldKind === "message" && wrapped(field.message) !== undefined;
  return isWrapper || (isValue && field.kind === "field" && !isImplicit(field)) ? { "x-explicit-presence": true } : {};
}

function exclusivePairs(oneofs: readonly DescOneof[], nameOf: NameOf): JsonSchema[] {
  const pairs: JsonSchema[] = [];
  for (const oneof of oneofs) {
    if (oneof.fields.length > MAX_PAIRED) continue;
    pairs.push(...pairsOf(oneof, nameOf));
    if (pairs.length >= MAX_PAIRS) break;
  }
  return pairs;
}

/**
 * The pairs of a oneof's members that must not both be set. A member that is null is not set,
 * unless null is a value of its type.
 */
function pairsOf({ fields }: DescOneof, nameOf: NameOf): JsonSchema[] {
  const given = (field: DescField) => [nameOf(field), takesNull(field) ? {} : { not: { type: "null" } }];
  return fields.flatMap((field, at) =>
    fields.slice(at + 1).map((other) => ({
      required: [nameOf(field), nameOf(other)],
      properties: Object.fromEntries([given(field), given(other)]),
    })),
  );
}

function choiceInWords({ fields }: DescOneof, nameOf: NameOf): string {
  return `At most one of ${fields.map((field) => `\`${nameOf(field)}\``).join(", ")}.`;
}

/**
 * Values by name. An open enum has numbers, too: responses write values of a later version as
 * numbers.
 */
function* enumSchema(type: DescEnum, direction: Direction): Steps<JsonSchema> {
  const input = direction === "input";
  const values = input ? type.values : firstOfEach(type);
  const names = new Set(
    input ? values.flatMap(({ name, jsonName }) => [jsonName, name]) : values.map((one) => one.jsonName),
  );
  const numbers = type.open
    ? { type: "integer", format: "int32", minimum: -(2 ** 31), exclusiveMaximum: 2 ** 31 }
    : { type: "integer", enum: [...new Set(type.values.map(({ number }) => number))] };
  const byName = { type: "string", enum: [...names] };
  const forms = input || type.open ? [byName, numbers] : [byName];
  const isNull = type.typeName === "google.protobuf.NullValue";
  return {
    ...described(commentOf(type, type.file), yield* valuesInWords(type)),
    ...(forms.length > 1 ? { anyOf: isNull ? [{ type: "null" }, ...forms] : forms } : byName),
    ...deprecation(type),
  };
}

/** The first value of each number. If a number has several names, responses use the first one. */
function firstOfEach({ values }: DescEnum): DescEnum["values"] {
  const numbers = new Set<number>();
  return values.filter(({ number }) => !numbers.has(number) && numbers.add(number));
}

function* valuesInWords(type: DescEnum): Steps<string> {
  const lines: string[] = [];
  for (const value of type.values) {
    const comment = commentOf(value, type.file);
    if (comment === "") continue;
    lines.push(`- \`${value.jsonName}\`: ${comment.replaceAll("\n", " ")}`);
    yield;
  }
  return lines.join("\n");
}

/**
 * Marks a field that its contract keeps out of logs (`debug_redact`): in requests as `writeOnly`,
 * and a string with the format `password`, so that forms hide the input.
 */
export function secrecy(field: Field, direction: Direction): { format?: "password"; writeOnly?: true } {
  if (!isSecret(field)) return {};
  const isText = field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;
  return { ...(isText && { format: "password" }), ...(direction === "input" && { writeOnly: true }) };
}

/**
 * The comment of google.protobuf.Empty tells authors of contracts how to use it. It says nothing to
 * a caller.
 */
function commentOfType(type: DescMessage): string {
  return type.typeName === "google.protobuf.Empty" ? "" : commentOf(type, type.file);
}

/** A description made of all paragraphs that are not empty. */
export function described(...paragraphs: readonly string[]): { description?: string } {
  const description = paragraphs.filter((paragraph) => paragraph !== "").join("\n\n");
  return description === "" ? {} : { description };
}

export function deprecation({ deprecated }: { readonly deprecated: boolean }): { deprecated?: true } {
  return deprecated ? { deprecated } : {};
}
