/** Writers of the google.protobuf messages that have a special JSON form. */
import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BRACE_CLOSE, BRACE_OPEN, COMMA, Literal } from "../bytes.js";
import { writeDuration, writeTimestamp } from "../time.js";
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
  wireType,
  wrapped,
} from "../types.js";
import { elements, embedded, type MessageWriter, type MessageWriters, merged } from "./field.js";
import { mapWriter } from "./map.js";
import { scalarWriter, zeroOf } from "./scalars.js";
import type { TextWriter } from "./text-writer.js";
import { checked, truncated, type WireReader } from "./wire-reader.js";

/** The writer of a well-known type, or undefined for any other type. */
export function wellKnownWriter(
  type: DescMessage,
  find: FindMessage,
  writers: MessageWriters,
): MessageWriter | undefined {
  switch (type.typeName) {
    case "google.protobuf.Any":
      return anyWriter(find, writers);
    case "google.protobuf.Timestamp":
      return { write: writeTimestamp };
    case "google.protobuf.Duration":
      return { write: writeDuration };
    case "google.protobuf.FieldMask":
      return { write: fieldMask };
    case "google.protobuf.Struct":
      return { write: struct };
    case "google.protobuf.ListValue":
      return { write: listValue };
    case "google.protobuf.Value":
      return { write: value };
  }
  const field = wrapped(type);
  return field && wrapperWriter(field.scalar!);
}

function wrapperWriter(scalar: ScalarType): MessageWriter {
  const wanted = tagOf(1, wireType(scalar));
  const writeValue = scalarWriter(scalar);
  const zero = new Literal(zeroOf({ scalar }));
  return {
    write(r, out, end) {
      let at = -1;
      while (r.pos < end) {
        const tag = checked(r.tag());
        if (tag === wanted) at = r.pos;
        r.skip(tag);
      }
      if (r.pos !== end) throw truncated();
      if (at < 0) return out.literal(zero);
      r.pos = at;
      writeValue(r, out);
      r.pos = end;
    },
  };
}

const PATH_TAG = tagOf(1, LENGTH);

function fieldMask(r: WireReader, out: TextWriter, end: number): void {
  const paths: string[] = [];
  while (r.pos < end) {
    const tag = checked(r.tag());
    if (tag !== PATH_TAG) {
      r.skip(tag);
      continue;
    }
    const stop = r.length();
    paths.push(lowerCamelCase(r.utf8(r.pos, stop)));
    r.pos = stop;
  }
  if (r.pos !== end) throw truncated();
  out.text(paths.join(","));
}

/** A path of a FieldMask in lowerCamelCase. It must convert back to the same snake_case path. */
function lowerCamelCase(path: string): string {
  const camel = path.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (path === "" || /[A-Z]/.test(path) || camel.includes("_") || camel.includes(",")) {
    throw new Error("a google.protobuf.FieldMask has a path that has no JSON form");
  }
  return camel;
}

const NULL = new Literal("null");
const writeString = scalarWriter(ScalarType.STRING);
const writeBool = scalarWriter(ScalarType.BOOL);
const valueWriter: MessageWriter = { write: value };
const writeFields = mapWriter({
  number: 1,
  key: ScalarType.STRING,
  checksUtf8: true,
  valueTag: tagOf(2, LENGTH),
  message: valueWriter,
});
const writeElements = elements(tagOf(1, LENGTH), 0, embedded(valueWriter));

function struct(r: WireReader, out: TextWriter, end: number): void {
  writeFields(r, out, r.pos + 1, end - 1);
  r.pos = end;
}

function listValue(r: WireReader, out: TextWriter, end: number): void {
  writeElements(r, out, r.pos + 1, end - 1);
  r.pos = end;
}

/** Writes google.protobuf.Value: a oneof of six members. The last member on the wire counts. */
function value(r: WireReader, out: TextWriter, end: number): void {
  let kind = 0;
  let first = -1;
  let last = -1;
  let valueAt = -1;
  let at = r.pos;
  while (at < end) {
    const tag = checked(r.tag());
    if (tag <= LIST_TAG && IS_KIND[tag] === 1) {
      if (tag !== kind) first = at;
      kind = tag;
      last = at;
      valueAt = r.pos;
    }
    r.skip(tag);
    at = r.pos;
  }
  if (r.pos !== end) throw truncated();
  r.enter();
  r.pos = valueAt;
  switch (kind) {
    case 0:
      throw new Error("a google.protobuf.Value has no value");
    case NULL_TAG:
      out.literal(NULL);
      break;
    case NUMBER_TAG:
      finite(r.double(), out);
      break;
    case STRING_TAG:
      writeString(r, out);
      break;
    case BOOL_TAG:
      writeBool(r, out);
      break;
    default:
      nested(r, out, kind, first, last);
  }
  r.leave();
  r.pos = end;
}

/** 1 for the tags of the six members, otherwise 0. */
const IS_KIND = new Uint8Array(LIST_TAG + 1);
for (const tag of [NULL_TAG, NUMBER_TAG, STRING_TAG, BOOL_TAG, STRUCT_TAG, LIST_TAG]) IS_KIND[tag] = 1;

function finite(number: number, out: TextWriter): void {
  if (!Number.isFinite(number)) throw new Error("a google.protobuf.Value is NaN or infinite, which JSON cannot say");
  out.double(number);
}

function nested(r: WireReader, out: TextWriter, kind: number, first: number, last: number): void {
  const write = kind === STRUCT_TAG ? struct : listValue;
  if (first === last) {
    write(r, out, r.length());
    return;
  }
  r.pos = first;
  const content = merged(r, kind, last);
  r.within(content, () => write(r, out, content.length));
}

const TYPE_URL_TAG = tagOf(1, LENGTH);
const ANY_VALUE_TAG = tagOf(2, LENGTH);
const ANY_TYPE = new Literal('{"@type":');
const ANY_VALUE = new Literal(',"value":');

/**
 * Writes google.protobuf.Any: the member `@type`, and beside it the JSON of that type. An unknown
 * type has its bytes in base64 as `value`.
 */
function anyWriter(find: FindMessage, writers: MessageWriters): MessageWriter {
  return {
    write(r, out, end) {
      let urlAt = -1;
      let valueAt = -1;
      while (r.pos < end) {
        const tag = checked(r.tag());
        if (tag === TYPE_URL_TAG) urlAt = r.pos;
        else if (tag === ANY_VALUE_TAG) valueAt = r.pos;
        r.skip(tag);
      }
      if (r.pos !== end) throw truncated();
      r.pos = urlAt < 0 ? end : urlAt;
      const urlEnd = urlAt < 0 ? end : r.length();
      // The field has no presence: an empty text on the wire means that it is absent.
      if (r.pos === urlEnd) {
        out.byte(BRACE_OPEN);
        out.byte(BRACE_CLOSE);
        r.pos = end;
        return;
      }
      const url = r.utf8(r.pos, urlEnd);
      const slash = url.lastIndexOf("/");
      const type = slash < 0 ? undefined : find(url.slice(slash + 1));
      out.literal(ANY_TYPE);
      out.string(r.src, r.words, r.pos, urlEnd);
      r.pos = valueAt < 0 ? end : valueAt;
      const valueEnd = valueAt < 0 ? end : r.length();
      const writer = type && writers(type);
      if (writer === undefined) {
        out.literal(ANY_VALUE);
        out.base64(r.src, r.pos, valueEnd);
      } else if (writer.writeMembers === undefined) {
        out.literal(ANY_VALUE);
        writer.write(r, out, valueEnd);
      } else writer.writeMembers(r, out, valueEnd, COMMA);
      out.byte(BRACE_CLOSE);
      r.pos = end;
    },
  };
}
