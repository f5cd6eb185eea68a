/**
 * Frames (RFC 9113, sections 4.1 and 6): what they look like, and how a socket's chunks are cut into them.
 *
 * A frame that lies whole in a chunk is handed over where it lies. One that does not is gathered in a buffer of its own
 * size, so nothing is copied twice, and no more is held than one frame, whose size the settings bound.
 */
import { ConnectionError, ErrorCode } from "./errors.js";

export const FrameType = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

export const Flag = { ACK: 0x1, END_STREAM: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

/** What a client says first, before its frames (section 3.4). */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export const FRAME_HEADER = 9;

/** Most bytes of a frame's payload: the protocol's default, which we never raise for either side (section 4.2). */
export const MAX_FRAME_SIZE = 16_384;

export const LAST_STREAM_ID = 0x7fff_ffff;

/** Receives a frame; its payload is `buffer` from `start` to `end`. Throws ConnectionError. */
export interface FrameHandler {
  onFrame(type: number, flags: number, streamId: number, buffer: Buffer, start: number, end: number): void;
}

export function writeFrameHeader(
  buffer: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): void {
  buffer[at] = length >>> 16;
  buffer[at + 1] = length >>> 8;
  buffer[at + 2] = length;
  buffer[at + 3] = type;
  buffer[at + 4] = flags;
  buffer[at + 5] = streamId >>> 24;
  buffer[at + 6] = streamId >>> 16;
  buffer[at + 7] = streamId >>> 8;
  buffer[at + 8] = streamId;
}

/** The 31 bits at a place; the bit above them is reserved and ignored. */
export function readUint31(buffer: Buffer, at: number): number {
  return (
    (((buffer[at] as number) & 0x7f) << 24) |
    ((buffer[at + 1] as number) << 16) |
    ((buffer[at + 2] as number) << 8) |
    (buffer[at + 3] as number)
  );
}

function lengthAt(buffer: Buffer, at: number): number {
  const length = ((buffer[at] as number) << 16) | ((buffer[at + 1] as number) << 8) | (buffer[at + 2] as number);
  if (length > MAX_FRAME_SIZE) {
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `a frame of ${length} bytes, allowed are ${MAX_FRAME_SIZE}`);
  }
  return length;
}

export class FrameReader {
  /** Set to stop reading for good, also from within a frame. */
  stopped = false;
  readonly #handler: FrameHandler;
  /** The header of a frame of which less than that has come. */
  readonly #header = Buffer.alloc(FRAME_HEADER);
  #headerHas = 0;
  /** The frame, header included, of which not all has come. */
  #frame: Buffer | undefined;
  #frameHas = 0;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** @throws {ConnectionError} */
  read(chunk: Buffer): void {
    let at = this.#finish(chunk);
    while (!this.stopped && chunk.length - at >= FRAME_HEADER) {
      const end = at + FRAME_HEADER + lengthAt(chunk, at);
      if (end > chunk.length) {
        this.#frame = Buffer.allocUnsafeSlow(end - at);
        this.#frameHas = chunk.copy(this.#frame, 0, at);
        return;
      }
      this.#handle(chunk, at, end);
      at = end;
    }
    if (!this.stopped && at < chunk.length) this.#headerHas = chunk.copy(this.#header, 0, at);
  }

  /** Goes on with the frame that was begun in earlier chunks; gives the place where the chunk's own frames begin. */
  #finish(chunk: Buffer): number {
    let at = 0;
    if (this.#headerHas > 0) {
      at = chunk.copy(this.#header, this.#headerHas, 0, FRAME_HEADER - this.#headerHas);
      this.#headerHas += at;
      if (this.#headerHas < FRAME_HEADER) return at;
      this.#frame = Buffer.allocUnsafeSlow(FRAME_HEADER + lengthAt(this.#header, 0));
      this.#frameHas = this.#header.copy(this.#frame);
      this.#headerHas = 0;
    }
    const frame = this.#frame;
    if (frame === undefined) return at;
    const copied = chunk.copy(frame, this.#frameHas, at);
    this.#frameHas += copied;
    if (this.#frameHas === frame.length) {
      this.#frame = undefined;
      this.#handle(frame, 0, frame.length);
    }
    return at + copied;
  }

  #handle(buffer: Buffer, at: number, end: number): void {
    const type = buffer[at + 3] as number;
    const flags = buffer[at + 4] as number;
    this.#handler.onFrame(type, flags, readUint31(buffer, at + 5), buffer, at + FRAME_HEADER, end);
  }
}
