/**
 * The part of the generated code that is the same for all messages: depth limit and unknown fields.
 */
import { BinaryReader } from "./reader.js";
import type { BinaryWriter } from "./writer.js";

/** Maximum depth of nested messages; the same as in ts-proto. */
const MAX_DEPTH = 100;

/**
 * Fields that were not in the contract when the code was generated: the bytes of each field by its
 * tag.
 */
type UnknownFields = { [tag: number]: Uint8Array[] };

/**
 * Begins to read a message, from its bytes or at the position of a reader. `closeMessage` must
 * follow, except when reading fails: then the reader must not be used any more.
 */
export function openMessage(input: BinaryReader | Uint8Array): BinaryReader {
  const reader = input instanceof BinaryReader ? input : new BinaryReader(input);
  if (reader.__tsProtoDecodeDepth >= MAX_DEPTH) throw new Error("protobuf decode recursion limit exceeded");
  reader.__tsProtoDecodeDepth++;
  return reader;
}

export function closeMessage(reader: BinaryReader): void {
  reader.__tsProtoDecodeDepth--;
}

export function keepUnknownField(
  message: { _unknownFields?: UnknownFields | undefined },
  tag: number,
  bytes: Uint8Array,
): void {
  message._unknownFields ??= {};
  const known = message._unknownFields[tag];
  if (known === undefined) message._unknownFields[tag] = [bytes];
  else known.push(bytes);
}

export function writeUnknownFields(fields: UnknownFields, writer: BinaryWriter): void {
  for (const [tag, values] of Object.entries(fields)) for (const value of values) writer.uint32(Number(tag)).raw(value);
}
