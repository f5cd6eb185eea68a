/**
 * Reads protobuf wire format (https://protobuf.dev/programming-guides/encoding/) that a service sent, trusting nothing:
 * whatever is no message of its type is an error, never a wrong value.
 */
import { Buffer, isUtf8 } from "node:buffer";
import { asBuffer } from "../../buffer.js";
import { TooLargeError } from "../codec.js";
import { KeySet } from "../key-set.js";
import { END_GROUP, FIXED32, FIXED64, LENGTH, START_GROUP, VARINT } from "../types.js";
import { NO_WORDS, wordsOf } from "../words.js";

const MAX_DEPTH = 100; // as other implementations have it
/** How many marks there are at first, and how many are kept for the next message. */
const FEW = 256;
const KEPT = 16 * 1024;
const NOTHING = Buffer.alloc(0);

export class WireReader {
  src: Buffer = NOTHING;
  pos = 0;
  /** The words of `src`, if it has them. */
  words = NO_WORDS;
  /** Two's complement halves of the 64-bit value that was read last. */
  low = 0;
  high = 0;
  depth = 0;
  /** Where the fields of the messages that are being written stand: a stack, see `claim`. */
  marks = new Int32Array(FEW);
  #marksTop = 0;
  /** How many bytes were copied, and how many may be. */
  #copied = 0;
  #mostCopied = 0;
  /** The keys of the maps that are being written. */
  readonly keys = new KeySet();

  /** Starts a message of which `mostCopied` bytes may be copied. */
  begin(bytes: Uint8Array, mostCopied: number): void {
    this.src = asBuffer(bytes);
    this.words = wordsOf(this.src);
    this.pos = 0;
    this.depth = 0;
    this.#marksTop = 0;
    if (this.marks.length > KEPT) this.marks = new Int32Array(FEW);
    this.#copied = 0;
    this.#mostCopied = mostCopied;
    this.keys.clear();
  }

  /** Lets go of the bytes. */
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

  /** `count` zeros in `marks`, until they are given back to `release`. The result is where they begin. */
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

  /** A varint of at most 32 bits that matter; `high` bits are read and dropped, as the format wants it. Signed. */
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

  /** A varint into `low` and `high`. */
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

  /** The end of what has its length in front; `pos` is then at its start. */
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

  /** Eight bytes into `low` and `high`. */
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

  /** `words`, which must go on for `size` bytes, whatever it costs. */
  #view(size: number): DataView {
    if (this.pos + size > this.src.length) throw truncated();
    if (this.words === NO_WORDS) this.words = new DataView(this.src.buffer, this.src.byteOffset, this.src.byteLength);
    return this.words;
  }

  /** Steps over the value of a field. */
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

  /** Steps over the rest of a group and its end tag. The offset of that tag. */
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

  /** Some of the bytes, as text. */
  latin1(start: number, end: number): string {
    return this.src.toString("latin1", start, end);
  }

  /**
   * Some of the bytes, which must be UTF-8.
   * @throws {Error} when they are not.
   */
  utf8(start: number, end: number): string {
    if (!isUtf8(this.src.subarray(start, end))) throw new Error("a string is not valid UTF-8");
    return this.src.toString("utf8", start, end);
  }

  /**
   * Room for `size` bytes of the message, to stand together where the message has them in pieces.
   * @throws {TooLargeError} Each level of a message may be such a copy, and all are there at once.
   */
  copy(size: number): Buffer {
    this.#copied += size;
    if (this.#copied > this.#mostCopied) {
      throw new TooLargeError(
        `the fields of the message are in so many pieces that they take more than ${this.#mostCopied} bytes`,
      );
    }
    return Buffer.allocUnsafe(size);
  }

  /** Runs `read` on other bytes. */
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

/** A tag that may be: field numbers begin at 1. */
export function checked(tag: number): number {
  if (tag >>> 3 === 0) throw new Error("a field has the number 0");
  return tag;
}

export function truncated(): Error {
  return new Error("the message is cut short");
}
