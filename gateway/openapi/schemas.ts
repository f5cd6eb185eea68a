/**
 * The schemas of a document: each message and enum that its endpoints reach stands once among its components, as
 * `helloworld.CallResponse-output` where it is answered and as `helloworld.CallRequest-input` where it is sent. Generators
 * make names of these and of the operations, such as `HelloworldCallResponse` for what `Helloworld.Call` answers; none of
 * theirs ends in Input or Output, so they do not meet. No name that
 * descriptors can have has a hyphen, so these names never meet.
 */
import type {
  DescEnum,
  DescExtension,
  DescField,
  DescFile,
  DescMessage,
  DescOneof,
  Registry,
} from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { commentOf } from "../../src/contract/comments.js";
import { takesNull } from "../../src/json/read/field.js";
import { isImplicit, isRequired, wrapped } from "../../src/json/types.js";
import { mapKeySchema, scalarSchema } from "./scalars.js";
import type { Direction, Schema } from "./schema.js";
import { wellKnownSchema } from "./well-known.js";

type Field = DescField | DescExtension;
/** What one value is: of a field, an element of a list, or a value of a map. */
type Single = Partial<Pick<DescField, "message" | "enum" | "scalar">>;

/** Of a oneof with more members, it is said in words alone that they exclude each other: each pair has an entry. */
const MOST_PAIRED = 16;

export interface SchemasOptions {
  /** Has the extensions of the messages. */
  readonly types: Registry;
  /** Whether fields without presence are left out of answers when they are zero or empty. */
  readonly omitZeros?: boolean | undefined;
}

export class Schemas {
  readonly #types: Registry;
  readonly #omitZeros: boolean;
  readonly #components = new Map<string, Schema>();
  /** Met, but not written yet. One at a time, since types may contain each other without end. */
  readonly #open: (() => void)[] = [];
  #extensions: ReadonlyMap<string, readonly DescExtension[]> | undefined;

  constructor({ types, omitZeros = false }: SchemasOptions) {
    this.#types = types;
    this.#omitZeros = omitZeros;
  }

  /** Everything that was referred to, and what that refers to, in the order of names. */
  components(): Record<string, Schema> {
    for (let write = this.#open.pop(); write !== undefined; write = this.#open.pop()) write();
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The schema of a message, as a whole body or answer. */
  message(type: DescMessage, direction: Direction): Schema {
    return this.single({ message: type }, direction);
  }

  /** The schema of one value that is there. */
  single({ message, enum: type, scalar }: Single, direction: Direction): Schema {
    if (message !== undefined) {
      const inner = wrapped(message);
      if (inner !== undefined) return this.single(inner, direction);
      const own = wellKnownSchema(message, direction);
      return this.#refer(message.typeName, direction, () => own ?? this.#object(message, direction));
    }
    if (type !== undefined) return this.#enumeration(type, direction);
    const { name, schema } = scalarSchema(scalar!, direction);
    return name === undefined ? schema : this.#refer(name, direction, () => schema);
  }

  #enumeration(type: DescEnum, direction: Direction): Schema {
    if (type.typeName === "google.protobuf.NullValue" && direction === "output") return { type: "null" };
    return this.#refer(type.typeName, direction, () => enumSchema(type, direction));
  }

  #refer(name: string, direction: Direction, make: () => Schema): Schema {
    const key = `${name}-${direction}`;
    if (!this.#components.has(key)) {
      this.#components.set(key, {});
      this.#open.push(() => this.#components.set(key, make()));
    }
    return { $ref: `#/components/schemas/${key}` };
  }

  #object(type: DescMessage, direction: Direction): Schema {
    const fields: readonly Field[] = [...type.fields, ...this.#extensionsOf(type)];
    const input = direction === "input";
    const choices = type.oneofs.filter((oneof) => oneof.fields.length > 1);
    const required = fields.filter(
      (field) => isRequired(field) || (!input && !this.#omitZeros && isAlwaysWritten(field)),
    );
    const exclusive = choices.filter((oneof) => oneof.fields.length <= MOST_PAIRED).flatMap(pairsOf);
    return {
      type: "object",
      ...described(commentOf(type, type.file), ...choices.map(choiceInWords)),
      properties: Object.fromEntries(fields.map((field) => [field.jsonName, this.#property(field, direction)])),
      ...(required.length > 0 && { required: required.map(({ jsonName }) => jsonName) }),
      ...(input && exclusive.length > 0 && { not: { anyOf: exclusive } }),
      ...(input && { additionalProperties: false }),
      ...deprecation(type),
    };
  }

  #property(field: Field, direction: Direction): Schema {
    const schema = this.#field(field, direction);
    const given = direction === "input" && !isRequired(field) ? nullable(schema, field) : schema;
    return { ...given, ...secrecy(field), ...described(commentOf(field, fileOf(field))), ...deprecation(field) };
  }

  #field(field: Field, direction: Direction): Schema {
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

function extensionsByType(types: Registry): ReadonlyMap<string, readonly DescExtension[]> {
  const byType = new Map<string, DescExtension[]>();
  for (const type of types) {
    if (type.kind !== "extension") continue;
    const { typeName } = type.extendee;
    byType.set(typeName, [...(byType.get(typeName) ?? []), type]);
  }
  return byType;
}

function fileOf(field: Field): DescFile {
  return field.kind === "field" ? field.parent.file : field.file;
}

/** A field that was given as null was not given, unless null is a value of its type. */
function nullable(schema: Schema, field: Field): Schema {
  if (takesNull(field)) return schema;
  if (typeof schema.type === "string") return { ...schema, type: [schema.type, "null"] };
  return { anyOf: [schema, { type: "null" }] };
}

/** Fields without presence are in every answer, unless zeros are left out. */
function isAlwaysWritten(field: Field): boolean {
  return field.kind === "field" && (field.fieldKind === "list" || field.fieldKind === "map" || isImplicit(field));
}

/** Of two members at most one may be given, and null is not given, unless it is a value of the member's type. */
function pairsOf({ fields }: DescOneof): Schema[] {
  const given = (field: DescField) => [field.jsonName, takesNull(field) ? {} : { not: { type: "null" } }];
  return fields.flatMap((field, at) =>
    fields.slice(at + 1).map((other) => ({
      required: [field.jsonName, other.jsonName],
      properties: Object.fromEntries([given(field), given(other)]),
    })),
  );
}

function choiceInWords({ fields }: DescOneof): string {
  return `At most one of ${fields.map(({ jsonName }) => `\`${jsonName}\``).join(", ")}.`;
}

/** By name; of an open enum also by number, which is how values of a later version are answered. */
function enumSchema(type: DescEnum, direction: Direction): Schema {
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
    ...described(commentOf(type, type.file), valuesInWords(type)),
    ...(forms.length > 1 ? { anyOf: isNull ? [{ type: "null" }, ...forms] : forms } : byName),
    ...deprecation(type),
  };
}

/** Of several names for one number, the first is answered. */
function firstOfEach({ values }: DescEnum): DescEnum["values"] {
  const numbers = new Set<number>();
  return values.filter(({ number }) => !numbers.has(number) && numbers.add(number));
}

function valuesInWords(type: DescEnum): string {
  const lines = type.values.flatMap((value) => {
    const comment = commentOf(value, type.file);
    return comment === "" ? [] : [`- \`${value.jsonName}\`: ${comment.replaceAll("\n", " ")}`];
  });
  return lines.join("\n");
}

/** A string that its contract keeps out of logs (`debug_redact`), such as a password, is not shown as it is typed. */
export function secrecy(field: Field): { format?: "password" } {
  const isSecret = field.fieldKind === "scalar" && field.scalar === ScalarType.STRING && isRedacted(field);
  return isSecret ? { format: "password" } : {};
}

function isRedacted({ proto }: Field): boolean {
  return proto.options?.debugRedact === true;
}

/** A description of paragraphs that are not empty. */
export function described(...paragraphs: readonly string[]): { description?: string } {
  const description = paragraphs.filter((paragraph) => paragraph !== "").join("\n\n");
  return description === "" ? {} : { description };
}

export function deprecation({ deprecated }: { readonly deprecated: boolean }): { deprecated?: true } {
  return deprecated ? { deprecated } : {};
}
