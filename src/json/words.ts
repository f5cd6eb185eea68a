/**
 * Text is searched, compared and copied four bytes at a time, as 32-bit words, since most characters are not special
 * (see docs/performance.md, "JSON"). Loops over single bytes handle the rest: the bytes after the last full word, and
 * special characters.
 */

/** For `hasSpecial`: whether bytes that are not ASCII are special. */
export const NON_ASCII_IS_SPECIAL = 0x80808080 | 0;
export const NON_ASCII_IS_PLAIN = 0;

/**
 * Whether one of four bytes is a quote, a backslash, a control character or, if wanted, not ASCII. The answer is exact;
 * which of the bytes it is, is not: the bytes after a special one may seem special too.
 * (https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord, #HasLessInWord)
 */
export function hasSpecial(word: number, nonAscii: number): boolean {
  const control = word - 0x20202020;
  const quote = (word ^ 0x22222222) - 0x01010101;
  const backslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return ((((control | quote | backslash) & ~word) | (word & nonAscii)) & 0x80808080) !== 0;
}

/** Shorter arrays are read byte by byte: making a DataView would cost more than it saves. */
const MIN_VIEW_BYTES = 64;
export const NO_WORDS: DataView = new DataView(new ArrayBuffer(0));

/** A view of `bytes` by words; empty when the array is short. */
export function wordsOf(bytes: Uint8Array): DataView {
  return bytes.length < MIN_VIEW_BYTES ? NO_WORDS : new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A constant text as bytes and words, to compare with or to copy. */
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
