/**
 * Reads protobuf's wire format (https://protobuf.dev/programming-guides/encoding/) for the
 * generated code. It has the methods of @bufbuild/protobuf's BinaryReader that this code calls.
 * Unlike that library's reader, it creates no DataView for each message.
 *
 * This room knows no message and no field, only bytes.
 */
import { type Buffer, isUtf8 } from "node:buffer";
import { asBuffer } from "./buffer.js";

/** Wire types. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

/** Maximum depth of nested groups; the same as in the library. */
const MAX_DEPTH = 100;
/**
 * Strings up to this number of bytes are read character by character: a native call would take
 * longer.
 */
const SHORT = 8;

const halves = new DataView(new ArrayBuffer(8));

export class BinaryReader {
  readonly buf: Buffer;
  readonly len: number;
  pos = 0;
  /** The generated code counts the depth of nested messages here. */
  __tsProtoDecodeDepth = 0;
  /** The low and high 32 bits of the last varint. */
  #low = 0;
  #high = 0;

  constructor(bytes: Uint8Array) {
    this.buf = asBuffer(bytes);
    this.len = bytes.length;
  }

  uint32(): number {
    const first = this.buf[this.pos] as number;
    if (first < 0x80) {
      this.pos++;
      return first;
    }
    this.#varint();
    return this.#low >>> 0;
  }

  int32(): number {
    return this.uint32() | 0;
  }

  int64(): bigint {
    this.#halves();
    return halves.getBigInt64(0);
  }

  uint64(): bigint {
    this.#halves();
    return halves.getBigUint64(0);
  }

  bool(): boolean {
    this.#varint();
    return this.#low !== 0 || this.#high !== 0;
  }

  double(): number {
    const at = this.#step(8);
    return this.buf.readDoubleLE(at);
  }

  /** Reads bytes as a view of the same memory. */
  bytes(): Buffer {
    const at = this.#step(this.uint32());
    return this.buf.subarray(at, this.pos);
  }

  /** @throws {Error} when the string is not UTF-8, as proto3 demands */
  string(): string {
    const at = this.#step(this.uint32());
    return (this.pos - at <= SHORT ? this.#ascii(at) : undefined) ?? this.#utf8(at);
  }

  /** Skips a value. @returns the bytes of the value */
  skip(wireType: number): Buffer {
    const start = this.pos;
    this.#skip(wireType, undefined, MAX_DEPTH);
    return this.buf.subarray(start, this.pos);
  }

  #skip(wireType: number, number: number | undefined, depth: number): void {
    if (wireType === VARINT) this.#varint();
    else if (wireType === FIXED64) this.#step(8);
    else if (wireType === LENGTH) this.#step(this.uint32());
    else if (wireType === START_GROUP) this.#skipGroup(number, depth);
    else if (wireType === FIXED32) this.#step(4);
    else throw new Error(`a field has the wire type ${wireType}`);
  }

  /**
   * @param number the number of the group's field, which its end must repeat; undefined when not
   * known
   */
  #skipGroup(number: number | undefined, depth: number): void {
    if (depth === 0) throw new Error(`groups are nested more than ${MAX_DEPTH} levels deep`);
    for (;;) {
      this.#varint();
      const tag = this.#low >>> 0;
      if (this.#high !== 0 || tag >>> 3 === 0) throw new Error("a tag within a group is none");
      if ((tag & 7) !== END_GROUP) {
        this.#skip(tag & 7, tag >>> 3, depth - 1);
        continue;
      }
      if (number !== undefined && tag >>> 3 !== number) throw new Error("a group ends that was not begun");
      return;
    }
  }

  /** Advances by `size` bytes. @returns the position before */
  #step(size: number): number {
    const at = this.pos;
    this.pos += size;
    if (this.pos > this.len) throw truncated();
    return at;
  }

  /** The text from `start` to the current position; undefined when it is not ASCII. */
  #ascii(start: number): string | undefined {
    let text = "";
    for (let at = start; at < this.pos; at++) {
      const code = this.buf[at] as number;
      if (code > 0x7f) return undefined;
      text += String.fromCharCode(code);
    }
    return text;
  }

  /**
   * The text from `start` to the current position. The decoder replaces bytes that are not UTF-8 by
   * U+FFFD, so only a text with that character must be validated. The search for it is fast: a
   * one-byte string of V8 cannot contain it.
   */
  #utf8(start: number): string {
    const text = this.buf.toString("utf8", start, this.pos);
    if (text.includes("\ufffd") && !isUtf8(this.buf.subarray(start, this.pos))) {
      throw new Error("a string is not valid UTF-8");
    }
    return text;
  }

  #halves(): void {
    this.#varint();
    halves.setInt32(0, this.#high);
    halves.setInt32(4, this.#low);
  }

  /** Reads a varint of at most ten bytes. Bits above the 64th are dropped. */
  #varint(): void {
    const { buf } = this;
    let { pos } = this;
    let low = 0;
    let high = 0;
    let byte = 0x80;
    for (let shift = 0; byte >= 0x80; shift += 7) {
      if (shift === 70) throw new Error("a varint is longer than ten bytes");
      if (pos === this.len) throw truncated();
      byte = buf[pos++] as number;
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift === 28) high = bits >> 4;
      else if (shift > 28 && shift < 64) high |= bits << (shift - 32);
    }
    this.pos = pos;
    this.#low = low;
    this.#high = high;
  }
}

function truncated(): RangeError {
  return new RangeError("the message is cut short");
}
