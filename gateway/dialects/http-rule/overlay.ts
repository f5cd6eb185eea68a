/**
 * Puts the fields that a path sets into a message in wire bytes, and removes the values that a body
 * gave for them. Appending the fields would be valid in the wire format. But not every reader
 * merges two occurrences of a message, and a field with the value zero is not on the wire.
 */
import type { DescField } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** The fields of a message that a path sets. */
export interface PathFields {
  /**
   * Fields that the path sets, and the other members of their oneofs. They are removed from the
   * message.
   */
  readonly replaced: ReadonlySet<number>;
  /** Submessages in which the path sets fields. */
  readonly within: ReadonlyMap<number, PathFields>;
}

/**
 * @param variables each variable's path as fields, from the message's own field to the value's
 * field
 */
export function pathFieldsOf(variables: readonly (readonly DescField[])[]): PathFields {
  const replaced = new Set<number>();
  const inner = new Map<DescField, (readonly DescField[])[]>();
  for (const [field, ...rest] of variables) {
    if (field === undefined) continue;
    for (const member of field.oneof?.fields ?? []) if (member !== field) replaced.add(member.number);
    if (rest.length === 0) replaced.add(field.number);
    else inner.set(field, [...(inner.get(field) ?? []), rest]);
  }
  const within = new Map([...inner].map(([{ number }, rest]) => [number, pathFieldsOf(rest)]));
  return { replaced, within };
}

/**
 * The message with the values of the path.
 * @param values a message that has only the fields that the path sets
 */
export function withPathFields(message: Uint8Array, values: Uint8Array, fields: PathFields): Uint8Array {
  const writer = new BinaryWriter();
  const within = new Map<number, { readonly message: Uint8Array[]; readonly values: Uint8Array[] }>();
  for (const number of fields.within.keys()) within.set(number, { message: [], values: [] });
  copy(message, writer, (number, content) => {
    within.get(number)?.message.push(content);
    return fields.replaced.has(number) || within.has(number);
  });
  copy(values, writer, (number, content) => {
    within.get(number)?.values.push(content);
    return within.has(number);
  });
  for (const [number, inner] of fields.within) {
    const parts = within.get(number) as { message: Uint8Array[]; values: Uint8Array[] };
    const content = withPathFields(Buffer.concat(parts.message), Buffer.concat(parts.values), inner);
    writer.tag(number, WireType.LengthDelimited).bytes(content);
  }
  return writer.finish();
}

const NOTHING = new Uint8Array(0);

/**
 * Copies the fields of a message, except those for which `take` returns true. `take` gets the
 * content of length-delimited fields.
 */
function copy(message: Uint8Array, writer: BinaryWriter, take: (number: number, content: Uint8Array) => boolean): void {
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [number, wireType] = reader.tag();
    const value = reader.skip(wireType, number);
    const content = wireType === WireType.LengthDelimited ? new BinaryReader(value).bytes() : NOTHING;
    if (!take(number, content)) writer.raw(message.subarray(start, reader.pos));
  }
}
