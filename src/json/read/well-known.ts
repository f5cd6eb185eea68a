/** Readers of the messages of google.protobuf that have a JSON form of their own. */
import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BRACE_OPEN, BRACKET_CLOSE, BRACKET_OPEN, COMMA, LOWER_F, LOWER_N, LOWER_T, QUOTE } from "../bytes.js";
import {
  BOOL_TAG,
  type FindMessage,
  LENGTH,
  LIST_TAG,
  NULL_TAG,
  NUMBER_TAG,
  STRING_TAG,
  STRUCT_TAG,
  tagOf,
  wrapped,
} from "../types.js";
import { anyReader } from "./any.js";
import { type FieldReader, fieldReader, type MessageReader, type MessageReaders, mapEntries } from "./field.js";
import { NULL, plainDouble, scalarReader } from "./scalars.js";
import type { Scanner } from "./scanner.js";
import { duration, timestamp } from "./time.js";
import type { WireWriter } from "./wire-writer.js";

/** The reader of a well-known type; undefined for all others. */
export function wellKnownReader(
  type: DescMessage,
  find: FindMessage,
  readers: MessageReaders,
): MessageReader | undefined {
  switch (type.typeName) {
    case "google.protobuf.Any":
      return anyReader(find, readers);
    case "google.protobuf.Timestamp":
      return { read: timestamp };
    case "google.protobuf.Duration":
      return { read: duration };
    case "google.protobuf.FieldMask":
      return { read: fieldMask };
    case "google.protobuf.Struct":
      return { read: struct };
    case "google.protobuf.ListValue":
      return { read: listValue };
    case "google.protobuf.Value":
      return { read: value };
  }
  const field = wrapped(type);
  return field && { read: fieldReader(field, readers) };
}

const FIELD_MASK = "field names in lowerCamelCase with commas between";
const UNDERSCORE = 0x5f;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const PATH_TAG = tagOf(1, LENGTH);

function fieldMask(s: Scanner, w: WireWriter): void {
  const at = s.pos;
  s.readText(FIELD_MASK);
  const { text, textStart, textEnd } = s;
  if (textStart === textEnd) return;
  let start = textStart;
  for (let end = start; end <= textEnd; end++) {
    if (end < textEnd && text[end] !== COMMA) continue;
    if (!fieldMaskPath(s, w, start, end)) throw s.unexpected(FIELD_MASK, at);
    start = end + 1;
  }
}

/**
 * Writes one path of a FieldMask, `fooBar.baz` as `foo_bar.baz`. False for an empty path and one with an underscore,
 * which could not be converted back.
 */
function fieldMaskPath(s: Scanner, w: WireWriter, start: number, end: number): boolean {
  if (start === end) return false;
  w.varint32(PATH_TAG);
  w.ensure((end - start) * 2 + 5);
  const length = w.open(1);
  for (let at = start; at < end; at++) {
    const byte = s.text[at]!;
    if (byte === UNDERSCORE) return false;
    if (byte >= UPPER_A && byte <= UPPER_Z) {
      w.bytes[w.pos++] = UNDERSCORE;
      w.bytes[w.pos++] = byte + 0x20;
    } else w.bytes[w.pos++] = byte;
  }
  w.close(length, 1);
  return true;
}

const readString = scalarReader(ScalarType.STRING);
const readBool = scalarReader(ScalarType.BOOL);

/** Reads the content of a google.protobuf.Value. */
function value(s: Scanner, w: WireWriter): void {
  switch (s.src[s.pos]) {
    case QUOTE:
      w.varint32(STRING_TAG);
      readString(s, w);
      return;
    case BRACE_OPEN:
      nested(STRUCT_TAG, struct, s, w);
      return;
    case BRACKET_OPEN:
      nested(LIST_TAG, listValue, s, w);
      return;
    case LOWER_N:
      w.varint32(NULL_TAG);
      s.literal(NULL);
      w.varint32(0);
      return;
    case LOWER_T:
    case LOWER_F:
      w.varint32(BOOL_TAG);
      readBool(s, w);
      return;
    default:
      w.varint32(NUMBER_TAG);
      plainDouble(s, w);
  }
}

function nested(tag: number, read: FieldReader, s: Scanner, w: WireWriter): void {
  w.varint32(tag);
  const start = w.open(1);
  read(s, w);
  w.close(start, 1);
}

const ELEMENT_TAG = tagOf(1, LENGTH);
const MAP_VALUE_TAG = tagOf(2, LENGTH);

function listValue(s: Scanner, w: WireWriter): void {
  if (s.src[s.pos] !== BRACKET_OPEN) throw s.unexpected("an array");
  for (let more = s.first(BRACKET_CLOSE); more; more = s.next(BRACKET_CLOSE)) nested(ELEMENT_TAG, value, s, w);
}

const struct = mapEntries(1, ELEMENT_TAG, readString, (s, w) => nested(MAP_VALUE_TAG, value, s, w), true);
