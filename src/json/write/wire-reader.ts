/**
 * Reads protobuf wire format (https://protobuf.dev/programming-guides/encoding/) that a service
 * sent. It trusts nothing: if the bytes are not a message of the type, it throws an error. It never
 * returns a wrong value.
 */
import { Buffer, isUtf8 } from "node:buffer";
import { asBuffer } from "../../wire/buffer.js";
import { NO_WORDS, wordsOf } from "../bytes.js";
import { TooLargeError } from "../codec.js";
import { KeySet } from "../sets.js";
import { END_GROUP, FIXED32, FIXED64, LENGTH, START_GROUP, VARINT } from "../types.js";

/** The nesting limit of Google's protobuf implementations. */
const MAX_DEPTH = 100;
/** Initial size of the array of marks, and the maximum size that is reused for the next message. */
const INITIAL_MARKS = 256;
const MAX_KEPT = 16 * 1024;
const NOTHING = Buffer.alloc(0);

export class WireReader {
  src: Buffer = NOTHING;
  pos = 0;
  /** A view of `src` as words, or an empty view. */
  words = NO_WORDS;
  /** Halves of the 64-bit value that was read last. */
  low = 0;
  high = 0;
  depth = 0;
  /**
   * A stack of marks: the positions of the fields in the messages that are being written. See
   * `claim` and layout.ts.
   */
  marks = new Int32Array(INITIAL_MARKS);
  #marksTop = 0;
  /** The number of bytes copied so far, and its maximum. */
  #copied = 0;
  #maxCopied = 0;
  /** For each map that is being written: its keys. */
  readonly keys = new KeySet();

  /** Starts a message. At most `maxCopied` bytes of it may be copied. */
  begin(bytes: Uint8Array, maxCopied: number): void {
    this.src = asBuffer(bytes);
    this.words = wordsOf(this.src);
    this.pos = 0;
    this.depth = 0;
    this.#marksTop = 0;
    if (this.marks.length > MAX_KEPT) this.marks = new Int32Array(INITIAL_MARKS);
    this.#copied = 0;
    this.#maxCopied = maxCopied;
    this.keys.clear();
  }

  /** Drops the bytes. */
  finish(): void {
    this.src = NOTHING;
    this.words = NO_WORDS;
  }

  enter(): void {
    if (++this.depth > MAX_DEPTH) throw new Error(`messages are nested more than ${MAX_DEPTH} levels deep`);
  }

  leave(): void {
    this.depth--;
  }

  /** Reserves `count` zeros in `marks`, until `release`, and returns the index of the first. */
  claim(count: number): number {
    const start = this.#marksTop;
    const top = start + count;
    this.#marksTop = top;
    if (top > this.marks.length) {
      const larger = new Int32Array(top * 2);
      larger.set(this.marks);
      this.marks = larger;
    }
    const marks = this.marks;
    for (let at = start; at < top; at++) marks[at] = 0;
    return start;
  }

  release(start: number): void {
    this.#marksTop = start;
  }

  /** A varint as a signed 32-bit integer. Higher bits are dropped, as the format demands. */
  varint32(): number {
    const { src, pos } = this;
    const first = src[pos]!;
    if (first < 0x80) {
      this.pos = pos + 1;
      return first;
    }
    const second = src[pos + 1]!;
    if (second < 0x80) {
      this.pos = pos + 2;
      return (first & 0x7f) | (second << 7);
    }
    const third = src[pos + 2]!;
    if (third < 0x80) {
      this.pos = pos + 3;
      return (first & 0x7f) | ((second & 0x7f) << 7) | (third << 14);
    }
    this.varint64();
    return this.low;
  }

  /** Reads a varint into `low` and `high`. */
  varint64(): void {
    const { src } = this;
    let { pos } = this;
    let byte = 0x80;
    let low = 0;
    let high = 0;
    for (let shift = 0; byte >= 0x80 && shift < 28; shift += 7) {
      byte = src[pos++]!;
      low |= (byte & 0x7f) << shift;
    }
    if (byte >= 0x80) {
      byte = src[pos++]!;
      low |= byte << 28;
      high = (byte & 0x7f) >> 4;
      for (let shift = 3; byte >= 0x80; shift += 7) {
        if (shift > 31) throw new Error("a varint is longer than ten bytes");
        byte = src[pos++]!;
        high |= (byte & 0x7f) << shift;
      }
    }
    if (pos > src.length) throw truncated();
    this.low = low;
    this.high = high;
    this.pos = pos;
  }

  /** A tag. */
  tag(): number {
    const first = this.src[this.pos]!;
    if (first < 0x80) {
      this.pos++;
      return first;
    }
    this.varint64();
    if (this.high !== 0) throw new Error("a tag is longer than 32 bits");
    return this.low >>> 0;
  }

  /** Reads a length, moves `pos` to the content after it, and returns the end of the content. */
  length(): number {
    let length = this.src[this.pos]!;
    if (length < 0x80) this.pos++;
    else {
      this.varint64();
      if (this.high !== 0) throw truncated();
      length = this.low >>> 0;
    }
    const end = this.pos + length;
    if (!(end <= this.src.length)) throw truncated();
    return end;
  }

  fixed32(): number {
    const value = this.#view(4).getInt32(this.pos, true);
    this.pos += 4;
    return value;
  }

  /** Reads eight bytes into `low` and `high`. */
  fixed64(): void {
    const view = this.#view(8);
    this.low = view.getInt32(this.pos, true);
    this.high = view.getInt32(this.pos + 4, true);
    this.pos += 8;
  }

  float(): number {
    const value = this.#view(4).getFloat32(this.pos, true);
    this.pos += 4;
    return value;
  }

  double(): number {
    const value = this.#view(8).getFloat64(this.pos, true);
    this.pos += 8;
    return value;
  }

  /** Returns `words` for a read of `size` bytes. Makes the view first if necessary. */
  #view(size: number): DataView {
    if (this.pos + size > this.src.length) throw truncated();
    if (this.words === NO_WORDS) this.words = new DataView(this.src.buffer, this.src.byteOffset, this.src.byteLength);
    return this.words;
  }

  /** Skips the value of a field. */
  skip(tag: number): void {
    switch (tag & 7) {
      case VARINT:
        this.#skipVarint();
        break;
      case FIXED64:
        this.pos += 8;
        break;
      case LENGTH:
        this.pos = this.length();
        return;
      case START_GROUP:
        this.endOfGroup(tag >>> 3);
        return;
      case FIXED32:
        this.pos += 4;
        break;
      default:
        throw new Error(`a field has the wire type ${tag & 7}`);
    }
    if (this.pos > this.src.length) throw truncated();
  }

  #skipVarint(): void {
    const { src } = this;
    let { pos } = this;
    const last = pos + 9;
    while (src[pos]! >= 0x80) if (pos++ === last) throw new Error("a varint is longer than ten bytes");
    this.pos = pos + 1;
  }

  /** Skips the rest of a group and its end tag, and returns the offset of that tag. */
  endOfGroup(number: number): number {
    this.enter();
    for (;;) {
      const end = this.pos;
      if (end >= this.src.length) throw truncated();
      const tag = this.tag();
      if ((tag & 7) === END_GROUP) {
        if (tag >>> 3 !== number) throw new Error("a group ends that was not begun");
        this.leave();
        return end;
      }
      this.skip(checked(tag));
    }
  }

  /** Bytes as Latin-1 text. */
  latin1(start: number, end: number): string {
    return this.src.toString("latin1", start, end);
  }

  /**
   * Bytes as UTF-8 text.
   * @throws {Error} when they are not UTF-8
   */
  utf8(start: number, end: number): string {
    if (!isUtf8(this.src.subarray(start, end))) throw new Error("a string is not valid UTF-8");
    return this.src.toString("utf8", start, end);
  }

  /**
   * Memory for `size` bytes of the message that are copied to merge the parts of a field.
   * @throws {TooLargeError} when too much is copied: each level of a message may need a copy, all
   * at the same time
   */
  copy(size: number): Buffer {
    this.#copied += size;
    if (this.#copied > this.#maxCopied) {
      throw new TooLargeError(
        `the fields of the message are in so many pieces that they take more than ${this.#maxCopied} bytes`,
      );
    }
    return Buffer.allocUnsafe(size);
  }

  /** Runs `read` with the cursor on other bytes, and then restores it. */
  within(bytes: Buffer, read: () => void): void {
    const { src, words, pos } = this;
    this.src = bytes;
    this.words = wordsOf(bytes);
    this.pos = 0;
    read();
    this.src = src;
    this.words = words;
    this.pos = pos;
  }
}

/** Checks a tag: field numbers start at 1. */
export function checked(tag: number): number {
  if (tag >>> 3 === 0) throw new Error("a field has the number 0");
  return tag;
}

export function truncated(): Error {
  return new Error("the message is cut short");
}
