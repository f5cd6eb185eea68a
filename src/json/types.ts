/** What the scalar types are on the wire (https://protobuf.dev/programming-guides/encoding/). */
import { type DescField, ScalarType } from "@bufbuild/protobuf";

export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH = 2;
export const START_GROUP = 3;
export const END_GROUP = 4;
export const FIXED32 = 5;

/** How a scalar is written on the wire. Enums are like int32. */
export function wireType(scalar: ScalarType): number {
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

/** The tag that stands before a field. */
export function tagOf(number: number, type: number): number {
  return ((number << 3) | type) >>> 0;
}

/** Whether a field has no presence: it is always written in JSON, and its zero is never on the wire. */
export function isImplicit(field: DescField): boolean {
  return field.presence === 2; // google.protobuf.FeatureSet.FieldPresence.IMPLICIT
}

/** Whether a message without the field is incomplete (proto2). */
export function isRequired(field: { readonly presence: number }): boolean {
  return field.presence === 3; // google.protobuf.FeatureSet.FieldPresence.LEGACY_REQUIRED
}
