/**
 * Text is looked at, compared and copied four bytes at a time, as 32-bit words: most of it is characters that need no
 * care, and a byte at a time costs four times as much. What does not fill a word, and what needs care, is left to loops
 * over bytes.
 */

/** For `needsCare`: whether bytes beyond ASCII need care. */
export const CARE_BEYOND_ASCII = 0x80808080 | 0;
export const NO_CARE_BEYOND_ASCII = 0;

/**
 * Whether one of four bytes is a quote, a backslash or a control character, or beyond ASCII. After one that does, others
 * may be taken for such by mistake, never the other way round.
 * (https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord, #HasLessInWord)
 */
export function needsCare(word: number, beyondAscii: number): boolean {
  const control = word - 0x20202020;
  const quote = (word ^ 0x22222222) - 0x01010101;
  const backslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return ((((control | quote | backslash) & ~word) | (word & beyondAscii)) & 0x80808080) !== 0;
}

/** Shorter arrays are read a byte at a time: a view costs more than it saves. */
const WORTH_A_VIEW = 64;
export const NO_WORDS: DataView = new DataView(new ArrayBuffer(0));

/** The words of `bytes`; none, when it is short. */
export function wordsOf(bytes: Uint8Array): DataView {
  return bytes.length < WORTH_A_VIEW ? NO_WORDS : new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Bytes that are compared with others, or copied, again and again. */
export class Phrase {
  readonly bytes: Uint8Array;
  readonly length: number;
  readonly isAscii: boolean;
  /** As many whole words as there are. */
  readonly words: Int32Array;

  constructor(text: string) {
    this.bytes = new TextEncoder().encode(text);
    this.length = this.bytes.length;
    this.isAscii = this.length === text.length;
    const view = new DataView(this.bytes.buffer);
    this.words = Int32Array.from({ length: this.length >> 2 }, (_, at) => view.getInt32(at * 4, true));
  }
}
