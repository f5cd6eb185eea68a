/**
 * Puts the fields that a path sets into a message in wire bytes, in place of what a body gave for them. The wire format would
 * let them just follow, but not every reader merges the two occurrences of a message, and a zero is not on the wire.
 */
import type { DescField } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** The fields of a message that a path sets. */
export interface PathFields {
  /** Fields that the path sets, and other members of their oneofs: what the message has of them is left out. */
  readonly replaced: ReadonlySet<number>;
  /** Messages of which the path sets fields. */
  readonly within: ReadonlyMap<number, PathFields>;
}

/** @param variables the fields of each variable's path, from the message's own to the value's */
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
 * @param values a message with the fields that the path sets and no others
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

/** Copies the fields of a message, except those that `take` takes. It gets the content of those with a length in front. */
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
