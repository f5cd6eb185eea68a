/**
 * Walks over JSON text (RFC 8259) in UTF-8, byte by byte, for readers that know what they want next. Stricter than
 * `JSON.parse`: strings must be whole Unicode text, so neither invalid UTF-8 nor half of a surrogate pair passes.
 *
 * A scanner is used for one text at a time, again and again. Its cursor is `pos`; what a reader is to read begins
 * there, white space skipped, and a reader leaves it right after what it took.
 */
import { Buffer, isUtf8 } from "node:buffer";
import { asBuffer } from "../../buffer.js";
import {
  BACKSLASH,
  BRACE_CLOSE,
  BRACE_OPEN,
  BRACKET_CLOSE,
  BRACKET_OPEN,
  CARRIAGE_RETURN,
  COLON,
  COMMA,
  DIGIT_0,
  DIGIT_9,
  DOT,
  LINE_FEED,
  LOWER_E,
  MINUS,
  NOT_ASCII,
  QUOTE,
  SPACE,
  TAB,
  UPPER_E,
} from "../ascii.js";
import { CARE_BEYOND_ASCII, NO_CARE_BEYOND_ASCII, NO_WORDS, needsCare, type Phrase, wordsOf } from "../words.js";
import { BitSets } from "./bit-sets.js";
import { Decimal, EXACT_DIGITS, POWERS } from "./decimal.js";
import { illFormed, malformed, refused, unexpected } from "./errors.js";
import { decodeEscapes, LONE_SURROGATE } from "./escapes.js";
import type { WireWriter } from "./wire-writer.js";

const MAX_DEPTH = 64;

/** What `smallInteger` says when it found none: more than nine digits make. */
export const NOT_SMALL = 0x7fffffff;

const NOTHING = Buffer.alloc(0);

/** 1: the byte stands for itself in a string. 0: look closer. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= SPACE && byte < NOT_ASCII && byte !== QUOTE && byte !== BACKSLASH),
);

export class Scanner {
  src: Buffer = NOTHING;
  pos = 0;
  end = 0;
  depth = 0;
  /** Where `@type` stands in the object that is read for an Any, and is no field; -1 when there is none. */
  typeAt = -1;
  /** Which fields of the objects that are open were seen. */
  readonly seen = new BitSets();

  /** The number that `number` took in. */
  readonly decimal = new Decimal();

  /** What `readText` read: where its characters are. */
  text: Buffer = NOTHING;
  textStart = 0;
  textEnd = 0;

  /** The words of `src`, and where the last of them ends. */
  #words = NO_WORDS;
  #endOfWords = 0;
  /** Whether the whole text is known to be UTF-8. It is only looked at when there is something beyond ASCII. */
  #isUtf8 = false;

  begin(text: Uint8Array): void {
    const src = asBuffer(text);
    this.src = src;
    this.pos = 0;
    this.end = src.length;
    this.depth = 0;
    this.typeAt = -1;
    this.seen.clear();
    this.#words = wordsOf(src);
    this.#endOfWords = this.#words.byteLength;
    this.#isUtf8 = false;
  }

  /** Lets go of the text. */
  finish(): void {
    this.src = NOTHING;
    this.text = NOTHING;
    this.#words = NO_WORDS;
  }

  /** Skips white space. The byte that follows, or -1 at the end. */
  peek(): number {
    const byte = this.pos < this.end ? this.src[this.pos]! : -1;
    return byte > SPACE || byte < 0 ? byte : this.#skipSpace();
  }

  #skipSpace(): number {
    const { src, end } = this;
    while (this.pos < end) {
      const byte = src[this.pos]!;
      if (byte !== SPACE && byte !== LINE_FEED && byte !== CARRIAGE_RETURN && byte !== TAB) return byte;
      this.pos++;
    }
    return -1;
  }

  /** Steps over the colon after a member's name. The first byte of the value. */
  colon(): number {
    if (this.src[this.pos] !== COLON && this.peek() !== COLON) throw this.malformed('":"');
    this.pos++;
    return this.peek();
  }

  /** Steps over `phrase`, if the text goes on with it. */
  takes(phrase: Phrase): boolean {
    const { pos } = this;
    const { length, bytes } = phrase;
    if (pos + length > this.end) return false;
    let at = 0;
    if (pos + length <= this.#endOfWords) {
      const { words } = phrase;
      for (let word = 0; word < words.length; word++) {
        if (this.#words.getInt32(pos + at, true) !== words[word]) return false;
        at += 4;
      }
    }
    for (; at < length; at++) if (this.src[pos + at] !== bytes[at]) return false;
    this.pos = pos + length;
    return true;
  }

  /** Steps over `word`, which is all there may be where its first byte is. */
  literal(word: Phrase): void {
    if (!this.takes(word)) throw this.malformed("a value");
  }

  /** Steps into an object or array. */
  enter(): void {
    if (++this.depth > MAX_DEPTH) throw refused(this.src, this.pos, `nested more than ${MAX_DEPTH} levels deep`);
    this.pos++;
  }

  /**
   * Steps to the next member or element after one was read, or out of the object or array.
   * @returns whether there is a next one; `pos` is at it.
   */
  next(close: typeof BRACE_CLOSE | typeof BRACKET_CLOSE): boolean {
    const byte = this.peek();
    if (byte === COMMA) {
      this.pos++;
      this.peek();
      return true;
    }
    if (byte !== close) throw this.malformed(`"," or "${String.fromCharCode(close)}"`);
    this.pos++;
    this.depth--;
    return false;
  }

  /** Like `next`, for the first one. */
  first(close: typeof BRACE_CLOSE | typeof BRACKET_CLOSE): boolean {
    this.enter();
    if (this.peek() !== close) return true;
    this.pos++;
    this.depth--;
    return false;
  }

  /**
   * An integer of at most nine digits, plainly written and without quotes: nearly all there are. NOT_SMALL, without a
   * step, when it is anything else.
   */
  smallInteger(): number {
    const { src, end } = this;
    let pos = this.pos;
    const negative = src[pos] === MINUS;
    if (negative) pos++;
    const start = pos;
    let value = 0;
    let byte = 0;
    while (pos < end) {
      byte = src[pos]!;
      if (byte < DIGIT_0 || byte > DIGIT_9) break;
      if (pos - start === 9) return NOT_SMALL;
      value = value * 10 + (byte - DIGIT_0);
      pos++;
    }
    if (pos === start || pos === end || byte === DOT || byte === LOWER_E || byte === UPPER_E) return NOT_SMALL;
    // A leading zero is malformed, and minus zero is not an integer: both are for the thorough.
    if (src[start] === DIGIT_0 && (negative || pos - start > 1)) return NOT_SMALL;
    this.pos = pos;
    return negative ? -value : value;
  }

  /**
   * A number without an exponent and without quotes: nearly all there are. NaN, without a step, when it is anything else.
   */
  plainDecimal(): number {
    const { src, end } = this;
    let pos = this.pos;
    const negative = src[pos] === MINUS;
    if (negative) pos++;
    const start = pos;
    let value = 0;
    let point = -1;
    let byte = 0;
    for (; pos < end; pos++) {
      byte = src[pos]!;
      if (byte >= DIGIT_0 && byte <= DIGIT_9) value = value * 10 + (byte - DIGIT_0);
      else if (byte === DOT && point < 0) point = pos;
      else break;
    }
    if (byte === LOWER_E || byte === UPPER_E || pos === end) return Number.NaN;
    const whole = (point < 0 ? pos : point) - start;
    const decimals = point < 0 ? 0 : pos - point - 1;
    if (whole === 0 || (decimals === 0) !== point < 0 || (src[start] === DIGIT_0 && whole > 1)) return Number.NaN;
    if (whole + decimals > EXACT_DIGITS) value = Number(src.toString("latin1", start, pos));
    else if (decimals > 0) value /= POWERS[decimals]!; // exact operands make it correctly rounded
    this.pos = pos;
    return negative ? -value : value;
  }

  /** Takes the number at the cursor into `decimal`, in quotes or not. False when it is in quotes and none. */
  number(expected: string): boolean {
    const first = this.src[this.pos]!;
    if (first === QUOTE) {
      this.readText(expected);
      return this.decimal.scan(this.text, this.textStart, this.textEnd) === this.textEnd;
    }
    if (first !== MINUS && !(first >= DIGIT_0 && first <= DIGIT_9)) throw this.unexpected(expected);
    const end = this.decimal.scan(this.src, this.pos, this.end);
    if (end < 0) throw this.malformed("a number as JSON writes it");
    this.pos = end;
    return true;
  }

  /** A string, to the wire with its length in front. */
  string(w: WireWriter): void {
    if (this.src[this.pos] !== QUOTE) throw this.unexpected("a string");
    const start = this.pos + 1;
    const end = this.#endOfPlain(start);
    if (this.src[end] === QUOTE) {
      w.copy(this.src, this.#words, start, end);
      this.pos = end + 1;
      return;
    }
    const stop = this.#endOfString(end);
    w.ensure(stop - start + 5);
    const content = w.open(1);
    w.pos = this.#unescape(start, stop, w.bytes, w.pos);
    w.close(content, 1);
    this.pos = stop + 1;
  }

  /**
   * A string whose characters are to be looked at: `text` has them from `textStart` to `textEnd`. They are checked to be
   * UTF-8.
   */
  readText(expected: string): void {
    if (this.src[this.pos] !== QUOTE) throw this.unexpected(expected);
    const start = this.pos + 1;
    const end = this.#endOfPlain(start);
    this.text = this.src;
    this.textStart = start;
    this.textEnd = end;
    this.pos = end + 1;
    if (this.src[end] === QUOTE) return;
    const stop = this.#endOfString(end);
    this.text = Buffer.allocUnsafe(stop - start);
    this.textStart = 0;
    this.textEnd = this.#unescape(start, stop, this.text, 0);
    this.pos = stop + 1;
  }

  /** The offset of the first byte in a string that does not stand for itself. */
  #endOfPlain(pos: number): number {
    const { src, end } = this;
    const words = this.#words;
    const lastWord = this.#endOfWords - 4;
    for (;;) {
      const care = this.#isUtf8 ? NO_CARE_BEYOND_ASCII : CARE_BEYOND_ASCII;
      while (pos <= lastWord && !needsCare(words.getInt32(pos, true), care)) pos += 4;
      while (pos < end && PLAIN[src[pos]!] === 1) pos++;
      if (pos === end || src[pos]! < NOT_ASCII) return pos;
      if (this.#isUtf8) while (pos < end && src[pos]! >= NOT_ASCII) pos++;
      else this.checkUtf8();
    }
  }

  /** The offset of the closing quote of the string that `pos` is in. */
  #endOfString(pos: number): number {
    const { src, end } = this;
    for (;;) {
      pos = this.#endOfPlain(pos);
      if (pos >= end) throw this.#illFormed(end, "a string is not closed");
      if (src[pos] === QUOTE) return pos;
      if (src[pos] !== BACKSLASH) throw this.#illFormed(pos, "a string has a control character that is not escaped");
      pos = Math.min(pos + 2, end);
    }
  }

  #unescape(start: number, end: number, target: Uint8Array, pos: number): number {
    const stop = decodeEscapes(this.src, start, end, target, pos);
    if (stop >= 0) return stop;
    if (stop === LONE_SURROGATE) throw this.#illFormed(start - 1, "a string has half of a surrogate pair");
    throw this.#illFormed(start - 1, "a string has an escape that JSON does not know");
  }

  /** What `readText` read, as a JavaScript string. */
  textString(): string {
    return this.text.toString("utf8", this.textStart, this.textEnd);
  }

  /** Checks that all of the text is UTF-8. Sequences cannot reach over the quotes of a string. */
  checkUtf8(): void {
    if (!isUtf8(this.src)) throw this.#illFormed(this.#invalidUtf8(), "the text is not valid UTF-8");
    this.#isUtf8 = true;
  }

  /** The offset of the first byte that is not UTF-8: where a decoder puts a U+FFFD that the text does not have. */
  #invalidUtf8(): number {
    const { src } = this;
    const text = src.toString("utf8");
    let offset = 0;
    for (let start = 0; ; ) {
      const at = text.indexOf("\ufffd", start);
      offset += Buffer.byteLength(text.slice(start, at));
      if (src[offset] !== 0xef || src[offset + 1] !== 0xbf || src[offset + 2] !== 0xbd) return offset;
      offset += 3;
      start = at + 1;
    }
  }

  #illFormed(offset: number, reason: string): Error {
    return illFormed(this.src, offset, reason);
  }

  /** Steps over a value of any kind, looking only at what tells where it ends. Someone else reads it properly. */
  skip(): void {
    const { src, end } = this;
    let open = 0;
    do {
      const byte = this.peek();
      if (byte === QUOTE) this.pos = this.#endOfString(this.pos + 1) + 1;
      else if (byte === BRACE_OPEN || byte === BRACKET_OPEN) {
        open++;
        this.pos++;
      } else if (byte === BRACE_CLOSE || byte === BRACKET_CLOSE) {
        open--;
        this.pos++;
      } else if (byte === COMMA || byte === COLON) {
        if (open === 0) throw this.malformed("a value");
        this.pos++;
      } else {
        if (byte < 0) throw this.malformed("a value");
        while (this.pos < end && !ENDS_TOKEN[src[this.pos]!]) this.pos++;
      }
    } while (open > 0);
  }

  /** A value that does not fit, at `offset`: by default here. */
  unexpected(expected: string, offset = this.pos): Error {
    const byte = this.src[offset];
    // What no JSON value starts with is malformed, whatever was expected.
    if (byte === undefined || !STARTS_VALUE[byte]) return malformed(this.src, offset, "a value");
    return unexpected(this.src, offset, expected);
  }

  malformed(expected: string): Error {
    return malformed(this.src, this.pos, expected);
  }

  refused(reason: string, offset: number, member?: string): Error {
    return refused(this.src, offset, reason, member);
  }
}

const STARTS_VALUE = tableOf('{["-0123456789tfn');
const ENDS_TOKEN = tableOf(' \t\r\n,:{}[]"');

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}
