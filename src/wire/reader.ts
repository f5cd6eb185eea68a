/**
 * Protobuf's wire format (https://protobuf.dev/programming-guides/encoding/) as the generated code reads it: the methods of
 * @bufbuild/protobuf's BinaryReader that it calls, without the DataView that a reader of that library begins with.
 */
import { type Buffer, isUtf8 } from "node:buffer";
import { asBuffer } from "../buffer.js";

/** Wire types. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

/** Groups within groups, as many as the library allows. */
const MAX_DEPTH = 100;
/** Of so few characters a string costs less when it is made without native code. */
const SHORT = 8;

const halves = new DataView(new ArrayBuffer(8));

export class BinaryReader {
  readonly buf: Buffer;
  readonly len: number;
  pos = 0;
  /** Where the generated code counts how deep it is. */
  __tsProtoDecodeDepth = 0;
  /** Of the last varint. */
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

  /** Of the same memory. */
  bytes(): Buffer {
    const at = this.#step(this.uint32());
    return this.buf.subarray(at, this.pos);
  }

  /** @throws {Error} when it is not UTF-8, which a string of proto3 must be. */
  string(): string {
    const at = this.#step(this.uint32());
    return (this.pos - at <= SHORT ? this.#ascii(at) : undefined) ?? this.#utf8(at);
  }

  /** Steps over a value, and gives its bytes. */
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

  /** @param number of its field, which the end must have too; undefined where that is not known */
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

  /** Goes on by so many bytes. */
  #step(size: number): number {
    const at = this.pos;
    this.pos += size;
    if (this.pos > this.len) throw truncated();
    return at;
  }

  /** A short text up to here, if it is ASCII. */
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
   * A text up to here. What is not UTF-8 becomes U+FFFD, so only a text with that is looked at again: whether a string has
   * it costs next to nothing, as one that is ASCII or Latin-1 cannot.
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

  /** A varint of at most ten bytes; what is beyond 64 bits is dropped. */
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
