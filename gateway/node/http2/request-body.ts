/**
 * The part of a request's body that has arrived over HTTP/2 and that the handler has not taken yet.
 * Frames are copied, because the connection reuses the memory that it reads into. Small frames are
 * copied into one chunk, so that a body of many frames needs no more memory than its bytes.
 */
import { MAX_FRAME_SIZE } from "../../../src/http2/frames.js";

/** Approximate memory of a chunk besides its bytes. */
const CHUNK_OVERHEAD = 128;

export class Http2RequestBody {
  /** Bytes that have come, including bytes that were taken. */
  size = 0;
  /** Bytes of memory in use. */
  held = 0;
  #chunks: Buffer[] = [];
  /** Bytes of the last chunk that are filled. */
  #filled = 0;

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  /**
   * Adds the bytes of a buffer from `start` to `end`.
   * @param expected bytes that are still to come, including these, where that is known
   * @param tryReserve reserves further bytes of memory
   * @returns false where there is no memory: the bytes were not added
   */
  push(buffer: Buffer, start: number, end: number, expected: number, tryReserve: (bytes: number) => boolean): boolean {
    const last = this.#chunks.at(-1);
    let from = start;
    if (last !== undefined) {
      from += buffer.copy(last, this.#filled, start, end);
      this.#filled += from - start;
    }
    this.size += end - start;
    if (from === end) return true;
    const capacity = Math.max(end - from, Math.min(expected, MAX_FRAME_SIZE));
    if (!tryReserve(capacity + CHUNK_OVERHEAD)) return false;
    this.held += capacity + CHUNK_OVERHEAD;
    this.#cut();
    const chunk = Buffer.allocUnsafe(capacity);
    this.#chunks.push(chunk);
    this.#filled = buffer.copy(chunk, 0, from, end);
    return true;
  }

  /**
   * The chunks. From now on they belong to the caller. Their memory counts as used until `release`.
   */
  take(): readonly Buffer[] {
    this.#cut();
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#filled = 0;
    return chunks;
  }

  /**
   * The caller no longer uses the chunks that it has taken. Chunks that were not taken are dropped.
   */
  release(): void {
    this.#chunks = [];
    this.#filled = 0;
    this.held = 0;
  }

  /** Shortens the last chunk to its filled part. */
  #cut(): void {
    const last = this.#chunks.at(-1);
    if (last !== undefined && this.#filled < last.length) {
      this.#chunks[this.#chunks.length - 1] = last.subarray(0, this.#filled);
    }
  }
}
