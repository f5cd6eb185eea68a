/**
 * Writes JSON text as bytes into one block, which becomes a piece of JavaScript string, or is copied, whenever it is
 * full: strings on the wire are UTF-8 as JSON is, so most bytes are only copied, and of a small message the string is
 * made at once.
 *
 * What was written is checked to be UTF-8 as a whole, since a sequence that is not whole within its string runs into
 * the quote behind it.
 */
import { Buffer, isUtf8 } from "node:buffer";
import { SHORT_TEXT, shortText } from "../../wire/short-text.js";
import { BACKSLASH, DIGIT_0, DOT, MINUS, NOT_ASCII, QUOTE, SPACE } from "../ascii.js";
import { TooLargeError } from "../codec.js";
import { CARE_BEYOND_ASCII, needsCare, type Phrase, wordsOf } from "../words.js";

const BLOCK = 64 * 1024;
/**
 * A longer text costs less to send as bytes than as a string (64 KiB by node:http: 44 µs, not 59), and one that is not
 * ASCII several times less, whatever its length (59 µs, not 298).
 */
const LONGEST_STRING = 16 * 1024;
/** Of long strings so many bytes are written at a time. */
const PIECE = 4 * 1024;

/** How a byte is written in a string when not as itself: its escape (RFC 8259 §7). */
const ESCAPES: readonly (Uint8Array | undefined)[] = Array.from({ length: 128 }, (_, byte) => {
  const escaped = JSON.stringify(String.fromCharCode(byte)).slice(1, -1);
  return escaped.length > 1 ? Buffer.from(escaped) : undefined;
});
/** 1: as itself. 0: look closer. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= SPACE && byte < NOT_ASCII && byte !== QUOTE && byte !== BACKSLASH),
);

/** The digits of the numbers from 0 to 99, as two bytes each. */
const PAIRS = Uint16Array.from(
  { length: 100 },
  (_, value) => DIGIT_0 + Math.floor(value / 10) + ((DIGIT_0 + (value % 10)) << 8),
);

const BASE64 = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
const EQUALS = 0x3d;

const NOTHING = Buffer.alloc(0);

export class TextWriter {
  readonly #block = Buffer.allocUnsafeSlow(BLOCK);
  readonly #words = wordsOf(this.#block);
  #pos = 0;
  /** What was in the block before: as a string, or as bytes, of which the last have room for more. */
  #text = "";
  #pieces: Buffer[] = [];
  #last = NOTHING;
  #lastLength = 0;
  /** How many bytes that was, and how many the whole may become. */
  #length = 0;
  #limit = 0;
  /** How many bytes the whole is likely to become. */
  #expected = 0;
  #asBytes = false;
  /** Whether there is anything but ASCII in the block. */
  #beyondAscii = false;

  /**
   * Starts a text of at most `limit` bytes that `finish` gives as a string; or, of a message of `size` bytes, `finishBody`
   * as what is best.
   */
  begin(limit: number, size?: number): void {
    this.#pos = 0;
    this.#length = 0;
    this.#limit = limit;
    this.#asBytes = size !== undefined;
    // A text that is mostly strings is little longer than the wire.
    this.#expected = size === undefined ? 0 : size + (size >> 4);
    this.#beyondAscii = false;
  }

  /** Lets go of the text. */
  clear(): void {
    this.#text = "";
    if (this.#pieces.length > 0) this.#pieces = [];
    this.#last = NOTHING;
    this.#lastLength = 0;
  }

  /**
   * Everything that was written since `begin`.
   * @throws {TooLargeError}
   * @throws {Error} when it is not UTF-8.
   */
  finish(): string {
    this.#checkSize();
    return this.#text === "" ? this.#piece() : this.#text + this.#piece();
  }

  /**
   * Everything that was written since `begin`: a string where that is best to send, else UTF-8.
   * @throws {TooLargeError}
   * @throws {Error} when it is not UTF-8.
   */
  finishBody(): string | Buffer {
    this.#checkSize();
    if (this.#length === 0 && this.#pos <= LONGEST_STRING && !this.#beyondAscii) return this.#piece();
    this.#copy();
    const last = this.#last.subarray(0, this.#lastLength);
    return this.#pieces.length === 0 ? last : Buffer.concat([...this.#pieces, last]);
  }

  #checkSize(): void {
    if (this.#length + this.#pos > this.#limit) {
      throw new TooLargeError(`the message is larger than ${this.#limit} bytes as JSON`);
    }
  }

  #piece(): string {
    if (!this.#beyondAscii) {
      return this.#pos <= SHORT_TEXT ? shortText(this.#block, 0, this.#pos) : this.#block.latin1Slice(0, this.#pos);
    }
    this.#checkUtf8();
    return this.#block.toString("utf8", 0, this.#pos);
  }

  /** Adds what is in the block to the bytes before. What is full stays as it is: to make it larger would be a copy, too. */
  #copy(): void {
    this.#checkUtf8();
    const copied = this.#block.copy(this.#last, this.#lastLength, 0, this.#pos);
    this.#lastLength += copied;
    if (copied === this.#pos) return;
    if (this.#lastLength > 0) this.#pieces.push(this.#last);
    const size = Math.max(this.#pos - copied, this.#length, this.#expected - this.#length);
    this.#last = Buffer.allocUnsafeSlow(size);
    this.#lastLength = this.#block.copy(this.#last, 0, copied, this.#pos);
  }

  #checkUtf8(): void {
    if (this.#beyondAscii && !isUtf8(this.#block.subarray(0, this.#pos)))
      throw new Error("a string is not valid UTF-8");
  }

  /** Makes room for `size` bytes. */
  #room(size: number): void {
    if (this.#pos + size > BLOCK) this.#flush(size);
  }

  #flush(size: number): void {
    if (size > BLOCK) throw new Error(`a name is longer than ${BLOCK} bytes`);
    this.#checkSize();
    if (this.#asBytes) this.#copy();
    else this.#text += this.#piece();
    this.#length += this.#pos;
    this.#pos = 0;
    this.#beyondAscii = false;
  }

  byte(byte: number): void {
    this.#room(1);
    this.#block[this.#pos++] = byte;
  }

  /** Whole UTF-8 that is JSON already. */
  phrase({ length, words, bytes, isAscii }: Phrase): void {
    this.#room(length);
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

  /** A phrase, with another byte in the place of its first. */
  member(name: Phrase, before: number): void {
    this.phrase(name);
    this.#block[this.#pos - name.length] = before;
  }

  /** A string that is JSON already, of ASCII only. */
  ascii(text: string): void {
    this.#room(text.length);
    const block = this.#block;
    let pos = this.#pos;
    for (let at = 0; at < text.length; at++) block[pos++] = text.charCodeAt(at);
    this.#pos = pos;
  }

  /** Bytes that are the UTF-8 of a string, in quotes. `words` are the words of the array, if it has them. */
  string(src: Uint8Array, words: DataView, start: number, end: number): void {
    this.byte(QUOTE);
    for (; end - start > PIECE; start = this.#characters(src, words, start, startOfCharacter(src, start + PIECE)));
    this.#characters(src, words, start, end);
    this.#block[this.#pos++] = QUOTE;
  }

  /** Writes characters as they stand in a string, and leaves room for a quote. */
  #characters(src: Uint8Array, words: DataView, start: number, end: number): number {
    this.#room((end - start) * 6 + 1);
    const block = this.#block;
    const target = this.#words;
    const lastWord = Math.min(end, words.byteLength) - 4;
    let pos = this.#pos;
    let at = start;
    while (at < end) {
      for (; at <= lastWord; at += 4) {
        const word = words.getInt32(at, true);
        if (needsCare(word, CARE_BEYOND_ASCII)) break;
        target.setInt32(pos, word, true);
        pos += 4;
      }
      // The rest of a word that needs care, and what makes no whole word.
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
    this.#pos = pos;
    return end;
  }

  /** A JavaScript string, in quotes. */
  text(text: string): void {
    const bytes = Buffer.from(text, "utf8");
    this.string(bytes, wordsOf(bytes), 0, bytes.length);
  }

  /** Bytes in base64, in quotes. */
  base64(src: Uint8Array, start: number, end: number): void {
    this.byte(QUOTE);
    const piece = PIECE - (PIECE % 3);
    for (; end - start > piece; start += piece) this.#base64(src, start, start + piece);
    this.#base64(src, start, end);
    this.byte(QUOTE);
  }

  #base64(src: Uint8Array, start: number, end: number): void {
    this.#room(end - start + ((end - start) >> 1) + 4);
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

  /** A whole number of at most 32 bits, with or without a sign. */
  integer(value: number): void {
    this.#room(12);
    if (value < 0) {
      this.#block[this.#pos++] = MINUS;
      value = -value;
    }
    this.#unsigned(value);
  }

  /** A whole number of at most 53 bits without a sign, where there is room for it. */
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

  /** A 64-bit integer without a sign, of two's complement halves, in quotes. */
  uint64(low: number, high: number): void {
    this.#room(22);
    this.#block[this.#pos++] = QUOTE;
    this.#unsigned64(low, high);
    this.#block[this.#pos++] = QUOTE;
  }

  /** A 64-bit integer with a sign, of two's complement halves, in quotes. */
  int64(low: number, high: number): void {
    this.#room(22);
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
    // Long division by 10^9, 16 bits at a time, so that everything is exact in a double.
    const first = Math.floor(high / 1e9);
    const second = (high % 1e9) * 0x10000 + (low >>> 16);
    const third = (second % 1e9) * 0x10000 + (low & 0xffff);
    this.#unsigned(first * 0x100000000 + Math.floor(second / 1e9) * 0x10000 + Math.floor(third / 1e9));
    this.#digits(third % 1e9, 9);
  }

  /** A finite number. */
  double(value: number): void {
    this.#room(20);
    if (value < 0 || Object.is(value, -0)) {
      this.#block[this.#pos++] = MINUS;
      value = -value;
    }
    if (value >= 1e9) this.ascii(String(value));
    else if (Number.isInteger(value)) this.#unsigned(value);
    else {
      // Most have a few decimals. If these give back the same number, they are all it needs: it has no shorter form
      // but without the zeros at their end, since with so few digits no two decimals are the same double.
      const millionths = Math.round(value * 1e6);
      if (millionths / 1e6 === value) this.#millionths(millionths);
      else this.ascii(String(value));
    }
  }

  /** A number below 10^9 in millionths, of which there are some, where there is room for it. */
  #millionths(value: number): void {
    const whole = Math.floor(value / 1e6);
    this.#unsigned(whole);
    this.#block[this.#pos++] = DOT;
    this.#digits(value - whole * 1e6, 6);
    while (this.#block[this.#pos - 1] === DIGIT_0) this.#pos--;
  }

  /** A whole number below 10^9 with zeros in front, so that it has so many digits. */
  padded(value: number, digits: number): void {
    this.#room(digits);
    this.#digits(value, digits);
  }
}

/** How many digits a number from 10 to 10^9 - 1 has. */
function countDigits(value: number): number {
  if (value < 10_000) return value < 100 ? 2 : value < 1000 ? 3 : 4;
  if (value < 1_000_000) return value < 100_000 ? 5 : 6;
  return value < 10_000_000 ? 7 : value < 100_000_000 ? 8 : 9;
}

/** The offset at or a little before `at` where no UTF-8 sequence is cut. */
function startOfCharacter(src: Uint8Array, at: number): number {
  for (let back = 0; back < 4; back++) if ((src[at - back]! & 0xc0) !== 0x80) return at - back;
  return at;
}
