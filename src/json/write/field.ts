/** Writers of fields. Each writes the JSON after a member's name. */
import type { Buffer } from "node:buffer";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BRACKET_CLOSE, BRACKET_OPEN, COMMA } from "../bytes.js";
import { LENGTH, START_GROUP, tagOf, wireType } from "../types.js";
import { type FieldDescriptor, knownNumbers } from "./layout.js";
import { enumWriter, scalarWriter, type ValueWriter } from "./scalars.js";
import type { TextWriter } from "./text-writer.js";
import { truncated, type WireReader } from "./wire-reader.js";

/** Writes a field, given its marks (see `Layout.find`). It may leave the cursor at any position. */
export type FieldWriter = (r: WireReader, out: TextWriter, first: number, last: number) => void;

/** Writes the content of a message from the cursor to `end`, and leaves the cursor there. */
export interface MessageWriter {
  write(r: WireReader, out: TextWriter, end: number): void;
  /**
   * Writes the members without the braces, next to other members in an Any. Absent for types whose
   * JSON is not an object of their fields.
   * @param before the byte to write before the first member
   * @returns whether there are any
   */
  writeMembers?(r: WireReader, out: TextWriter, end: number, before: number): boolean;
}

/**
 * Returns the writer of a message type, the same one each time, because a type may contain itself.
 */
export type MessageWriters = (type: DescMessage) => MessageWriter;

export function valueWriter(field: Pick<DescField, "scalar" | "enum" | "utf8Validation">): ValueWriter {
  return field.enum === undefined ? scalarWriter(field.scalar!, field.utf8Validation) : enumWriter(field.enum);
}

export function messageField(number: number, delimited: boolean, message: MessageWriter): FieldWriter {
  const tag = tagOf(number, delimited ? START_GROUP : LENGTH);
  const writeOne = delimited ? group(number, message) : embedded(message);
  return (r, out, first, last) => {
    r.pos = first - 1;
    if (last !== first - 1) {
      const content = merged(r, tag, last);
      r.within(content, () => message.write(r, out, content.length));
      return;
    }
    r.tag();
    writeOne(r, out);
  };
}

/** A message after its length. */
export function embedded(message: MessageWriter): ValueWriter {
  return (r, out) => message.write(r, out, r.length());
}

/** A message that ends with an end tag (proto2 groups, and the delimited encoding of editions). */
function group(number: number, message: MessageWriter): ValueWriter {
  return (r, out) => {
    const start = r.pos;
    const end = r.endOfGroup(number);
    const after = r.pos;
    r.pos = start;
    message.write(r, out, end);
    r.pos = after;
  };
}

/**
 * Concatenates the content of all occurrences of a message field, from the cursor to the occurrence
 * whose tag is at `last`. In the wire format, concatenated messages are the merged message.
 */
export function merged(r: WireReader, wanted: number, last: number): Buffer {
  const first = r.pos;
  let length = 0;
  eachOccurrence(r, wanted, last, (start, end) => {
    length += end - start;
  });
  const content = r.copy(length);
  let pos = 0;
  r.pos = first;
  eachOccurrence(r, wanted, last, (start, end) => {
    pos += r.src.copy(content, pos, start, end);
  });
  return content;
}

function eachOccurrence(
  r: WireReader,
  wanted: number,
  last: number,
  visit: (start: number, end: number) => void,
): void {
  while (r.pos <= last) {
    const tag = r.tag();
    const start = r.pos;
    if (tag !== wanted) r.skip(tag);
    else if ((tag & 7) === START_GROUP) visit(start, r.endOfGroup(tag >>> 3));
    else {
      const end = r.length();
      visit(r.pos, end);
      r.pos = end;
    }
  }
}

type ListField = Extract<FieldDescriptor, { fieldKind: "list" }>;

export function listField(field: ListField, writers: MessageWriters): FieldWriter {
  if (field.listKind === "message") {
    const message = writers(field.message);
    const { number, delimitedEncoding: delimited } = field;
    const tag = tagOf(number, delimited ? START_GROUP : LENGTH);
    return elements(tag, 0, delimited ? group(number, message) : embedded(message));
  }
  const type = wireType(field.scalar);
  const packed = type === LENGTH ? 0 : tagOf(field.number, LENGTH);
  return elements(tagOf(field.number, type), packed, valueWriter(field), knownNumbers(field.enum));
}

/**
 * Writes an array of all elements. Each element follows its own tag `single`, or several follow one
 * tag `packed`.
 */
export function elements(
  single: number,
  packed: number,
  write: ValueWriter,
  known?: ReadonlySet<number> | undefined,
): FieldWriter {
  return (r, out, first, last) => {
    let before = BRACKET_OPEN;
    r.pos = first - 1;
    while (r.pos <= last) {
      const tag = r.tag();
      let end = r.pos + 1;
      if (tag === packed) end = r.length();
      else if (tag !== single) {
        r.skip(tag);
        continue;
      }
      while (r.pos < end) {
        if (known !== undefined && !isKnown(r, known)) continue;
        out.byte(before);
        before = COMMA;
        write(r, out);
      }
      if (tag === packed && r.pos !== end) throw truncated();
    }
    if (before === BRACKET_OPEN) out.byte(before);
    out.byte(BRACKET_CLOSE);
  };
}

/**
 * Whether a list, given its marks, has no element. It may have occurrences that are empty, or that
 * have only unknown values of a closed enum.
 */
export function emptyTest(field: ListField): (r: WireReader, first: number, last: number) => boolean {
  if (field.listKind === "message") return () => false;
  const type = wireType(field.scalar);
  const single = tagOf(field.number, type);
  const packed = type === LENGTH ? 0 : tagOf(field.number, LENGTH);
  const known = knownNumbers(field.enum);
  return (r, first, last) => {
    r.pos = first - 1;
    while (r.pos <= last) {
      const tag = r.tag();
      if (tag !== single && tag !== packed) {
        r.skip(tag);
        continue;
      }
      const end = tag === packed ? r.length() : r.pos + 1;
      while (r.pos < end) if (known === undefined || isKnown(r, known)) return false;
    }
    return true;
  };
}

/** Whether the number at the cursor is a value of a closed enum. If not, it is skipped. */
function isKnown(r: WireReader, known: ReadonlySet<number>): boolean {
  const at = r.pos;
  if (!known.has(r.varint32())) return false;
  r.pos = at;
  return true;
}
