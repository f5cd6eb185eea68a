/** Which messages have a JSON form of their own (https://protobuf.dev/programming-guides/json/). */
import type { DescField, DescMessage } from "@bufbuild/protobuf";

const WRAPPERS: ReadonlySet<string> = new Set(
  ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"].map(
    (type) => `google.protobuf.${type}Value`,
  ),
);

const OTHERS: ReadonlySet<string> = new Set(
  ["Any", "Timestamp", "Duration", "FieldMask", "Struct", "Value", "ListValue"].map(
    (type) => `google.protobuf.${type}`,
  ),
);

/** Whether the type's JSON is not an object of its fields: within an Any it stands as `value`. */
export function hasOwnForm(type: DescMessage): boolean {
  return OTHERS.has(type.typeName) || wrapped(type) !== undefined;
}

/** The one field of a wrapper such as google.protobuf.StringValue, whose JSON is that field's value. */
export function wrapped(type: DescMessage): DescField | undefined {
  if (!WRAPPERS.has(type.typeName)) return undefined;
  const field = type.fields[0];
  return field?.fieldKind === "scalar" && field.number === 1 ? field : undefined;
}
