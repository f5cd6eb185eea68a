/**
 * Counts what a serialized google.protobuf.FileDescriptorSet holds (files, types, fields, comments …) without building
 * any of it: an element fits in two bytes, but costs hundreds in memory once it is read.
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** The repeated members to count, by field number in google/protobuf/descriptor.proto, and what those hold in turn. */
interface Kind {
  readonly [field: number]: Kind;
}

const LEAF: Kind = {};
const ENUM: Kind = { 2: LEAF, 4: LEAF, 5: LEAF };
const SERVICE: Kind = { 2: LEAF };
const MESSAGE: Record<number, Kind> = { 2: LEAF, 4: ENUM, 5: LEAF, 6: LEAF, 8: LEAF, 9: LEAF, 10: LEAF };
MESSAGE[3] = MESSAGE;
const SOURCE_INFO: Kind = { 1: LEAF };
const FILE: Kind = { 3: LEAF, 4: MESSAGE, 5: ENUM, 6: SERVICE, 7: LEAF, 9: SOURCE_INFO };
const FILE_SET: Kind = { 1: FILE };

/** @throws {Error} when the bytes are not protobuf at all. */
export function countElements(descriptors: Uint8Array): number {
  return count(new BinaryReader(descriptors), descriptors.length, FILE_SET);
}

function count(reader: BinaryReader, end: number, kind: Kind): number {
  let elements = 0;
  while (reader.pos < end) {
    const [field, wireType] = reader.tag();
    const child = wireType === WireType.LengthDelimited ? kind[field] : undefined;
    if (child === undefined) {
      reader.skip(wireType, field);
    } else {
      const length = reader.uint32();
      elements += 1 + (child === LEAF ? 0 : count(reader, reader.pos + length, child));
      if (child === LEAF) reader.pos += length;
    }
  }
  if (reader.pos > end) throw new RangeError("premature end");
  return elements;
}
