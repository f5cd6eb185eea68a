/** Collects copies of bytes, in an array of the size that is expected for all of them. */
import { Buffer } from "node:buffer";

const NOTHING = Buffer.alloc(0);

export class GatheredBytes {
  #expected = 0;
  #length = 0;
  /** Full arrays, then the last one; and the number of bytes used in the last one. */
  #chunks: Buffer[] = [];
  #last = NOTHING;
  #used = 0;

  /**
   * Starts again.
   * @param expected the probable number of bytes
   */
  begin(expected: number): void {
    this.#expected = expected;
    this.#length = 0;
  }

  /** Drops the bytes. */
  clear(): void {
    if (this.#chunks.length > 0) this.#chunks = [];
    this.#last = NOTHING;
    this.#used = 0;
  }

  /**
   * Adds a copy of the bytes from `start` to `end`. A full array is not enlarged, because that
   * would copy its bytes again.
   */
  add(source: Buffer, start: number, end: number): void {
    const copied = source.copy(this.#last, this.#used, start, end);
    this.#used += copied;
    if (start + copied < end) {
      if (this.#used > 0) this.#chunks.push(this.#last);
      const size = Math.max(end - start - copied, this.#length, this.#expected - this.#length);
      this.#last = Buffer.allocUnsafeSlow(size);
      this.#used = source.copy(this.#last, 0, start + copied, end);
    }
    this.#length += end - start;
  }

  /** All bytes. */
  finish(): Buffer {
    const last = this.#last.subarray(0, this.#used);
    return this.#chunks.length === 0 ? last : Buffer.concat([...this.#chunks, last]);
  }
}
