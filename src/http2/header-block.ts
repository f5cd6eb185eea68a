/**
 * A header block in several frames: HEADERS, then CONTINUATION (RFC 9113, sections 4.3 and 6.10).
 */
import type { ConnectionMemory } from "../memory/memory-budget.js";
import { ConnectionError, ErrorCode } from "./errors.js";

/**
 * Maximum bytes of a header block. A larger block ends the connection. A smaller one with a header
 * list that is too large is read to its end, because later blocks depend on its changes to the
 * table; then its stream is refused.
 */
const MAX_BLOCK = 1024 * 1024;

/**
 * A block may have MAX_CONTINUATIONS CONTINUATION frames, and one more for each CONTINUATION_BYTES:
 * many small frames are a flood.
 */
const MAX_CONTINUATIONS = 16;
const CONTINUATION_BYTES = 4_096;

export class HeaderBlock {
  readonly streamId: number;
  /** Whether the HEADERS frame had END_STREAM. */
  readonly endStream: boolean;
  readonly #memory: ConnectionMemory;
  readonly #fragments: Buffer[] = [];
  #bytes = 0;

  constructor(streamId: number, endStream: boolean, memory: ConnectionMemory) {
    this.streamId = streamId;
    this.endStream = endStream;
    this.#memory = memory;
  }

  /**
   * Adds a copy of a frame's fragment.
   * @throws {ConnectionError} ENHANCE_YOUR_CALM
   */
  add(buffer: Buffer, start: number, end: number): void {
    const size = end - start;
    const tooMany = this.#fragments.length > MAX_CONTINUATIONS + this.#bytes / CONTINUATION_BYTES;
    if (tooMany || this.#bytes + size > MAX_BLOCK || !this.#memory.tryReserve(size)) {
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "a header block is too large");
    }
    this.#bytes += size;
    this.#fragments.push(Buffer.from(buffer.subarray(start, end)));
  }

  /** Returns the complete block, after its last frame was added. */
  finish(): Buffer {
    this.#memory.release(this.#bytes);
    return Buffer.concat(this.#fragments, this.#bytes);
  }
}
