/**
 * Counts the elements in a serialized google.protobuf.FileDescriptorSet without parsing it: an
 * element may take only two bytes there, but about a kilobyte once it is parsed. The count has its
 * own stack, so nesting cannot overflow the call stack.
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** Maximum depth of messages within messages. protoc has a limit, too. */
export const MAX_NESTING = 32;

/** The counts of a FileDescriptorSet. */
export interface DescriptorSize {
  /** Files, types, fields, oneofs, values, services, methods and imports. */
  readonly elements: number;
  /** Elements of the largest file. */
  readonly largestFile: number;
  /** Entries of google.protobuf.SourceCodeInfo.Location, which also contain the comments. */
  readonly locations: number;
}

/**
 * The repeated fields to count, by field number in google/protobuf/descriptor.proto, each with the
 * fields to count in it.
 */
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

/** Number of fields that are read in one step. */
const STEP = 8_192;

/**
 * Counts in steps.
 * @param set a serialized google.protobuf.FileDescriptorSet
 * @throws {Error} if the bytes are not protobuf, or messages are nested too deep
 */
export function sizeOf(set: Uint8Array): Generator<undefined, DescriptorSize, undefined> {
  return count(set, FILE_SET);
}

/**
 * Counts the elements of a serialized google.protobuf.FileDescriptorProto, including the file
 * itself.
 * @throws {Error} as `sizeOf`
 */
export function elementsOf(file: Uint8Array): number {
  const counting = count(file, FILE);
  for (;;) {
    const { done, value } = counting.next();
    if (done) return 1 + value.elements;
  }
}

function* count(bytes: Uint8Array, kind: Kind): Generator<undefined, DescriptorSize, undefined> {
  const reader = new BinaryReader(bytes);
  const open: { readonly kind: Kind; readonly end: number; readonly before: number }[] = [];
  let [elements, locations, largestFile, read] = [0, 0, 0, 0];
  let within: { readonly kind: Kind; readonly end: number; readonly before: number } | undefined;
  within = { kind, end: bytes.length, before: 0 };
  while (within !== undefined) {
    if (reader.pos >= within.end) {
      if (reader.pos > within.end) throw new RangeError("premature end");
      if (within.kind === FILE) largestFile = Math.max(largestFile, elements - within.before);
      within = open.pop();
      continue;
    }
    if (++read % STEP === 0) yield;
    const [field, wireType] = reader.tag();
    const child: Kind | undefined = wireType === WireType.LengthDelimited ? within.kind[field] : undefined;
    if (child === undefined) {
      reader.skip(wireType, field);
      continue;
    }
    const end: number = reader.uint32() + reader.pos;
    if (within.kind === SOURCE_INFO) locations++;
    else if (child !== SOURCE_INFO) elements++;
    if (child === LEAF) {
      reader.pos = end;
      continue;
    }
    // The first entry of `open` is the set.
    if (child === MESSAGE && open.length > MAX_NESTING)
      throw new RangeError(`messages are nested more than ${MAX_NESTING} deep`);
    open.push(within);
    within = { kind: child, end, before: elements };
  }
  return { elements, largestFile, locations };
}
