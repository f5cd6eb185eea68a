/** Readers of scalars and enums. */
import { type DescEnum, ScalarType } from "@bufbuild/protobuf";
import { DIGIT_9, DOT, Literal, LOWER_F, LOWER_N, LOWER_T, QUOTE } from "../bytes.js";
import { NameTable } from "./name-table.js";
import { NOT_SMALL, type Scanner } from "./scanner.js";
import type { WireWriter } from "./wire-writer.js";

/**
 * Reads the value at the scanner's cursor and writes it to the wire without a tag.
 * @returns false for the type's zero, which a field without presence omits
 */
export type ValueReader = (s: Scanner, w: WireWriter) => boolean;

export const NULL = new Literal("null");
export const TRUE = new Literal("true");
export const FALSE = new Literal("false");

const INT32 = "an integer from -2147483648 to 2147483647";
const UINT32 = "an integer from 0 to 4294967295";
const INT64 = "an integer from -9223372036854775808 to 9223372036854775807";
const UINT64 = "an integer from 0 to 18446744073709551615";

export function scalarReader(type: ScalarType): ValueReader {
  return READERS[type];
}

// One entry for each scalar type, as in write/scalars.ts: jscpd:ignore-start
const READERS: Readonly<Record<ScalarType, ValueReader>> = {
  [ScalarType.DOUBLE]: double,
  [ScalarType.FLOAT]: float,
  [ScalarType.BOOL]: bool,
  [ScalarType.STRING]: string,
  [ScalarType.BYTES]: bytes,
  [ScalarType.INT32]: int32,
  [ScalarType.SINT32]: sint32,
  [ScalarType.SFIXED32]: sfixed32,
  [ScalarType.UINT32]: uint32,
  [ScalarType.FIXED32]: fixed32,
  [ScalarType.INT64]: int64,
  [ScalarType.SINT64]: sint64,
  [ScalarType.SFIXED64]: sfixed64,
  [ScalarType.UINT64]: uint64,
  [ScalarType.FIXED64]: fixed64,
};
// jscpd:ignore-end

function string(s: Scanner, w: WireWriter): boolean {
  const start = w.pos;
  s.string(w);
  return w.pos > start + 1;
}

function bytes(s: Scanner, w: WireWriter): boolean {
  const at = s.pos;
  const start = w.pos;
  s.readText("base64 in a string");
  if (!writeBase64(w, s.text, s.textStart, s.textEnd)) throw s.unexpected("base64", at);
  return w.pos > start + 1;
}

function bool(s: Scanner, w: WireWriter): boolean {
  w.ensure(1);
  const first = s.src[s.pos];
  if (first === LOWER_T) s.literal(TRUE);
  else if (first === LOWER_F) s.literal(FALSE);
  else throw s.unexpected("true or false");
  w.bytes[w.pos++] = first === LOWER_T ? 1 : 0;
  return first === LOWER_T;
}

/** Reads a signed integer of at most 64 bits into `s.decimal`. */
function scanInt64(s: Scanner, expected: string): void {
  const at = s.pos;
  if (!s.number(expected) || !s.decimal.toInt64()) throw s.unexpected(expected, at);
}

function scanUint64(s: Scanner, expected: string): void {
  const at = s.pos;
  if (!s.number(expected) || !s.decimal.toUint64()) throw s.unexpected(expected, at);
}

function readInt32(s: Scanner, expected = INT32): number {
  const small = s.smallInteger();
  if (small !== NOT_SMALL) return small;
  const at = s.pos;
  scanInt64(s, expected);
  if (s.decimal.high !== s.decimal.low >> 31) throw s.unexpected(expected, at);
  return s.decimal.low;
}

function readUint32(s: Scanner): number {
  const at = s.pos;
  const small = s.smallInteger();
  if (small >= 0 && small !== NOT_SMALL) return small;
  s.pos = at;
  scanUint64(s, UINT32);
  if (s.decimal.high !== 0) throw s.unexpected(UINT32, at);
  return s.decimal.low >>> 0;
}

function writeInt32(w: WireWriter, value: number): boolean {
  if (value >= 0) w.varint32(value);
  else w.varint64(value, -1);
  return value !== 0;
}

function int32(s: Scanner, w: WireWriter): boolean {
  return writeInt32(w, readInt32(s));
}

function sint32(s: Scanner, w: WireWriter): boolean {
  const value = readInt32(s);
  w.varint32(((value << 1) ^ (value >> 31)) >>> 0);
  return value !== 0;
}

function sfixed32(s: Scanner, w: WireWriter): boolean {
  const value = readInt32(s);
  w.fixed32(value);
  return value !== 0;
}

function uint32(s: Scanner, w: WireWriter): boolean {
  const value = readUint32(s);
  w.varint32(value);
  return value !== 0;
}

function fixed32(s: Scanner, w: WireWriter): boolean {
  const value = readUint32(s);
  w.fixed32(value);
  return value !== 0;
}

function int64(s: Scanner, w: WireWriter): boolean {
  const small = s.smallInteger();
  if (small !== NOT_SMALL) return writeInt32(w, small);
  scanInt64(s, INT64);
  w.varint64(s.decimal.low, s.decimal.high);
  return (s.decimal.low | s.decimal.high) !== 0;
}

function sint64(s: Scanner, w: WireWriter): boolean {
  scanInt64(s, INT64);
  const { low, high } = s.decimal;
  const sign = high >> 31;
  w.varint64((low << 1) ^ sign, ((high << 1) | (low >>> 31)) ^ sign);
  return (low | high) !== 0;
}

function sfixed64(s: Scanner, w: WireWriter): boolean {
  scanInt64(s, INT64);
  w.fixed64(s.decimal.low, s.decimal.high);
  return (s.decimal.low | s.decimal.high) !== 0;
}

function uint64(s: Scanner, w: WireWriter): boolean {
  scanUint64(s, UINT64);
  w.varint64(s.decimal.low, s.decimal.high);
  return (s.decimal.low | s.decimal.high) !== 0;
}

function fixed64(s: Scanner, w: WireWriter): boolean {
  scanUint64(s, UINT64);
  w.fixed64(s.decimal.low, s.decimal.high);
  return (s.decimal.low | s.decimal.high) !== 0;
}

const NOT_FINITE = new NameTable([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

/** Reads a number, or one of the strings NaN, Infinity and -Infinity. */
function readDouble(s: Scanner, narrow: (value: number) => number, expected: string): number {
  const at = s.pos;
  let value = s.plainDecimal();
  if (Number.isNaN(value)) {
    if (!s.number(expected)) {
      const special = NOT_FINITE.find(s.text, s.textStart, s.textEnd);
      if (special === undefined) throw s.unexpected(expected, at);
      return special;
    }
    value = s.decimal.toDouble();
  }
  value = narrow(value);
  if (!Number.isFinite(value)) throw s.unexpected(expected, at);
  return value;
}

const asItIs = (value: number) => value;

function double(s: Scanner, w: WireWriter): boolean {
  const value = readDouble(s, asItIs, "a number");
  w.double(value);
  return !Object.is(value, 0);
}

function float(s: Scanner, w: WireWriter): boolean {
  const value = readDouble(s, Math.fround, "a number in the range of a 32-bit float");
  w.float(value);
  return !Object.is(value, 0);
}

/** Reads a finite number without quotes, for google.protobuf.Value. */
export function plainDouble(s: Scanner, w: WireWriter): void {
  const at = s.pos;
  let value = s.plainDecimal();
  if (Number.isNaN(value)) {
    s.number("a number");
    value = s.decimal.toDouble();
  }
  if (!Number.isFinite(value)) throw s.unexpected("a number in the range of a double", at);
  w.double(value);
}

const MAX_NAMES = 8;

/** The numbers of an enum's values by their names. */
export function enumNames({ values }: DescEnum): NameTable<number> {
  return new NameTable([
    ...values.map(({ name, number }) => [name, number] as const),
    ...values.map(({ jsonName, number }) => [jsonName, number] as const),
  ]);
}

/** Reads an enum by name or number. A closed enum accepts only the numbers that it declares. */
export function enumReader(type: DescEnum): ValueReader {
  const isNull = type.typeName === "google.protobuf.NullValue";
  const names = enumNames(type);
  const declared = new Set(type.values.map(({ number }) => number));
  const all = type.values.map(({ jsonName }) => jsonName);
  const listed = all.slice(0, MAX_NAMES).join(", ") + (all.length > MAX_NAMES ? ", …" : "");
  const expected = `a name or number of ${type.typeName} (${listed})`;
  return (s, w) => {
    const at = s.pos;
    const first = s.src[at];
    if (first === QUOTE) {
      s.readText(expected);
      const number = names.find(s.text, s.textStart, s.textEnd);
      if (number === undefined) throw s.unexpected(expected, at);
      return writeInt32(w, number);
    }
    if (isNull && first === LOWER_N) {
      s.literal(NULL);
      return writeInt32(w, 0);
    }
    const number = readInt32(s, expected);
    if (!type.open && !declared.has(number)) throw s.unexpected(expected, at);
    return writeInt32(w, number);
  };
}

/**
 * Readers of map keys, which are always strings in JSON. Integer keys have no fraction or exponent.
 */
export function mapKeyReader(type: ScalarType): ValueReader {
  const reader = scalarReader(type);
  if (type === ScalarType.STRING) return reader;
  if (type === ScalarType.BOOL) return boolKey;
  return (s, w) => {
    const at = s.pos;
    const nonzero = reader(s, w);
    if (!isPlain(s.text, s.textStart, s.textEnd)) throw s.unexpected("an integer without fraction or exponent", at);
    return nonzero;
  };
}

/** Whether the integer that was read consists of digits only, after an optional sign. */
function isPlain(text: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (text[at]! > DIGIT_9 || text[at]! === DOT) return false;
  return true;
}

const BOOLS = new NameTable([
  ["true", 1],
  ["false", 0],
]);

function boolKey(s: Scanner, w: WireWriter): boolean {
  const at = s.pos;
  s.readText('"true" or "false"');
  const value = BOOLS.find(s.text, s.textStart, s.textEnd);
  if (value === undefined) throw s.unexpected('"true" or "false"', at);
  w.varint32(value);
  return value === 1;
}

const EQUALS = 0x3d;
const INVALID = 64;

const VALUES = new Uint8Array(256).fill(INVALID);
for (const alphabet of ["+/", "-_"]) {
  const digits = `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789${alphabet}`;
  for (let value = 0; value < 64; value++) VALUES[digits.charCodeAt(value)] = value;
}

/**
 * Decodes base64 (RFC 4648) from `start` to `end`: standard or URL-safe, with or without padding,
 * as proto3 JSON allows. Writes the bytes after their length. Returns false when the text is not
 * base64: unlike Buffer, it does not skip invalid characters.
 */
function writeBase64(w: WireWriter, src: Uint8Array, start: number, end: number): boolean {
  if (end > start && src[end - 1] === EQUALS) {
    if ((end - start) % 4 !== 0) return false;
    end -= src[end - 2] === EQUALS ? 2 : 1;
  }
  const rest = (end - start) % 4;
  if (rest === 1) return false;
  const length = ((end - start) >> 2) * 3 + (rest === 0 ? 0 : rest - 1);
  w.ensure(length + 5);
  w.varint32(length);
  const { bytes } = w;
  let pos = w.pos;
  let bad = 0;
  for (const whole = end - rest; start < whole; start += 4) {
    const a = VALUES[src[start]!]!;
    const b = VALUES[src[start + 1]!]!;
    const c = VALUES[src[start + 2]!]!;
    const d = VALUES[src[start + 3]!]!;
    bad |= a | b | c | d;
    bytes[pos] = (a << 2) | (b >> 4);
    bytes[pos + 1] = (b << 4) | (c >> 2);
    bytes[pos + 2] = (c << 6) | d;
    pos += 3;
  }
  if (rest !== 0) {
    const a = VALUES[src[start]!]!;
    const b = VALUES[src[start + 1]!]!;
    const c = rest === 3 ? VALUES[src[start + 2]!]! : 0;
    bad |= a | b | c;
    bytes[pos++] = (a << 2) | (b >> 4);
    if (rest === 3) bytes[pos++] = (b << 4) | (c >> 2);
  }
  w.pos = pos;
  return (bad & INVALID) === 0;
}
