/**
 * Walks over JSON text (RFC 8259) in UTF-8, byte by byte, for readers that know what they want next. Stricter than
 * `JSON.parse`: strings must be whole Unicode text, so neither invalid UTF-8 nor half of a surrogate pair passes.
 *
 * A scanner is used for one text at a time, again and again. Its cursor is `pos`; what a reader is to read begins
 * there, white space skipped, and a reader leaves it right after what it took.
 */
import { Buffer, isUtf8 } from "node:buffer";
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
import { Decimal } from "./decimal.js";
import { illFormed, malformed, refused, unexpected } from "./fault.js";
import type { WireWriter } from "./wire-writer.js";

const MAX_DEPTH = 64;

/** What `smallInteger` says when it found none: more than nine digits make. */
export const NOT_SMALL = 0x7fffffff;

const NOTHING = new Uint8Array(0);

/** The bytes that stand for themselves in a string: ASCII only, and with all that is beyond ASCII. */
const PLAIN_ASCII = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= SPACE && byte < NOT_ASCII && byte !== QUOTE && byte !== BACKSLASH),
);
const PLAIN = PLAIN_ASCII.map((plain, byte) => (byte >= NOT_ASCII ? 1 : plain));

export class Scanner {
  src: Uint8Array = NOTHING;
  pos = 0;
  end = 0;
  depth = 0;
  /** Where `@type` stands in the object that is read for an Any, and is no field; -1 when there is none. */
  typeAt = -1;
  /** Which fields of the objects that are open were seen: a stack of bit sets, see `claim`. */
  seen = new Int32Array(64);
  #seenTop = 0;

  /** The number that `number` took in. */
  readonly decimal = new Decimal();

  /** What `readText` read: where its characters are. */
  text: Uint8Array = NOTHING;
  textStart = 0;
  textEnd = 0;

  /** PLAIN once the whole text is known to be UTF-8, which is only looked at when there is something beyond ASCII. */
  #plain = PLAIN_ASCII;

  begin(src: Uint8Array): void {
    this.src = src;
    this.pos = 0;
    this.end = src.length;
    this.depth = 0;
    this.typeAt = -1;
    this.#seenTop = 0;
    this.#plain = PLAIN_ASCII;
  }

  /** Lets go of the text. */
  finish(): void {
    this.src = NOTHING;
    this.text = NOTHING;
  }

  /** Skips white space. The byte that follows, or -1 at the end. */
  peek(): number {
    const { src, end } = this;
    let pos = this.pos;
    while (pos < end) {
      const byte = src[pos]!;
      if (byte > SPACE || (byte !== SPACE && byte !== LINE_FEED && byte !== CARRIAGE_RETURN && byte !== TAB)) {
        this.pos = pos;
        return byte;
      }
      pos++;
    }
    this.pos = pos;
    return -1;
  }

  /** Steps over the colon after a member's name. The first byte of the value. */
  colon(): number {
    if (this.src[this.pos] !== COLON && this.peek() !== COLON) throw this.malformed('":"');
    this.pos++;
    return this.peek();
  }

  /** Steps over `word`, if the text goes on with it. */
  takes(word: Uint8Array): boolean {
    const { src, pos } = this;
    const length = word.length;
    if (pos + length > this.end) return false;
    for (let at = 0; at < length; at++) if (src[pos + at] !== word[at]) return false;
    this.pos = pos + length;
    return true;
  }

  /** Steps over `word`, which is all there may be where its first byte is. */
  literal(word: Uint8Array): void {
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

  /** A bit set of `words` × 32 bits in `seen`, empty, until it is given back to `release`. The result is where it begins. */
  claim(words: number): number {
    const start = this.#seenTop;
    this.#seenTop = start + words;
    if (this.#seenTop > this.seen.length) {
      const larger = new Int32Array(this.#seenTop * 2);
      larger.set(this.seen);
      this.seen = larger;
    }
    for (let word = start; word < start + words; word++) this.seen[word] = 0;
    return start;
  }

  release(start: number): void {
    this.#seenTop = start;
  }

  /** Adds a bit to a set. False when it was in it. */
  mark(start: number, bit: number): boolean {
    const word = start + (bit >> 5);
    const before = this.seen[word]!;
    const after = before | (1 << (bit & 31));
    this.seen[word] = after;
    return after !== before;
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
    const { src, end } = this;
    if (src[this.pos] !== QUOTE) throw this.unexpected("a string");
    const start = this.pos + 1;
    let plain = this.#plain;
    let pos = start;
    for (;;) {
      while (pos < end && plain[src[pos]!] === 1) pos++;
      const byte = pos < end ? src[pos]! : -1;
      if (byte === QUOTE) {
        w.lengthAndBytes(src, start, pos);
        this.pos = pos + 1;
        return;
      }
      if (byte === BACKSLASH) {
        const text = this.#unescaped();
        w.lengthAndBytes(text, 0, text.length);
        return;
      }
      if (byte < NOT_ASCII) throw this.#badCharacter(pos);
      this.checkUtf8();
      plain = this.#plain;
    }
  }

  /**
   * A string whose characters are to be looked at: `text` has them from `textStart` to `textEnd`. The bytes are not
   * checked to be UTF-8.
   */
  readText(expected: string): void {
    const { src, end } = this;
    if (src[this.pos] !== QUOTE) throw this.unexpected(expected);
    const start = this.pos + 1;
    let pos = start;
    while (pos < end && PLAIN[src[pos]!] === 1) pos++;
    if (src[pos] === QUOTE) {
      this.text = src;
      this.textStart = start;
      this.textEnd = pos;
      this.pos = pos + 1;
      return;
    }
    if (src[pos] !== BACKSLASH) throw this.#badCharacter(pos);
    this.text = this.#unescaped();
    this.textStart = 0;
    this.textEnd = this.text.length;
  }

  /** What `readText` read, as a JavaScript string. */
  textString(): string {
    this.checkUtf8();
    return Buffer.from(this.text.buffer, this.text.byteOffset, this.text.byteLength).toString(
      "utf8",
      this.textStart,
      this.textEnd,
    );
  }

  /** Checks, once, that all of the text is UTF-8. Sequences cannot reach over the quotes of a string. */
  checkUtf8(): void {
    if (this.#plain === PLAIN) return;
    if (!isUtf8(this.src)) throw illFormed(this.src, this.#invalidUtf8(), "the text is not valid UTF-8");
    this.#plain = PLAIN;
  }

  /** The offset of the first byte that is not UTF-8: where a decoder puts a U+FFFD that the text does not have. */
  #invalidUtf8(): number {
    const { src } = this;
    const text = Buffer.from(src.buffer, src.byteOffset, src.byteLength).toString("utf8");
    let offset = 0;
    for (let start = 0; ; ) {
      const at = text.indexOf("\ufffd", start);
      offset += Buffer.byteLength(text.slice(start, at));
      if (src[offset] !== 0xef || src[offset + 1] !== 0xbf || src[offset + 2] !== 0xbd) return offset;
      offset += 3;
      start = at + 1;
    }
  }

  /** A string with escapes, from its opening quote on. */
  #unescaped(): Uint8Array {
    const start = this.pos;
    const end = this.#stringEnd();
    this.checkUtf8();
    const literal = Buffer.from(this.src.buffer, this.src.byteOffset + start, end - start).toString("utf8");
    let text: string;
    try {
      text = JSON.parse(literal);
    } catch {
      throw illFormed(this.src, start, "a string has an escape that JSON does not know, or a control character");
    }
    if (!text.isWellFormed()) throw illFormed(this.src, start, "a string has half of a surrogate pair");
    this.pos = end;
    return Buffer.from(text, "utf8");
  }

  /** The offset after the closing quote of the string at `pos`. */
  #stringEnd(): number {
    const { src, end } = this;
    for (let pos = this.pos + 1; pos < end; pos++) {
      if (src[pos] === QUOTE) return pos + 1;
      if (src[pos] === BACKSLASH) pos++;
    }
    throw this.#badCharacter(end);
  }

  #badCharacter(pos: number): Error {
    const reason = pos >= this.end ? "a string is not closed" : "a string has a control character that is not escaped";
    return illFormed(this.src, pos, reason);
  }

  /** Steps over a value of any kind, looking only at what tells where it ends. Someone else reads it properly. */
  skip(): void {
    const { src, end } = this;
    let open = 0;
    do {
      const byte = this.peek();
      if (byte === QUOTE) this.pos = this.#stringEnd();
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
