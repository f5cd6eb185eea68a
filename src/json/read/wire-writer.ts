/**
 * Writes protobuf wire format (https://protobuf.dev/programming-guides/encoding/) from front to
 * back.
 *
 * The length of a nested message is written before its content, but is known only after it. `open`
 * reserves as many bytes as the caller guesses. `close` moves the content if the guess was wrong. A
 * field guesses the number of bytes that it needed last time, so content is seldom moved.
 *
 * Short messages share a block, and so do messages of medium length, so few messages allocate
 * memory. A long message gets a block of the size of its JSON, which is seldom shorter than the
 * wire bytes. A very long message gets twice that size: growing would need both blocks at once, and
 * the operating system provides no memory for the part of a large block that is not written.
 */
import { Buffer } from "node:buffer";
import { JsonError } from "../codec.js";
import { hashOfBytes, KeySet, type Keys } from "../sets.js";
import { FIXED32, FIXED64, LENGTH } from "../types.js";

/**
 * Size of the blocks in bytes, and the maximum size of the JSON of a message that shares a block.
 * If code stores one message of a block, the whole block stays in memory.
 */
const SHORT_BLOCK = 16 * 1024;
const MAX_SHORT = 2 * 1024;
const MEDIUM_BLOCK = 32 * 1024;
const MAX_MEDIUM = 8 * 1024;
const VERY_LONG = 512 * 1024;
/** The maximum number of bytes of one number. */
const SLACK = 64;
/** Longer copies are done by native code. */
const MAX_COPY_BY_WORDS = 256;
const NOTHING = Buffer.alloc(0);

/** Memory that messages share. */
class Block {
  bytes: Buffer;
  view: DataView;
  used = 0;

  constructor(readonly size: number) {
    this.bytes = Buffer.allocUnsafeSlow(size);
    this.view = viewOf(this.bytes);
  }

  /** Ensures that `bytes` bytes are free. */
  ensure(bytes: number): void {
    if (this.used + bytes <= this.size) return;
    this.bytes = Buffer.allocUnsafeSlow(this.size);
    this.view = viewOf(this.bytes);
    this.used = 0;
  }
}

export class WireWriter implements Keys {
  /** The memory that is written to. `grow` replaces it. */
  bytes: Buffer = NOTHING;
  pos = 0;
  #view = viewOf(this.bytes);
  #start = 0;
  /** Maximum size of the message in bytes. */
  #limit = 0;
  /** For each map that is being written: its keys. */
  readonly keys = new KeySet();
  /** Wire type and length of the key that was added last. */
  #keyType = LENGTH;
  #keyLength = 0;
  readonly #short = new Block(SHORT_BLOCK);
  readonly #medium = new Block(MEDIUM_BLOCK);

  /** Starts a message of at most `limit` bytes, whose JSON is `size` bytes long. */
  begin(size: number, limit: number): void {
    this.keys.clear();
    this.#limit = limit;
    if (size > MAX_MEDIUM) {
      this.#use(Buffer.allocUnsafeSlow(Math.min(size > VERY_LONG ? size * 2 : size, limit) + SLACK), 0);
    } else {
      const block = size > MAX_SHORT ? this.#medium : this.#short;
      block.ensure(size + SLACK);
      this.bytes = block.bytes;
      this.#view = block.view;
      this.pos = block.used;
    }
    this.#start = this.pos;
  }

  /**
   * The bytes written since `begin`.
   * @throws {JsonError} when there are more than the limit
   */
  finish(): Buffer {
    this.#checkSize();
    const message = this.bytes.subarray(this.#start, this.pos);
    this.#release(this.pos);
    return message;
  }

  /** Discards the bytes written since `begin`. */
  abandon(): void {
    this.#release(this.#start);
  }

  /**
   * Drops the reference to the memory.
   * @param end of the message, if it is in a block
   */
  #release(end: number): void {
    if (this.bytes === this.#short.bytes) this.#short.used = end;
    else if (this.bytes === this.#medium.bytes) this.#medium.used = end;
    else this.#use(NOTHING, 0);
  }

  #use(bytes: Buffer, pos: number): void {
    this.bytes = bytes;
    this.#view = viewOf(bytes);
    this.pos = pos;
  }

  /** Ensures that `size` more bytes fit in `bytes`. */
  ensure(size: number): void {
    if (this.pos + size > this.bytes.length) this.#grow(size);
  }

  #checkSize(): void {
    if (this.pos - this.#start > this.#limit) throw new JsonError(`the message is larger than ${this.#limit} bytes`);
  }

  #grow(size: number): void {
    this.#checkSize();
    const length = Math.min(this.bytes.length * 1.5, this.#start + this.#limit + SLACK);
    // Callers have offsets into the block, so the message keeps its place in the larger one.
    const larger = Buffer.allocUnsafeSlow(Math.max(length, this.pos + size + SLACK) | 0);
    larger.set(this.bytes.subarray(this.#start, this.pos), this.#start);
    this.#use(larger, this.pos);
  }

  /**
   * Adds the map key that was written from `start` to `end` to the innermost set of `keys`. The key
   * must not move any more. Keys are compared by their wire bytes, which do not depend on how the
   * JSON wrote the key. Returns false if the set has the key already.
   */
  addKey(tag: number, start: number, end: number): boolean {
    this.#keyType = tag & 7;
    this.#keyLength = end - start;
    return this.keys.add(hashOfBytes(this.bytes, this.#view, start, end), start, this);
  }

  /** Whether the innermost set of `keys` has the map key that was written from `start` to `end`. */
  hasKey(tag: number, start: number, end: number): boolean {
    this.#keyType = tag & 7;
    this.#keyLength = end - start;
    return this.keys.has(hashOfBytes(this.bytes, this.#view, start, end), start, this);
  }

  /**
   * Whether two keys are the same. No encoded key is a prefix of another key, so it is enough to
   * compare as many bytes as the new key has.
   */
  same(start: number, other: number): boolean {
    for (let at = 0; at < this.#keyLength; at++) if (this.bytes[start + at] !== this.bytes[other + at]) return false;
    return true;
  }

  hash(start: number): number {
    return hashOfBytes(this.bytes, this.#view, start, this.#endOfKey(start));
  }

  #endOfKey(start: number): number {
    const { bytes } = this;
    if (this.#keyType === FIXED32) return start + 4;
    if (this.#keyType === FIXED64) return start + 8;
    let end = start;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[end++]!;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) return this.#keyType === LENGTH ? end + length : end;
    }
  }

  /** An unsigned 32-bit varint: tags, lengths, uint32. */
  varint32(value: number): void {
    this.ensure(5);
    const bytes = this.bytes;
    let pos = this.pos;
    while (value > 0x7f) {
      bytes[pos++] = (value & 0x7f) | 0x80;
      value >>>= 7;
    }
    bytes[pos++] = value;
    this.pos = pos;
  }

  /** A 64-bit varint, given as two's complement halves. */
  varint64(low: number, high: number): void {
    this.ensure(10);
    const bytes = this.bytes;
    let pos = this.pos;
    while (high !== 0 || (low & ~0x7f) !== 0) {
      bytes[pos++] = (low & 0x7f) | 0x80;
      low = (low >>> 7) | (high << 25);
      high >>>= 7;
    }
    bytes[pos++] = low;
    this.pos = pos;
  }

  fixed32(value: number): void {
    this.ensure(4);
    this.#view.setInt32(this.pos, value, true);
    this.pos += 4;
  }

  fixed64(low: number, high: number): void {
    this.ensure(8);
    this.#view.setInt32(this.pos, low, true);
    this.#view.setInt32(this.pos + 4, high, true);
    this.pos += 8;
  }

  float(value: number): void {
    this.ensure(4);
    this.#view.setFloat32(this.pos, value, true);
    this.pos += 4;
  }

  double(value: number): void {
    this.ensure(8);
    this.#view.setFloat64(this.pos, value, true);
    this.pos += 8;
  }

  /**
   * Bytes of another array, after their length.
   * @param words a view of that array as words, or an empty view
   */
  copy(source: Uint8Array, words: DataView, start: number, end: number): void {
    const length = end - start;
    this.ensure(length + 5);
    this.varint32(length);
    let pos = this.pos;
    this.pos = pos + length;
    if (length > MAX_COPY_BY_WORDS) {
      this.bytes.set(source.subarray(start, end), pos);
      return;
    }
    const target = this.#view;
    for (const lastWord = Math.min(end, words.byteLength) - 4; start <= lastWord; start += 4) {
      target.setInt32(pos, words.getInt32(start, true), true);
      pos += 4;
    }
    const { bytes } = this;
    while (start < end) bytes[pos++] = source[start++]!;
  }

  /**
   * Starts content with a length in front. It reserves `lengthSize` bytes for the length. Returns
   * the argument of `close`.
   */
  open(lengthSize: number): number {
    this.ensure(lengthSize);
    const start = this.pos;
    this.pos += lengthSize;
    return start;
  }

  /**
   * Ends the content that `open` started. Returns the number of bytes that the length needed, which
   * is the best guess for the next time.
   */
  close(start: number, guess: number): number {
    const content = start + guess;
    const length = this.pos - content;
    const size = length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x200000 ? 3 : length < 0x10000000 ? 4 : 5;
    if (size !== guess) {
      this.ensure(5);
      this.bytes.copyWithin(start + size, content, this.pos);
    }
    this.pos = start;
    this.varint32(length);
    this.pos += length;
    return size;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
