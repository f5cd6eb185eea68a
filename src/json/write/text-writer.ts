/**
 * Writes JSON text as bytes into a block. A full block becomes a part of the JavaScript string, or
 * is copied. Strings on the wire are UTF-8, like JSON, so most bytes are only copied.
 *
 * At the end one check of the whole text finds invalid UTF-8. This is enough: an incomplete
 * sequence would include the quote after it.
 */
import { Buffer, isUtf8 } from "node:buffer";
import { SHORT_TEXT, shortText } from "../../wire/short-text.js";
import {
  countDigits,
  DIGIT_0,
  DOT,
  ESCAPES,
  hasSpecial,
  type Literal,
  MINUS,
  NON_ASCII_IS_SPECIAL,
  NOT_ASCII,
  PAIRS,
  PLAIN,
  QUOTE,
  startOfCharacter,
  wordsOf,
} from "../bytes.js";
import { TooLargeError } from "../codec.js";
import { GatheredBytes } from "./gathered-bytes.js";
import { PlainRuns } from "./plain-runs.js";

const BLOCK = 64 * 1024;
/** A longer text, or one that is not ASCII, is returned as bytes (docs/performance.md, "JSON"). */
const MAX_STRING = 16 * 1024;
/** A string of this length is written in chunks. Native code writes chunks without escapes. */
const LONG = 1_536;
/** Maximum bytes of a chunk with escapes. */
const CHUNK = 4 * 1024;
/** Minimum bytes of a chunk for native code. For fewer, the call takes longer than it saves. */
const MIN_PLAIN = 256;
/** Minimum bytes of a chunk that is not copied to the block first. */
const MIN_DIRECT = MAX_STRING;

const BASE64 = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
const EQUALS = 0x3d;

export class TextWriter {
  readonly #block = Buffer.allocUnsafeSlow(BLOCK);
  readonly #words = wordsOf(this.#block);
  #pos = 0;
  /** What was written before the content of the block: a string, or bytes. */
  #text = "";
  readonly #earlier = new GatheredBytes();
  /** Bytes of the earlier content, and the maximum size of the text in bytes. */
  #length = 0;
  #limit = 0;
  #asBytes = false;
  /** Whether the block has bytes that are not ASCII. */
  #beyondAscii = false;
  readonly #runs = new PlainRuns();

  /**
   * Starts a text of at most `limit` bytes.
   * @param size bytes of the message, if `finishBody` will end the text, and not `finish`
   */
  begin(limit: number, size?: number): void {
    this.#pos = 0;
    this.#length = 0;
    this.#limit = limit;
    this.#asBytes = size !== undefined;
    // If a text consists mostly of strings, it is only a little longer than the wire bytes.
    if (size !== undefined) this.#earlier.begin(size + (size >> 4));
    this.#beyondAscii = false;
  }

  /** Drops the text. */
  clear(): void {
    this.#runs.finish();
    this.#text = "";
    this.#earlier.clear();
  }

  /** The text since `begin`. @throws {TooLargeError} @throws {Error} when it is not UTF-8 */
  finish(): string {
    this.#checkSize();
    return this.#text === "" ? this.#chunk() : this.#text + this.#chunk();
  }

  /** Like `finish`, but returns UTF-8 bytes if they are cheaper to send than a string. */
  finishBody(): string | Buffer {
    this.#checkSize();
    if (this.#length === 0 && this.#pos <= MAX_STRING && !this.#beyondAscii) return this.#chunk();
    this.#checkUtf8();
    this.#earlier.add(this.#block, 0, this.#pos);
    return this.#earlier.finish();
  }

  #checkSize(): void {
    if (this.#length + this.#pos > this.#limit) {
      throw new TooLargeError(`the message is larger than ${this.#limit} bytes as JSON`);
    }
  }

  #chunk(): string {
    if (!this.#beyondAscii) {
      return this.#pos <= SHORT_TEXT ? shortText(this.#block, 0, this.#pos) : this.#block.latin1Slice(0, this.#pos);
    }
    this.#checkUtf8();
    return this.#block.toString("utf8", 0, this.#pos);
  }

  #checkUtf8(): void {
    if (this.#beyondAscii && !isUtf8(this.#block.subarray(0, this.#pos)))
      throw new Error("a string is not valid UTF-8");
  }

  /** Ensures that `size` bytes are free in the block. */
  #ensure(size: number): void {
    if (this.#pos + size > BLOCK) this.#flush(size);
  }

  #flush(size: number): void {
    if (size > BLOCK) throw new Error(`a name is longer than ${BLOCK} bytes`);
    this.#checkSize();
    if (this.#asBytes) {
      this.#checkUtf8();
      this.#earlier.add(this.#block, 0, this.#pos);
    } else this.#text += this.#chunk();
    this.#length += this.#pos;
    this.#pos = 0;
    this.#beyondAscii = false;
  }

  byte(byte: number): void {
    this.#ensure(1);
    this.#block[this.#pos++] = byte;
  }

  /** JSON in UTF-8. */
  literal({ length, words, bytes, isAscii }: Literal): void {
    this.#ensure(length);
    if (!isAscii) this.#beyondAscii = true;
    const block = this.#block;
    const target = this.#words;
    let pos = this.#pos;
    this.#pos = pos + length;
    for (let word = 0; word < words.length; word++) {
      target.setInt32(pos, words[word]!, true);
      pos += 4;
    }
    for (let at = words.length * 4; at < length; at++) block[pos++] = bytes[at]!;
  }

  /** A literal whose first byte is replaced. */
  member(name: Literal, before: number): void {
    this.literal(name);
    this.#block[this.#pos - name.length] = before;
  }

  /** JSON that is ASCII. */
  ascii(text: string): void {
    this.#ensure(text.length);
    const block = this.#block;
    let pos = this.#pos;
    for (let at = 0; at < text.length; at++) block[pos++] = text.charCodeAt(at);
    this.#pos = pos;
  }

  /**
   * A string in UTF-8, in quotes.
   * @param words a view of the array as words, or an empty view
   */
  string(src: Uint8Array, words: DataView, start: number, end: number): void {
    this.byte(QUOTE);
    const rest = end - start < LONG ? start : this.#long(src, words, start, end);
    this.#characters(src, words, rest, end);
    this.#block[this.#pos++] = QUOTE;
  }

  /**
   * Writes a long string except for its last part. It writes a chunk byte by byte. If the chunk
   * needed no escapes, native code writes what follows.
   * @returns the offset of the last part
   */
  #long(src: Uint8Array, words: DataView, start: number, end: number): number {
    const runs = this.#runs;
    runs.begin(src, words, start, end);
    for (let size = MIN_PLAIN; end - start >= LONG; size = CHUNK) {
      const next = startOfCharacter(src, Math.min(start + size, end));
      const escaped = this.#characters(src, words, start, next);
      start = escaped ? next : this.#plain(next);
    }
    return start;
  }

  /**
   * Writes the plain bytes of the long string from `start` on, if there are enough for native code.
   * @returns the offset after them
   */
  #plain(start: number): number {
    const runs = this.#runs;
    for (;;) {
      const end = startOfCharacter(runs.src, runs.endOfRun(start));
      if (end - start < MIN_PLAIN) return start;
      if (this.#asBytes && end - start >= MIN_DIRECT) {
        this.#flush(0);
        this.#length += end - start;
        runs.checkUtf8();
        this.#earlier.add(runs.text, start - runs.start, end - runs.start);
        start = end;
        continue;
      }
      this.#ensure(end - start);
      runs.copy(start, end, this.#block, this.#pos);
      this.#pos += end - start;
      if (!runs.isAscii) this.#beyondAscii = true;
      start = end;
    }
  }

  /**
   * Writes the characters of a string with escapes, and leaves space for a quote.
   * @returns whether there were escapes
   */
  #characters(src: Uint8Array, words: DataView, start: number, end: number): boolean {
    this.#ensure((end - start) * 6 + 1);
    const block = this.#block;
    const target = this.#words;
    const lastWord = Math.min(end, words.byteLength) - 4;
    let pos = this.#pos;
    let at = start;
    while (at < end) {
      for (; at <= lastWord; at += 4) {
        const word = words.getInt32(at, true);
        if (hasSpecial(word, NON_ASCII_IS_SPECIAL)) break;
        target.setInt32(pos, word, true);
        pos += 4;
      }
      // The bytes of a word that has a special byte, or the bytes after the last full word.
      for (let rest = Math.min(end, at + 4); at < rest; at++) {
        const byte = src[at]!;
        if (PLAIN[byte] === 1) block[pos++] = byte;
        else if (byte >= NOT_ASCII) {
          block[pos++] = byte;
          this.#beyondAscii = true;
        } else {
          const escaped = ESCAPES[byte]!;
          for (let part = 0; part < escaped.length; part++) block[pos++] = escaped[part]!;
        }
      }
    }
    const escaped = pos - this.#pos > end - start;
    this.#pos = pos;
    return escaped;
  }

  /** A JavaScript string, in quotes. */
  text(text: string): void {
    const bytes = Buffer.from(text, "utf8");
    this.string(bytes, wordsOf(bytes), 0, bytes.length);
  }

  /** Bytes in base64, in quotes. */
  base64(src: Uint8Array, start: number, end: number): void {
    this.byte(QUOTE);
    const chunk = CHUNK - (CHUNK % 3);
    for (; end - start > chunk; start += chunk) this.#base64(src, start, start + chunk);
    this.#base64(src, start, end);
    this.byte(QUOTE);
  }

  #base64(src: Uint8Array, start: number, end: number): void {
    this.#ensure(end - start + ((end - start) >> 1) + 4);
    const block = this.#block;
    let pos = this.#pos;
    const rest = (end - start) % 3;
    let at = start;
    for (; at < end - rest; at += 3) {
      const bits = (src[at]! << 16) | (src[at + 1]! << 8) | src[at + 2]!;
      block[pos] = BASE64[bits >> 18]!;
      block[pos + 1] = BASE64[(bits >> 12) & 63]!;
      block[pos + 2] = BASE64[(bits >> 6) & 63]!;
      block[pos + 3] = BASE64[bits & 63]!;
      pos += 4;
    }
    if (rest > 0) {
      const bits = (src[at]! << 16) | (rest === 2 ? src[at + 1]! << 8 : 0);
      block[pos] = BASE64[bits >> 18]!;
      block[pos + 1] = BASE64[(bits >> 12) & 63]!;
      block[pos + 2] = rest === 2 ? BASE64[(bits >> 6) & 63]! : EQUALS;
      block[pos + 3] = EQUALS;
      pos += 4;
    }
    this.#pos = pos;
  }

  /** An integer of at most 32 bits, signed or not. */
  integer(value: number): void {
    this.#ensure(12);
    if (value < 0) {
      this.#block[this.#pos++] = MINUS;
      value = -value;
    }
    this.#unsigned(value);
  }

  /** An unsigned integer of at most 53 bits. The caller has ensured that it fits in the block. */
  #unsigned(value: number): void {
    if (value < 10) this.#block[this.#pos++] = DIGIT_0 + value;
    else if (value < 1e9) this.#digits(value, countDigits(value));
    else {
      const upper = Math.floor(value / 1e9);
      this.#unsigned(upper);
      this.#digits(value - upper * 1e9, 9);
    }
  }

  #digits(value: number, count: number): void {
    const start = this.#pos;
    let rest = value | 0;
    let at = start + count;
    this.#pos = at;
    while (at > start + 1) {
      const hundredth = (rest / 100) | 0;
      at -= 2;
      this.#words.setUint16(at, PAIRS[rest - hundredth * 100]!, true);
      rest = hundredth;
    }
    if (at > start) this.#block[start] = DIGIT_0 + rest;
  }

  /** An unsigned 64-bit integer, given as two halves, in quotes. */
  uint64(low: number, high: number): void {
    this.#ensure(22);
    this.#block[this.#pos++] = QUOTE;
    this.#unsigned64(low, high);
    this.#block[this.#pos++] = QUOTE;
  }

  /** A signed 64-bit integer, given as two's complement halves, in quotes. */
  int64(low: number, high: number): void {
    this.#ensure(22);
    this.#block[this.#pos++] = QUOTE;
    if (high < 0) {
      this.#block[this.#pos++] = MINUS;
      low = -low;
      high = ~high + (low === 0 ? 1 : 0);
    }
    this.#unsigned64(low, high);
    this.#block[this.#pos++] = QUOTE;
  }

  #unsigned64(low: number, high: number): void {
    low >>>= 0;
    high >>>= 0;
    if (high < 0x200000) {
      this.#unsigned(high * 0x100000000 + low);
      return;
    }
    // Long division by 10^9, with 16 bits in each step, so that every step is exact as a double.
    const first = Math.floor(high / 1e9);
    const second = (high % 1e9) * 0x10000 + (low >>> 16);
    const third = (second % 1e9) * 0x10000 + (low & 0xffff);
    this.#unsigned(first * 0x100000000 + Math.floor(second / 1e9) * 0x10000 + Math.floor(third / 1e9));
    this.#digits(third % 1e9, 9);
  }

  /** A finite number. */
  double(value: number): void {
    this.#ensure(20);
    if (value < 0 || Object.is(value, -0)) {
      this.#block[this.#pos++] = MINUS;
      value = -value;
    }
    if (value >= 1e9) this.ascii(String(value));
    else if (Number.isInteger(value)) this.#unsigned(value);
    else {
      // Most numbers have few decimals. If six decimals give the same number, they are its shortest
      // form, apart from trailing zeros: two decimals with so few digits are never the same double.
      const millionths = Math.round(value * 1e6);
      if (millionths / 1e6 === value) this.#millionths(millionths);
      else this.ascii(String(value));
    }
  }

  /** A number below 10^9 with a fraction, in millionths. The caller has ensured that it fits. */
  #millionths(value: number): void {
    const whole = Math.floor(value / 1e6);
    this.#unsigned(whole);
    this.#block[this.#pos++] = DOT;
    this.#digits(value - whole * 1e6, 6);
    while (this.#block[this.#pos - 1] === DIGIT_0) this.#pos--;
  }

  /** An integer below 10^9, padded with zeros to `digits` digits. */
  padded(value: number, digits: number): void {
    this.#ensure(digits);
    this.#digits(value, digits);
  }
}
