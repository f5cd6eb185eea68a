/** Readers of fields. Each reads the value after a member's name, and writes it with its tag. */
import type { DescExtension, DescField, DescMessage } from "@bufbuild/protobuf";
import { isSecret } from "../../contract/secrets.js";
import { BRACE_CLOSE, BRACE_OPEN, BRACKET_CLOSE, BRACKET_OPEN, LOWER_N, QUOTE } from "../bytes.js";
import { END_GROUP, isImplicit, LENGTH, START_GROUP, tagOf, wireType } from "../types.js";
import { enumIgnorer } from "./ignored.js";
import { enumReader, mapKeyReader, NULL, scalarReader, type ValueReader } from "./scalars.js";
import type { Scanner } from "./scanner.js";
import type { WireWriter } from "./wire-writer.js";

/** Reads the value of a field. The value is null only where null is a value of the field's type. */
export type FieldReader = (s: Scanner, w: WireWriter) => void;

/** Reads the JSON of a message, and writes its content. */
export interface JsonMessageReader {
  read(s: Scanner, w: WireWriter): void;
}

export interface Readers {
  /**
   * Returns the reader of a message type, the same one each time, because a type may contain
   * itself.
   */
  readonly of: (type: DescMessage) => JsonMessageReader;
  /** See `JsonStyle`. */
  readonly ignoreUnknown: boolean;
}

/** Whether null is a value of the field's type. Otherwise null means that the field is absent. */
export function takesNull(field: DescField | DescExtension): boolean {
  if (field.fieldKind === "list" || field.fieldKind === "map") return false;
  return isValue(field.message) || field.enum?.typeName === "google.protobuf.NullValue";
}

function isValue(type: DescMessage | undefined): boolean {
  return type?.typeName === "google.protobuf.Value";
}

export function fieldReader(field: DescField | DescExtension, readers: Readers): FieldReader {
  const read = openReader(field, readers);
  return isSecret(field) ? secretReader(read) : read;
}

/** A reader that makes errors quote nothing of the field's value. */
function secretReader(read: FieldReader): FieldReader {
  return (s, w) => {
    const outer = s.secretAt;
    if (outer < 0) s.secretAt = s.pos;
    read(s, w);
    s.secretAt = outer;
  };
}

function openReader(field: DescField | DescExtension, readers: Readers): FieldReader {
  switch (field.fieldKind) {
    case "message":
      return messageField(field.number, field.delimitedEncoding, readers.of(field.message));
    case "list":
      return listField(field, readers);
    case "map":
      return mapField(field, readers);
    case "enum":
    case "scalar": {
      const [read, type] = valueReader(field);
      const readKnown = singularField(tagOf(field.number, type), read, field.kind === "field" && isImplicit(field));
      return knownOnly(field, readers, readKnown);
    }
  }
}

/** If unknown names of enum values are ignored: a reader that passes over them. */
function knownOnly({ enum: type }: Values, { ignoreUnknown }: Readers, read: FieldReader): FieldReader {
  if (type === undefined || !ignoreUnknown) return read;
  const ignores = enumIgnorer(type);
  return (s, w) => {
    if (!ignores(s)) read(s, w);
  };
}

type Values = Pick<DescField, "scalar" | "enum">;

/** The reader and the wire type of a scalar or an enum. */
function valueReader({ scalar, enum: type }: Values): [read: ValueReader, type: number] {
  return [type === undefined ? scalarReader(scalar!) : enumReader(type), wireType(scalar)];
}

function singularField(tag: number, read: ValueReader, implicit: boolean): FieldReader {
  if (!implicit) {
    return (s, w) => {
      w.varint32(tag);
      read(s, w);
    };
  }
  return (s, w) => {
    const start = w.pos;
    w.varint32(tag);
    if (!read(s, w)) w.pos = start;
  };
}

function messageField(number: number, delimited: boolean, message: JsonMessageReader): FieldReader {
  if (delimited) {
    const start = tagOf(number, START_GROUP);
    const end = tagOf(number, END_GROUP);
    return (s, w) => {
      w.varint32(start);
      message.read(s, w);
      w.varint32(end);
    };
  }
  const tag = tagOf(number, LENGTH);
  let lengthSize = 1;
  return (s, w) => {
    w.varint32(tag);
    const guess = lengthSize;
    const start = w.open(guess);
    message.read(s, w);
    lengthSize = w.close(start, guess);
  };
}

type ListField = Extract<DescField | DescExtension, { fieldKind: "list" }>;

function listField(field: ListField, readers: Readers): FieldReader {
  if (field.listKind === "message") {
    return elements(messageField(field.number, field.delimitedEncoding, readers.of(field.message)));
  }
  const [read, type] = valueReader(field);
  if (field.packed) return packed(tagOf(field.number, LENGTH), knownOnly(field, readers, read));
  return elements(knownOnly(field, readers, singularField(tagOf(field.number, type), read, false)));
}

function elements(read: FieldReader): FieldReader {
  return (s, w) => {
    if (s.src[s.pos] !== BRACKET_OPEN) throw s.unexpected("an array");
    for (let more = s.first(BRACKET_CLOSE); more; more = s.next(BRACKET_CLOSE)) read(s, w);
  };
}

function packed(tag: number, read: FieldReader): FieldReader {
  let lengthSize = 1;
  return (s, w) => {
    if (s.src[s.pos] !== BRACKET_OPEN) throw s.unexpected("an array");
    if (!s.first(BRACKET_CLOSE)) return;
    w.varint32(tag);
    const guess = lengthSize;
    const start = w.open(guess);
    do read(s, w);
    while (s.next(BRACKET_CLOSE));
    lengthSize = w.close(start, guess);
  };
}

type MapField = Extract<DescField, { fieldKind: "map" }>;

function mapField(field: MapField, readers: Readers): FieldReader {
  const readKey = mapKeyReader(field.mapKey);
  const keyTag = tagOf(1, wireType(field.mapKey));
  if (field.mapKind === "message") {
    const special = isValue(field.message) ? NOT_SPECIAL : NULL_REFUSED;
    return mapEntries(field.number, keyTag, readKey, messageField(2, false, readers.of(field.message)), special);
  }
  const [read, type] = valueReader(field);
  return mapEntries(
    field.number,
    keyTag,
    readKey,
    singularField(tagOf(2, type), read, false),
    specialOf(field, readers),
  );
}

function specialOf({ enum: type }: MapField, { ignoreUnknown }: Readers): SpecialValue {
  // The reader of the enum refuses null, unless null is a value of the enum.
  if (type !== undefined && ignoreUnknown) return { first: QUOTE, isIgnored: enumIgnorer(type) };
  return type?.typeName === "google.protobuf.NullValue" ? NOT_SPECIAL : NULL_REFUSED;
}

/** Values of a map that may be no values of its type. */
interface SpecialValue {
  /** The first byte of these values. */
  readonly first: number;
  /** Whether the entry is passed over. Then the value has been read. */
  readonly isIgnored: (s: Scanner, afterKey: number) => boolean;
}

const NULL_REFUSED: SpecialValue = {
  first: LOWER_N,
  isIgnored(s, afterKey) {
    s.literal(NULL);
    throw s.refused("expected a value, got null", afterKey);
  },
};

/** For a map whose values may be null. */
export const NOT_SPECIAL: SpecialValue = { first: -1, isIgnored: () => false };

const TWICE = "given more than once";

/** Reads an object as a map. Its keys never become JavaScript strings or properties. */
export function mapEntries(
  number: number,
  keyTag: number,
  readKey: ValueReader,
  readValue: FieldReader,
  { first, isIgnored }: SpecialValue,
): FieldReader {
  const tag = tagOf(number, LENGTH);
  let lengthSize = 1;
  return (s, w) => {
    if (s.src[s.pos] !== BRACE_OPEN) throw s.unexpected("an object");
    if (!s.first(BRACE_CLOSE)) return;
    w.keys.open();
    /** The keys of ignored entries, whose bytes are not in the message. */
    let ignoredKeys: Set<string> | undefined;
    do {
      if (s.src[s.pos] !== QUOTE) throw s.malformed("a key in quotes");
      const entry = w.pos;
      w.varint32(tag);
      const guess = lengthSize;
      const start = w.open(guess);
      w.varint32(keyTag);
      const keyStart = w.pos;
      readKey(s, w);
      const keyEnd = w.pos;
      const afterKey = s.pos;
      if (s.colon() === first && isIgnored(s, afterKey)) {
        const key = w.bytes.latin1Slice(keyStart, keyEnd);
        if (ignoredKeys?.has(key) || w.hasKey(keyTag, keyStart, keyEnd)) throw s.refused(TWICE, afterKey);
        ignoredKeys ??= new Set();
        ignoredKeys.add(key);
        w.pos = entry;
        continue;
      }
      if (ignoredKeys?.has(w.bytes.latin1Slice(keyStart, keyEnd))) throw s.refused(TWICE, afterKey);
      readValue(s, w);
      lengthSize = w.close(start, guess);
      const moved = lengthSize - guess;
      if (!w.addKey(keyTag, keyStart + moved, keyEnd + moved)) throw s.refused(TWICE, afterKey);
    } while (s.next(BRACE_CLOSE));
    w.keys.close();
  };
}
