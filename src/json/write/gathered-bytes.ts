/** Bytes that are gathered from copies, in an array as large as the whole is expected to be. */
import { Buffer } from "node:buffer";

const NOTHING = Buffer.alloc(0);

export class GatheredBytes {
  #expected = 0;
  #length = 0;
  /** Full arrays, and the last one, with how much of it is used. */
  #chunks: Buffer[] = [];
  #last = NOTHING;
  #used = 0;

  /** Starts anew. @param expected bytes that there will probably be */
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

  /** Adds a copy of the bytes from `start` to `end`. A full array is not enlarged, which would be another copy. */
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
