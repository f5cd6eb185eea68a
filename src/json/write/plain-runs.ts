/**
 * Finds the plain runs of a long string in UTF-8: the parts without quotes, backslashes and control
 * characters. JSON needs no escapes for them. Native code finds and copies them. Only control
 * characters are searched in JavaScript, because there is no native function for this.
 */
import { Buffer, isAscii, isUtf8 } from "node:buffer";
import { asBuffer } from "../../wire/buffer.js";
import { BACKSLASH, NO_WORDS, QUOTE, skipNoControls } from "../bytes.js";
import { NextByte } from "../next-byte.js";

/**
 * Maximum bytes of a run. A run is examined and then copied, so it should still be in the
 * processor's cache.
 */
const MAX_RUN = 32 * 1024;
const NOTHING = Buffer.alloc(0);

export class PlainRuns {
  /** The bytes that contain the string. */
  src: Uint8Array = NOTHING;
  #text: Buffer | undefined;
  #words = NO_WORDS;
  /** The offsets in `src` at which the string begins and ends. */
  start = 0;
  #end = 0;
  #isAscii: boolean | undefined;
  readonly #quotes = new NextByte(QUOTE);
  readonly #backslashes = new NextByte(BACKSLASH);

  /**
   * Starts the string from `start` to `end` of `src`.
   * @param words a view of all of `src` as words
   */
  begin(src: Uint8Array, words: DataView, start: number, end: number): void {
    this.src = src;
    this.#words = words;
    this.start = start;
    this.#end = end;
    this.#text = undefined;
    this.#isAscii = undefined;
  }

  /** Drops the string. */
  finish(): void {
    this.src = NOTHING;
    this.#words = NO_WORDS;
    this.#text = undefined;
  }

  /**
   * A view of only the string, for searching. It is made only when needed, because that takes time.
   */
  get text(): Buffer {
    if (this.#text === undefined) {
      this.#text = asBuffer(this.src).subarray(this.start, this.#end);
      this.#quotes.begin();
      this.#backslashes.begin();
    }
    return this.#text;
  }

  /** The end of the plain run that begins at `at`, or an offset less than 64 bytes before it. */
  endOfRun(at: number): number {
    const text = this.text;
    const from = at - this.start;
    const end = Math.min(this.#quotes.find(text, from), this.#backslashes.find(text, from), from + MAX_RUN);
    return skipNoControls(this.#words, at, this.start + end, this.isAscii);
  }

  /** Whether all of the string is ASCII. */
  get isAscii(): boolean {
    this.#isAscii ??= isAscii(this.text);
    return this.#isAscii;
  }

  /** @throws {Error} when the string is not UTF-8 */
  checkUtf8(): void {
    if (!this.isAscii && !isUtf8(this.text)) throw new Error("a string is not valid UTF-8");
  }

  /** Copies the bytes from `from` to `to`. */
  copy(from: number, to: number, target: Buffer, at: number): void {
    this.text.copy(target, at, from - this.start, to - this.start);
  }
}
