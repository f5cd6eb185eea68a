/** A header block that comes in several frames: HEADERS, then CONTINUATION (RFC 9113, sections 4.3 and 6.10). */
import type { ConnectionMemory } from "../memory/memory-budget.js";
import { ConnectionError, ErrorCode } from "./errors.js";

/**
 * Maximum bytes of a header block. A block whose list is larger than allowed is read to its end, because later blocks rely
 * on the table that it changes, and its stream is refused; a block that is larger than this ends the connection.
 */
const MAX_BLOCK = 1024 * 1024;

/** Maximum CONTINUATION frames of a block, and one more for each of these bytes: small frames are a flood. */
const MAX_CONTINUATIONS = 16;
const CONTINUATION_BYTES = 4_096;

export class HeaderBlock {
  readonly streamId: number;
  /** The HEADERS frame had END_STREAM. */
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
   * Adds the fragment of a frame, as a copy.
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

  /** The complete block, once its last frame has been added. */
  finish(): Buffer {
    this.#memory.release(this.#bytes);
    return Buffer.concat(this.#fragments, this.#bytes);
  }
}
