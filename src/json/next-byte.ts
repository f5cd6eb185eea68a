/**
 * Finds a byte in a text by native code, for a reader that mostly moves forwards. It never searches
 * the same part of the text twice.
 */
import type { Buffer } from "node:buffer";

export class NextByte {
  readonly #byte: number;
  /** The last search began at `#from`, and found the byte at `#at`. */
  #from = 0;
  #at = -1;

  constructor(byte: number) {
    this.#byte = byte;
  }

  /** Starts a text. */
  begin(): void {
    this.#from = 0;
    this.#at = -1;
  }

  /** The offset of the first such byte from `pos` on, or the text's length if there is none. */
  find(text: Buffer, pos: number): number {
    if (pos < this.#from || pos > this.#at) {
      const at = text.indexOf(this.#byte, pos);
      this.#from = pos;
      this.#at = at < 0 ? text.length : at;
    }
    return this.#at;
  }
}
