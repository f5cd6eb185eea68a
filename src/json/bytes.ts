/**
 * JSON text as bytes: names of ASCII bytes, and 32-bit words. Text is searched, compared and copied
 * four bytes at a time (docs/performance.md, "JSON"). Loops over single bytes handle special
 * characters and the bytes after the last full word.
 */
import { Buffer } from "node:buffer";

export const TAB = 0x09;
export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const DOT = 0x2e;
export const DIGIT_0 = 0x30;
export const DIGIT_9 = 0x39;
export const COLON = 0x3a;
export const UPPER_E = 0x45;
export const UPPER_T = 0x54;
export const UPPER_Z = 0x5a;
export const BRACKET_OPEN = 0x5b;
export const BACKSLASH = 0x5c;
export const BRACKET_CLOSE = 0x5d;
export const LOWER_E = 0x65;
export const LOWER_F = 0x66;
export const LOWER_N = 0x6e;
export const LOWER_S = 0x73;
export const LOWER_T = 0x74;
export const LOWER_U = 0x75;
export const BRACE_OPEN = 0x7b;
export const BRACE_CLOSE = 0x7d;

/** Bytes with this value or a higher one are not ASCII: they are parts of UTF-8 sequences. */
export const NOT_ASCII = 0x80;

/**
 * For each byte: 1 when a JSON string may contain it unescaped, 0 for a special byte and for a byte
 * that is not ASCII.
 */
export const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= SPACE && byte < NOT_ASCII && byte !== QUOTE && byte !== BACKSLASH),
);

/** For each byte: its escape in a string (RFC 8259 §7), or undefined when it needs none. */
export const ESCAPES: readonly (Uint8Array | undefined)[] = Array.from({ length: 128 }, (_, byte) => {
  const escaped = JSON.stringify(String.fromCharCode(byte)).slice(1, -1);
  return escaped.length > 1 ? Buffer.from(escaped) : undefined;
});

/** Argument of `hasSpecial`: bytes that are not ASCII are special too. */
export const NON_ASCII_IS_SPECIAL = 0x80808080 | 0;
export const NON_ASCII_IS_PLAIN = 0;

/**
 * Whether one of four bytes is a quote, a backslash, a control character or, if wanted, not ASCII.
 * The result for the word is exact. Within the word, bytes after a special one may seem special too
 * (https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord, #HasLessInWord).
 */
export function hasSpecial(word: number, nonAscii: number): boolean {
  const control = word - 0x20202020;
  const quote = (word ^ 0x22222222) - 0x01010101;
  const backslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return ((((control | quote | backslash) & ~word) | (word & nonAscii)) & 0x80808080) !== 0;
}

/**
 * Skips bytes that are not control characters. Stops less than 64 bytes before the first control
 * character, or before `end`.
 * @param words a view of all bytes
 * @param ascii whether all bytes up to `end` are ASCII: then the search takes two thirds of the
 * time
 */
export function skipNoControls(words: DataView, pos: number, end: number, ascii: boolean): number {
  return ascii ? skipPrintable(words, pos, end) : skipInUtf8(words, pos, end);
}

/**
 * ASCII is below 0x80. So adding 0x60 sets the highest bit of each byte from 0x20 on, and carries
 * into no other byte.
 */
function skipPrintable(words: DataView, pos: number, end: number): number {
  for (; pos + 64 <= end; pos += 64) {
    const high =
      (words.getInt32(pos, true) + 0x60606060) &
      (words.getInt32(pos + 4, true) + 0x60606060) &
      (words.getInt32(pos + 8, true) + 0x60606060) &
      (words.getInt32(pos + 12, true) + 0x60606060) &
      (words.getInt32(pos + 16, true) + 0x60606060) &
      (words.getInt32(pos + 20, true) + 0x60606060) &
      (words.getInt32(pos + 24, true) + 0x60606060) &
      (words.getInt32(pos + 28, true) + 0x60606060) &
      (words.getInt32(pos + 32, true) + 0x60606060) &
      (words.getInt32(pos + 36, true) + 0x60606060) &
      (words.getInt32(pos + 40, true) + 0x60606060) &
      (words.getInt32(pos + 44, true) + 0x60606060) &
      (words.getInt32(pos + 48, true) + 0x60606060) &
      (words.getInt32(pos + 52, true) + 0x60606060) &
      (words.getInt32(pos + 56, true) + 0x60606060) &
      (words.getInt32(pos + 60, true) + 0x60606060);
    if ((high & 0x80808080) !== (0x80808080 | 0)) break;
  }
  return pos;
}

function skipInUtf8(words: DataView, pos: number, end: number): number {
  for (; pos + 32 <= end; pos += 32) {
    const first =
      controls(words, pos) | controls(words, pos + 4) | controls(words, pos + 8) | controls(words, pos + 12);
    const last =
      controls(words, pos + 16) | controls(words, pos + 20) | controls(words, pos + 24) | controls(words, pos + 28);
    if (((first | last) & 0x80808080) !== 0) break;
  }
  return pos;
}

/**
 * A word in which the highest bit of each byte that is a control character is set (#HasLessInWord).
 */
function controls(words: DataView, pos: number): number {
  const word = words.getInt32(pos, true);
  return (word - 0x20202020) & ~word;
}

/** Shorter arrays are read byte by byte: making a DataView would cost more than it saves. */
const MIN_VIEW_BYTES = 64;
export const NO_WORDS: DataView = new DataView(new ArrayBuffer(0));

/** A view of `bytes` by words; empty when the array is short. */
export function wordsOf(bytes: Uint8Array): DataView {
  return bytes.length < MIN_VIEW_BYTES ? NO_WORDS : new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A constant text as bytes and as words, for comparing and copying. */
export class Literal {
  readonly bytes: Uint8Array;
  readonly length: number;
  readonly isAscii: boolean;
  /** All full words; up to three bytes may follow them. */
  readonly words: Int32Array;

  constructor(text: string) {
    this.bytes = new TextEncoder().encode(text);
    this.length = this.bytes.length;
    this.isAscii = this.length === text.length;
    const view = new DataView(this.bytes.buffer);
    this.words = Int32Array.from({ length: this.length >> 2 }, (_, at) => view.getInt32(at * 4, true));
  }
}

/** The largest offset up to `at` that does not split a UTF-8 sequence. */
export function startOfCharacter(src: Uint8Array, at: number): number {
  for (let back = 0; back < 4; back++) if ((src[at - back]! & 0xc0) !== 0x80) return at - back;
  return at;
}

/** The two digits of each number from 0 to 99. */
export const PAIRS = Uint16Array.from(
  { length: 100 },
  (_, value) => DIGIT_0 + Math.floor(value / 10) + ((DIGIT_0 + (value % 10)) << 8),
);

/** The number of digits of a number from 10 to 10^9 - 1. */
export function countDigits(value: number): number {
  if (value < 10_000) return value < 100 ? 2 : value < 1000 ? 3 : 4;
  if (value < 1_000_000) return value < 100_000 ? 5 : 6;
  return value < 10_000_000 ? 7 : value < 100_000_000 ? 8 : 9;
}
