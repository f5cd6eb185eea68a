/**
 * Writes the frames of a connection (RFC 9113, section 6) into its output. Streams write HEADERS
 * and DATA in their turn (see send-queue.ts). Any other frame may be written at any time, and
 * requests a flush of the output.
 */
import { type Allowance, EARNED_BY_WORK } from "./allowance.js";
import { Flag, FRAME_HEADER_SIZE, FrameType, MAX_FRAME_SIZE, writeFrameHeader } from "./frames.js";
import type { HeaderNames } from "./header-fields.js";
import { HpackEncoder, SIZE_UPDATE } from "./hpack-encoder.js";
import { OutputBuffer } from "./output.js";
import { DEFAULT_WINDOW } from "./settings.js";

export class FrameWriter {
  readonly output = new OutputBuffer();
  readonly encoder: HpackEncoder;
  /** The connection's send window: bytes of DATA that the peer accepts on all streams together. */
  window = DEFAULT_WINDOW;
  /** Bytes of DATA that were written on all streams together. */
  sentBytes = 0;
  readonly #idleFrames: Allowance;
  readonly #requestFlush: () => void;

  /**
   * @param idleFrames the allowance that each frame of a stream refills
   * @param requestFlush requests a flush of the output at the end of this event-loop turn
   */
  constructor(names: HeaderNames, idleFrames: Allowance, requestFlush: () => void) {
    this.encoder = new HpackEncoder(names.indexed);
    this.#idleFrames = idleFrames;
    this.#requestFlush = requestFlush;
  }

  /**
   * Begins a header block. `encoder` then writes its fields into `output`.
   * @param size maximum bytes of the block: the sum of `sizeOf` of its fields
   * @returns the position for `endHeaders`
   */
  beginHeaders(size: number): number {
    this.output.reserve(FRAME_HEADER_SIZE + SIZE_UPDATE + size);
    const at = this.output.at;
    this.output.at += FRAME_HEADER_SIZE;
    this.encoder.begin(this.output);
    return at;
  }

  endHeaders(at: number, streamId: number, flags: number): void {
    const length = this.output.at - at - FRAME_HEADER_SIZE;
    if (length > MAX_FRAME_SIZE) this.#splitHeaders(at, streamId, flags);
    else writeFrameHeader(this.output.buffer, at, length, FrameType.HEADERS, flags | Flag.END_HEADERS, streamId);
    this.#idleFrames.earn(EARNED_BY_WORK);
  }

  #splitHeaders(at: number, streamId: number, flags: number): void {
    const { output } = this;
    const block = Buffer.from(output.buffer.subarray(at + FRAME_HEADER_SIZE, output.at));
    output.at = at;
    for (let from = 0; from < block.length; from += MAX_FRAME_SIZE) {
      const to = Math.min(from + MAX_FRAME_SIZE, block.length);
      const type = from === 0 ? FrameType.HEADERS : FrameType.CONTINUATION;
      const last = to === block.length ? Flag.END_HEADERS : 0;
      this.#writeHeader(to - from, type, (from === 0 ? flags : 0) | last, streamId);
      output.append(block, from, to);
    }
  }

  /**
   * Begins a DATA frame. The caller then writes its `size` bytes into `output`. Both flow-control
   * windows must allow them.
   */
  beginData(streamId: number, flags: number, size: number): void {
    this.#writeHeader(size, FrameType.DATA, flags, streamId);
    this.window -= size;
    this.sentBytes += size;
    this.#idleFrames.earn(EARNED_BY_WORK);
  }

  windowUpdate(streamId: number, increment: number): void {
    const at = this.#writeControl(FrameType.WINDOW_UPDATE, 0, streamId, 4);
    this.output.buffer.writeUInt32BE(increment, at);
  }

  reset(streamId: number, errorCode: number): void {
    const at = this.#writeControl(FrameType.RST_STREAM, 0, streamId, 4);
    this.output.buffer.writeUInt32BE(errorCode, at);
  }

  /** @param debug text for the operator of the peer, in Latin-1 */
  goaway(lastStreamId: number, errorCode: number, debug: string): void {
    const at = this.#writeControl(FrameType.GOAWAY, 0, 0, 8 + debug.length);
    this.output.buffer.writeUInt32BE(lastStreamId, at);
    this.output.buffer.writeUInt32BE(errorCode, at + 4);
    this.output.buffer.write(debug, at + 8, "latin1");
  }

  /** @param mark the byte that fills the payload, which the peer sends back */
  ping(mark: number): void {
    const at = this.#writeControl(FrameType.PING, 0, 0, 8);
    this.output.buffer.fill(mark, at, at + 8);
  }

  /** Responds to a PING whose payload begins at `start`. */
  pong(buffer: Buffer, start: number): void {
    const at = this.#writeControl(FrameType.PING, Flag.ACK, 0, 8);
    buffer.copy(this.output.buffer, at, start, start + 8);
  }

  acknowledgeSettings(): void {
    this.#writeControl(FrameType.SETTINGS, Flag.ACK, 0, 0);
  }

  /** Writes bytes that are complete frames, or the preface. */
  raw(bytes: Uint8Array): void {
    this.output.reserve(bytes.length);
    this.output.copy(bytes);
    this.#requestFlush();
  }

  #writeHeader(length: number, type: number, flags: number, streamId: number): void {
    const { output } = this;
    output.reserve(FRAME_HEADER_SIZE);
    writeFrameHeader(output.buffer, output.at, length, type, flags, streamId);
    output.at += FRAME_HEADER_SIZE;
  }

  /** Reserves space for the payload. @returns the position of the payload */
  #writeControl(type: number, flags: number, streamId: number, length: number): number {
    const { output } = this;
    output.reserve(FRAME_HEADER_SIZE + length);
    writeFrameHeader(output.buffer, output.at, length, type, flags, streamId);
    const at = output.at + FRAME_HEADER_SIZE;
    output.at = at + length;
    this.#requestFlush();
    return at;
  }
}
