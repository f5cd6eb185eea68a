/** Readers of the google.protobuf messages that have a special JSON form. */
import { Buffer } from "node:buffer";
import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import {
  BRACE_CLOSE,
  BRACE_OPEN,
  BRACKET_CLOSE,
  BRACKET_OPEN,
  COMMA,
  Literal,
  LOWER_F,
  LOWER_N,
  LOWER_T,
  QUOTE,
  wordsOf,
} from "../bytes.js";
import { readDuration, readTimestamp } from "../time.js";
import {
  BOOL_TAG,
  type FindMessage,
  hasOwnForm,
  LENGTH,
  LIST_TAG,
  NULL_TAG,
  NUMBER_TAG,
  STRING_TAG,
  STRUCT_TAG,
  tagOf,
  wrapped,
} from "../types.js";
import {
  type FieldReader,
  fieldReader,
  type JsonMessageReader,
  mapEntries,
  NOT_SPECIAL,
  type Readers,
} from "./field.js";
import { ignoreValue } from "./ignored.js";
import { NULL, plainDouble, scalarReader } from "./scalars.js";
import type { Scanner } from "./scanner.js";
import type { WireWriter } from "./wire-writer.js";

/** The reader of a well-known type, or undefined for any other type. */
export function wellKnownReader(type: DescMessage, find: FindMessage, readers: Readers): JsonMessageReader | undefined {
  switch (type.typeName) {
    case "google.protobuf.Any":
      return anyReader(find, readers);
    case "google.protobuf.Timestamp":
      return { read: readTimestamp };
    case "google.protobuf.Duration":
      return { read: readDuration };
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
 * Writes a path of a FieldMask: `fooBar.baz` as `foo_bar.baz`. Returns false for an empty path, and
 * for a path with an underscore.
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
const readBytes = scalarReader(ScalarType.BYTES);

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

const struct = mapEntries(1, ELEMENT_TAG, readString, (s, w) => nested(MAP_VALUE_TAG, value, s, w), NOT_SPECIAL);

const ANY_TYPE = new Literal('"@type"');
const ANY_VALUE = new Literal('"value"');
const TYPE_URL_TAG = tagOf(1, LENGTH);
const ANY_VALUE_TAG = tagOf(2, LENGTH);

/**
 * Reads google.protobuf.Any. The member `@type` names the type of the other members. It may come
 * last, so it is searched first. If the type is unknown here, the member `value` has the bytes in
 * base64.
 */
function anyReader(find: FindMessage, readers: Readers): JsonMessageReader {
  const other = readers.ignoreUnknown ? ignoreMember : refuse(KNOWN_TYPE);
  return {
    read(s, w) {
      if (s.src[s.pos] !== BRACE_OPEN) throw s.unexpected("an object with @type");
      const start = s.pos;
      const outer = s.typeAt;
      s.typeAt = typeMember(s);
      if (s.typeAt >= 0) {
        const type = readTypeUrl(s, w, find);
        s.pos = start;
        w.varint32(ANY_VALUE_TAG);
        if (type === undefined) readValue(s, w, readBytes, refuse(UNKNOWN_TYPE));
        else {
          const content = w.open(2);
          if (hasOwnForm(type)) readValue(s, w, (s, w) => readers.of(type).read(s, w), other);
          else readers.of(type).read(s, w);
          w.close(content, 2);
        }
      }
      s.typeAt = outer;
    },
  };
}

/** The offset of the name `@type`, or -1 for an empty object, which is an empty Any. */
function typeMember(s: Scanner): number {
  const start = s.pos;
  const { depth } = s;
  let more = s.first(BRACE_CLOSE);
  if (!more) return -1;
  while (more) {
    if (s.src[s.pos] !== QUOTE) throw s.malformed("a name in quotes");
    const at = s.pos;
    if (isType(s)) {
      s.depth = depth;
      return at;
    }
    s.colon();
    s.skip();
    more = s.next(BRACE_CLOSE);
  }
  throw s.refused("required, but missing", start, '"@type"');
}

/** Skips a name, and returns whether it is `@type`. */
function isType(s: Scanner): boolean {
  if (s.takes(ANY_TYPE)) return true;
  s.readText("a name");
  return s.textString() === "@type";
}

/**
 * Reads and writes the value of `@type`. Returns the type that it names, or undefined when the type
 * is unknown.
 */
function readTypeUrl(s: Scanner, w: WireWriter, find: FindMessage): DescMessage | undefined {
  s.colon();
  const at = s.pos;
  s.readText("a type's URL");
  const url = s.textString();
  const slash = url.lastIndexOf("/");
  if (slash < 0 || slash === url.length - 1)
    throw s.unexpected("the URL of a type such as type.googleapis.com/google.protobuf.Empty", at);
  const bytes = Buffer.from(url, "utf8");
  w.varint32(TYPE_URL_TAG);
  w.copy(bytes, wordsOf(bytes), 0, bytes.length);
  return find(url.slice(slash + 1));
}

const KNOWN_TYPE = "no such field beside @type and value";
const UNKNOWN_TYPE = `${KNOWN_TYPE}: the type is not known here, so value must have its bytes in base64`;

function refuse(reason: string): (s: Scanner) => void {
  return (s) => {
    throw s.refused(reason, s.pos);
  };
}

function ignoreMember(s: Scanner): void {
  s.colon();
  ignoreValue(s);
}

/**
 * Reads an Any whose content is in the member `value`: a type with a special JSON form, or an
 * unknown type.
 * @param other reads another member, after its name
 */
function readValue(s: Scanner, w: WireWriter, read: FieldReader, other: (s: Scanner) => void): void {
  const start = s.pos;
  let given = false;
  for (let more = s.first(BRACE_CLOSE); more; more = s.next(BRACE_CLOSE)) {
    const at = s.pos;
    if (s.src[at] !== QUOTE) throw s.malformed("a name in quotes");
    if (at === s.typeAt) {
      s.readText("a name");
      s.colon();
      s.skip();
      continue;
    }
    if (!s.takes(ANY_VALUE)) {
      s.readText("a name");
      if (s.textString() !== "value") {
        other(s);
        continue;
      }
    }
    if (given) throw s.refused("given more than once", s.pos);
    given = true;
    s.colon();
    read(s, w);
  }
  if (!given) throw s.refused("required, but missing", start, '"value"');
}
