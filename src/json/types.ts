/**
 * What the codec needs to know about a protobuf type: its wire type
 * (https://protobuf.dev/programming-guides/encoding/), its presence, and whether it has a special
 * JSON form (https://protobuf.dev/programming-guides/json/).
 */
import { type DescExtension, type DescField, type DescMessage, type Registry, ScalarType } from "@bufbuild/protobuf";

/** How the messages of a service look in JSON. */
export interface JsonStyle {
  /**
   * Whether the JSON that is written omits fields without presence that are zero or empty. The
   * default of proto3 JSON is to omit them.
   */
  readonly omitZeros?: boolean | undefined;
  /**
   * Whether a field with presence that is not set is written as null, except members of a oneof,
   * `optional` fields of proto3 and extensions. protojson of Go does so with EmitUnpopulated, which
   * grpc-gateway sets.
   */
  readonly nullUnset?: boolean | undefined;
  /** Whether fields are written with their names in the .proto file, instead of `json_name`. */
  readonly protoNames?: boolean | undefined;
  /**
   * Whether unknown fields, names of enum values and query parameters are passed over when JSON is
   * read. Otherwise they are refused.
   */
  readonly ignoreUnknown?: boolean | undefined;
}

/** The name of a field in JSON that is written. The name of an extension is always in brackets. */
export function writtenName(field: DescField | DescExtension, { protoNames }: JsonStyle): string {
  return protoNames && field.kind === "field" ? field.name : field.jsonName;
}

/** Returns the message type with a full name. */
export type FindMessage = (name: string) => DescMessage | undefined;

export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH = 2;
export const START_GROUP = 3;
export const END_GROUP = 4;
export const FIXED32 = 5;

/** The wire type of a value: a scalar, or an enum, which has no scalar type. */
export function wireType(scalar: ScalarType | undefined): number {
  switch (scalar) {
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return FIXED64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return FIXED32;
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return LENGTH;
    default:
      return VARINT;
  }
}

/** The tag in front of a field. */
export function tagOf(number: number, type: number): number {
  return ((number << 3) | type) >>> 0;
}

/** The tags of the fields of `google.protobuf.Value`. Exactly one of these fields is set. */
export const NULL_TAG = tagOf(1, VARINT);
export const NUMBER_TAG = tagOf(2, FIXED64);
export const STRING_TAG = tagOf(3, LENGTH);
export const BOOL_TAG = tagOf(4, VARINT);
export const STRUCT_TAG = tagOf(5, LENGTH);
export const LIST_TAG = tagOf(6, LENGTH);

/**
 * Whether a field has no presence: JSON always has it, and its zero is never on the wire. Lists and
 * maps have no presence.
 */
export function isImplicit(field: DescField): boolean {
  return field.presence === 2; // google.protobuf.FeatureSet.FieldPresence.IMPLICIT
}

/**
 * Whether a response has null for a field that is not set.
 * @see JsonStyle.nullUnset
 */
export function isNullWhenUnset(field: DescField | DescExtension, { nullUnset }: JsonStyle): boolean {
  if (!nullUnset || field.kind === "extension" || field.oneof !== undefined) return false;
  return !isImplicit(field) && !isRequired(field) && !field.proto.proto3Optional;
}

/** The names by which JSON may name the fields of a message, for an error about another name. */
export function fieldNames(type: DescMessage): string[] {
  return type.fields.flatMap(({ jsonName, name }) => [jsonName, name]);
}

/** Whether a message without the field is incomplete (proto2). */
export function isRequired(field: { readonly presence: number }): boolean {
  return field.presence === 3; // google.protobuf.FeatureSet.FieldPresence.LEGACY_REQUIRED
}

const WRAPPERS: ReadonlySet<string> = new Set(
  ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"].map(
    (type) => `google.protobuf.${type}Value`,
  ),
);

/** The other google.protobuf types that have a special JSON form. */
const OTHERS: ReadonlySet<string> = new Set(
  ["Any", "Timestamp", "Duration", "FieldMask", "Struct", "Value", "ListValue"].map(
    (type) => `google.protobuf.${type}`,
  ),
);

/**
 * Whether the type's JSON is not an object of its fields. In an Any, such a JSON is in the member
 * `value`.
 */
export function hasOwnForm(type: DescMessage): boolean {
  return OTHERS.has(type.typeName) || wrapped(type) !== undefined;
}

/**
 * The only field of a wrapper such as google.protobuf.StringValue. The wrapper's JSON is this
 * field's value.
 */
export function wrapped(type: DescMessage): DescField | undefined {
  if (!WRAPPERS.has(type.typeName)) return undefined;
  const field = type.fields[0];
  return field?.fieldKind === "scalar" && field.number === 1 ? field : undefined;
}

/** The extensions of each message type, by its full name. */
export function extensionsByType(types: Registry): ReadonlyMap<string, DescExtension[]> {
  const byType = new Map<string, DescExtension[]>();
  for (const type of types) {
    if (type.kind !== "extension") continue;
    const extensions = byType.get(type.extendee.typeName);
    if (extensions === undefined) byType.set(type.extendee.typeName, [type]);
    else extensions.push(type);
  }
  return byType;
}
