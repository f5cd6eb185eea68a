/** Writers of scalars and enums. */
import { Buffer, isUtf8 } from "node:buffer";
import { type DescEnum, ScalarType } from "@bufbuild/protobuf";
import { Literal, NOT_ASCII } from "../bytes.js";
import { FIXED32, FIXED64, LENGTH, wireType } from "../types.js";
import type { TextWriter } from "./text-writer.js";
import type { WireReader } from "./wire-reader.js";

/**
 * Writes the value at the reader's cursor, which is after the tag, and moves the cursor after the
 * value.
 */
export type ValueWriter = (r: WireReader, out: TextWriter) => void;

/**
 * @param checksUtf8 whether invalid UTF-8 in a string is an error. If not, as in proto2, it becomes
 * U+FFFD
 */
export function scalarWriter(type: ScalarType, checksUtf8 = true): ValueWriter {
  return type === ScalarType.STRING && !checksUtf8 ? lenientString : WRITERS[type];
}

// One entry for each scalar type, as in read/scalars.ts: jscpd:ignore-start
const WRITERS: Readonly<Record<ScalarType, ValueWriter>> = {
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

/** Writers of map keys, which are always strings in JSON. */
export function mapKeyWriter(type: ScalarType, checksUtf8: boolean): ValueWriter {
  const write = scalarWriter(type, checksUtf8);
  return type === ScalarType.STRING || IS_64_BITS.has(type) ? write : quoted(write);
}

/** The 64-bit integers, which are strings in JSON. */
const IS_64_BITS: ReadonlySet<ScalarType> = new Set([
  ...[ScalarType.INT64, ScalarType.SINT64, ScalarType.SFIXED64, ScalarType.UINT64, ScalarType.FIXED64],
]);

interface ValueType {
  readonly scalar?: ScalarType | undefined;
  readonly enum?: DescEnum | undefined;
}

/** The JSON of a scalar's or enum's zero. */
export function zeroOf({ scalar, enum: type }: ValueType): string {
  if (type !== undefined) return type.typeName === NULL_VALUE ? "null" : JSON.stringify(type.values[0]!.jsonName);
  if (scalar === ScalarType.BOOL) return "false";
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return '""';
  return IS_64_BITS.has(scalar!) ? '"0"' : "0";
}

/** Whether the value at the reader's cursor is the type's zero. -0 is not zero. */
export function zeroTest({ scalar, enum: type }: ValueType): (r: WireReader) => boolean {
  if (type !== undefined) return (r) => r.varint32() === type.values[0]!.number;
  switch (wireType(scalar!)) {
    case FIXED32:
      return (r) => r.fixed32() === 0;
    case FIXED64:
      return (r) => {
        r.fixed64();
        return r.low === 0 && r.high === 0;
      };
    case LENGTH:
      return (r) => r.length() === r.pos;
    default:
      return IS_32_BITS.has(scalar!) ? (r) => r.varint32() === 0 : isZeroVarint64;
  }
}

/** The types whose varints have 32 bits. */
export const IS_32_BITS: ReadonlySet<ScalarType> = new Set([ScalarType.INT32, ScalarType.SINT32, ScalarType.UINT32]);

function isZeroVarint64(r: WireReader): boolean {
  r.varint64();
  return r.low === 0 && r.high === 0;
}

const NULL_VALUE = "google.protobuf.NullValue";
const QUOTE_MARK = new Literal('"');
const TRUE = new Literal("true");
const FALSE = new Literal("false");
const NULL = new Literal("null");
const NAN = new Literal('"NaN"');
const INFINITY = new Literal('"Infinity"');
const MINUS_INFINITY = new Literal('"-Infinity"');

function quoted(write: ValueWriter): ValueWriter {
  return (r, out) => {
    out.literal(QUOTE_MARK);
    write(r, out);
    out.literal(QUOTE_MARK);
  };
}

function string(r: WireReader, out: TextWriter): void {
  const end = r.length();
  out.string(r.src, r.words, r.pos, end);
  r.pos = end;
}

function lenientString(r: WireReader, out: TextWriter): void {
  const end = r.length();
  const valid = isAscii(r.src, r.pos, end) || isUtf8(r.src.subarray(r.pos, end));
  if (valid) out.string(r.src, r.words, r.pos, end);
  else out.text(Buffer.from(r.src.subarray(r.pos, end)).toString("utf8"));
  r.pos = end;
}

function isAscii(src: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (src[at]! >= NOT_ASCII) return false;
  return true;
}

function bytes(r: WireReader, out: TextWriter): void {
  const end = r.length();
  out.base64(r.src, r.pos, end);
  r.pos = end;
}

function bool(r: WireReader, out: TextWriter): void {
  r.varint64();
  out.literal((r.low | r.high) === 0 ? FALSE : TRUE);
}

function int32(r: WireReader, out: TextWriter): void {
  out.integer(r.varint32());
}

function uint32(r: WireReader, out: TextWriter): void {
  out.integer(r.varint32() >>> 0);
}

function sint32(r: WireReader, out: TextWriter): void {
  const value = r.varint32();
  out.integer((value >>> 1) ^ -(value & 1));
}

function fixed32(r: WireReader, out: TextWriter): void {
  out.integer(r.fixed32() >>> 0);
}

function sfixed32(r: WireReader, out: TextWriter): void {
  out.integer(r.fixed32());
}

function int64(r: WireReader, out: TextWriter): void {
  r.varint64();
  out.int64(r.low, r.high);
}

function uint64(r: WireReader, out: TextWriter): void {
  r.varint64();
  out.uint64(r.low, r.high);
}

function sint64(r: WireReader, out: TextWriter): void {
  r.varint64();
  const sign = -(r.low & 1);
  out.int64(((r.low >>> 1) | (r.high << 31)) ^ sign, (r.high >>> 1) ^ sign);
}

function fixed64(r: WireReader, out: TextWriter): void {
  r.fixed64();
  out.uint64(r.low, r.high);
}

function sfixed64(r: WireReader, out: TextWriter): void {
  r.fixed64();
  out.int64(r.low, r.high);
}

function double(r: WireReader, out: TextWriter): void {
  number(r.double(), out);
}

function float(r: WireReader, out: TextWriter): void {
  number(shortest(r.float()), out);
}

function number(value: number, out: TextWriter): void {
  if (Number.isFinite(value)) out.double(value);
  else if (Number.isNaN(value)) out.literal(NAN);
  else out.literal(value > 0 ? INFINITY : MINUS_INFINITY);
}

/** The shortest decimal number that parses to this float: 0.1 and not 0.10000000149011612. */
function shortest(float: number): number {
  if (!Number.isFinite(float) || (Number.isInteger(float) && Math.abs(float) < 1e6)) return float;
  for (let digits = 6; digits < 9; digits++) {
    const value = Number(float.toPrecision(digits));
    if (Math.fround(value) === float) return value;
  }
  return Number(float.toPrecision(9));
}

/** Writes an enum by name, or by number if the number has no name. NullValue is always null. */
export function enumWriter(type: DescEnum): ValueWriter {
  if (type.typeName === NULL_VALUE) {
    return (r, out) => {
      r.varint32();
      out.literal(NULL);
    };
  }
  const names = new Map<number, Literal>();
  for (const { number, jsonName } of type.values) {
    if (!names.has(number)) names.set(number, new Literal(JSON.stringify(jsonName)));
  }
  return (r, out) => {
    const number = r.varint32();
    const name = names.get(number);
    if (name === undefined) out.integer(number);
    else out.literal(name);
  };
}
