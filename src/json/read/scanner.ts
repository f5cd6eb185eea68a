/**
 * Scans JSON text (RFC 8259) in UTF-8 for readers that know what to expect next. It is stricter
 * than `JSON.parse`: it rejects invalid UTF-8 and half of a surrogate pair.
 *
 * One scanner scans many texts, one after another. Its cursor is `pos`. A reader starts with the
 * cursor at a value's first byte, after white space, and leaves it after the value's last byte.
 */
import { Buffer, isAscii, isUtf8 } from "node:buffer";
import type { DescMessage } from "@bufbuild/protobuf";
import { asBuffer } from "../../wire/buffer.js";
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
  hasSpecial,
  LINE_FEED,
  type Literal,
  LOWER_E,
  MINUS,
  NO_WORDS,
  NON_ASCII_IS_PLAIN,
  NON_ASCII_IS_SPECIAL,
  NOT_ASCII,
  PLAIN,
  QUOTE,
  SPACE,
  skipNoControls,
  TAB,
  UPPER_E,
  wordsOf,
} from "../bytes.js";
import { NextByte } from "../next-byte.js";
import { BitSets } from "../sets.js";
import { Decimal, EXACT_DIGITS, POWERS } from "./decimal.js";
import { illFormed, invalidUtf8, malformed, refused, unexpected } from "./errors.js";
import { decodeEscapes, LONE_SURROGATE } from "./escapes.js";
import type { WireWriter } from "./wire-writer.js";

const MAX_DEPTH = 64;

/** After this many plain bytes of a string, native code searches the rest faster. */
const NEAR = 256;

/** What `smallInteger` returns when it found none. Larger than any number of nine digits. */
export const NOT_SMALL = 0x7fffffff;

const NOTHING = Buffer.alloc(0);

export class Scanner {
  src: Buffer = NOTHING;
  pos = 0;
  end = 0;
  depth = 0;
  /** While an Any is read: the offset of its member `@type`, which is not a field. Otherwise -1. */
  typeAt = -1;
  /** While the value of a secret field is read: the offset of this value. Otherwise -1. */
  secretAt = -1;
  #type: DescMessage | undefined;
  /** For each object that is being read: the fields that were seen. */
  readonly seen = new BitSets();

  readonly decimal = new Decimal();

  /** The bytes that contain the text that `readText` read. */
  text: Buffer = NOTHING;
  textStart = 0;
  textEnd = 0;

  /** A view of `src` as words, and the end of the last full word. */
  #words = NO_WORDS;
  #endOfWords = 0;
  /** Whether the text is known to be UTF-8: checked at its first non-ASCII byte or long string. */
  #isUtf8 = false;
  #isAscii = false;
  #utf8Checked = false;
  readonly #quotes = new NextByte(QUOTE);
  readonly #backslashes = new NextByte(BACKSLASH);

  begin(text: Uint8Array, type?: DescMessage): void {
    const src = asBuffer(text);
    this.src = src;
    this.#type = type;
    this.secretAt = -1;
    this.pos = 0;
    this.end = src.length;
    this.depth = 0;
    this.typeAt = -1;
    this.seen.clear();
    this.#words = wordsOf(src);
    this.#endOfWords = this.#words.byteLength;
    this.#isUtf8 = false;
    this.#isAscii = false;
    this.#utf8Checked = false;
    this.#quotes.begin();
    this.#backslashes.begin();
  }

  /** Drops the reference to the text. */
  finish(): void {
    this.src = NOTHING;
    this.text = NOTHING;
    this.#words = NO_WORDS;
  }

  /** Skips white space, and returns the byte that follows, or -1 at the end. */
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

  /** Skips the colon after a member's name, and returns the first byte of the value. */
  colon(): number {
    if (this.src[this.pos] !== COLON && this.peek() !== COLON) throw this.malformed('":"');
    this.pos++;
    return this.peek();
  }

  /** Skips `literal` if the text continues with it. Returns whether it does. */
  takes(literal: Literal): boolean {
    const { pos } = this;
    const { length, bytes } = literal;
    if (pos + length > this.end) return false;
    let at = 0;
    if (pos + length <= this.#endOfWords) {
      const { words } = literal;
      for (let word = 0; word < words.length; word++) {
        if (this.#words.getInt32(pos + at, true) !== words[word]) return false;
        at += 4;
      }
    }
    for (; at < length; at++) if (this.src[pos + at] !== bytes[at]) return false;
    this.pos = pos + length;
    return true;
  }

  /** Skips `word` (true, false or null). The caller has seen its first byte. */
  literal(word: Literal): void {
    if (!this.takes(word)) throw this.malformed("a value");
  }

  enter(): void {
    if (++this.depth > MAX_DEPTH) throw this.refused(`nested more than ${MAX_DEPTH} levels deep`, this.pos);
    this.pos++;
  }

  /** Moves to the next member or element (true), or out of the object or array (false). */
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

  /** Like `next`, for the first member or element. */
  first(close: typeof BRACE_CLOSE | typeof BRACKET_CLOSE): boolean {
    this.enter();
    if (this.peek() !== close) return true;
    this.pos++;
    this.depth--;
    return false;
  }

  /**
   * An integer of at most nine digits, unquoted: the frequent case. Otherwise NOT_SMALL, unread.
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
    // A leading zero is malformed, and minus zero is not an integer. The slow path handles both.
    if (src[start] === DIGIT_0 && (negative || pos - start > 1)) return NOT_SMALL;
    this.pos = pos;
    return negative ? -value : value;
  }

  /** A number without exponent, unquoted: the frequent case. Otherwise NaN, and nothing is read. */
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
    else if (decimals > 0) value /= POWERS[decimals]!; // exact operands: correctly rounded
    this.pos = pos;
    return negative ? -value : value;
  }

  /** Parses the number at the cursor, in quotes or not, into `decimal`. False for other strings. */
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

  /** Reads a string, and writes it after its length. */
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

  /** Reads a string: its UTF-8 is checked, and is in `text` from `textStart` to `textEnd`. */
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

  /** The offset of the first special byte in a string. */
  #endOfPlain(pos: number): number {
    const { src, end } = this;
    const words = this.#words;
    const lastWord = this.#endOfWords - 4;
    let near = Math.min(pos + NEAR, lastWord);
    for (;;) {
      const care = this.#isUtf8 ? NON_ASCII_IS_PLAIN : NON_ASCII_IS_SPECIAL;
      while (pos <= near && !hasSpecial(words.getInt32(pos, true), care)) pos += 4;
      if (pos > near && near < lastWord) {
        pos = this.#skipPlain(pos);
        near = lastWord;
        continue;
      }
      while (pos < end && PLAIN[src[pos]!] === 1) pos++;
      if (pos === end || src[pos]! < NOT_ASCII) return pos;
      if (this.#isUtf8) while (pos < end && src[pos]! >= NOT_ASCII) pos++;
      else this.checkUtf8();
    }
  }

  /** Skips most of the plain bytes of a long string. It skips none if the text is not UTF-8. */
  #skipPlain(pos: number): number {
    const { src } = this;
    if (!this.#utf8Checked) {
      this.#utf8Checked = true;
      this.#isAscii = isAscii(src);
      this.#isUtf8 = this.#isAscii || isUtf8(src);
    }
    if (!this.#isUtf8) return pos;
    const end = Math.min(this.#quotes.find(src, pos), this.#backslashes.find(src, pos));
    return skipNoControls(this.#words, pos, end, this.#isAscii);
  }

  /** The offset of the closing quote of the string that contains `pos`. */
  #endOfString(pos: number): number {
    const { src, end } = this;
    for (;;) {
      pos = this.#endOfPlain(pos);
      if (pos >= end) throw illFormed(this.src, end, "a string is not closed");
      if (src[pos] === QUOTE) return pos;
      if (src[pos] !== BACKSLASH)
        throw illFormed(this.src, pos, "a string has a control character that is not escaped");
      pos = Math.min(pos + 2, end);
    }
  }

  #unescape(start: number, end: number, target: Uint8Array, pos: number): number {
    const stop = decodeEscapes(this.src, start, end, target, pos);
    if (stop >= 0) return stop;
    if (stop === LONE_SURROGATE) throw illFormed(this.src, start - 1, "a string has half of a surrogate pair");
    throw illFormed(this.src, start - 1, "a string has an escape that JSON does not know");
  }

  /** The text that `readText` read, as a JavaScript string. */
  textString(): string {
    return this.text.toString("utf8", this.textStart, this.textEnd);
  }

  /** Checks that the whole text is UTF-8. Then no sequence can extend over a string's quotes. */
  checkUtf8(): void {
    if (!isUtf8(this.src)) throw illFormed(this.src, invalidUtf8(this.src), "the text is not valid UTF-8");
    this.#isUtf8 = true;
  }

  /** Skips a value: finds only its end. The value is validated later, when it is read. */
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

  /** The error for a value that does not fit. `offset` is the cursor by default. */
  unexpected(expected: string, offset = this.pos): Error {
    const byte = this.src[offset];
    // A byte that cannot start a JSON value is malformed, whatever was expected.
    if (byte === undefined || !STARTS_VALUE[byte]) return this.malformed("a value", offset);
    return unexpected(this.src, offset, expected, this.secretAt);
  }

  malformed(expected: string, offset = this.pos): Error {
    return malformed(this.src, offset, expected, this.secretAt, this.#type);
  }

  refused(reason: string, offset: number, member?: string): Error {
    // The path to a value within a secret would reveal the keys of its maps.
    return this.secretAt < 0 ? refused(this.src, offset, reason, member) : refused(this.src, this.secretAt, reason);
  }
}

const STARTS_VALUE = tableOf('{["-0123456789tfn');
const ENDS_TOKEN = tableOf(' \t\r\n,:{}[]"');

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}
