/**
 * Frames (RFC 9113, sections 4.1 and 6): their layout, and a reader that splits a socket's chunks
 * into frames.
 *
 * A frame that is inside one chunk is passed on in place. A frame that spans several chunks is
 * collected in a buffer of its own size. So nothing is copied twice, and at most one frame is
 * stored. The settings limit its size.
 */
import { ConnectionError, ErrorCode, protocolError } from "./errors.js";

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

/** The bytes that a client sends before its first frame (section 3.4). */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** The name of HTTP/2 in TLS's protocol negotiation, ALPN (section 3.2). */
export const ALPN = "h2";

/** In bytes. */
export const FRAME_HEADER_SIZE = 9;

/**
 * Maximum bytes of a frame's payload: the protocol's default, which this code never raises at
 * either end (section 4.2).
 */
export const MAX_FRAME_SIZE = 16_384;

export const LAST_STREAM_ID = 0x7fff_ffff;

/** Receives a frame. Its payload is `buffer` from `start` to `end`. Throws ConnectionError. */
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

/** The 31 bits at a position. The bit before them is reserved and ignored. */
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

/**
 * The rules of section 6 for a type of frame: whether it belongs to a stream or to stream 0, and
 * its size in bytes.
 */
interface FrameRule {
  readonly name: string;
  readonly onStream?: boolean;
  readonly size?: number;
  readonly minSize?: number;
}

const CONTROL_FRAMES: Readonly<Record<number, FrameRule>> = {
  [FrameType.PRIORITY]: { name: "PRIORITY", onStream: true, size: 5 },
  [FrameType.RST_STREAM]: { name: "RST_STREAM", onStream: true, size: 4 },
  [FrameType.SETTINGS]: { name: "SETTINGS", onStream: false },
  [FrameType.PING]: { name: "PING", onStream: false, size: 8 },
  [FrameType.GOAWAY]: { name: "GOAWAY", onStream: false, minSize: 8 },
  [FrameType.WINDOW_UPDATE]: { name: "WINDOW_UPDATE", size: 4 },
};

/**
 * Checks the stream and the size of a frame that is neither HEADERS nor DATA nor CONTINUATION.
 * @throws {ConnectionError}
 */
export function checkControlFrame(type: number, streamId: number, size: number): void {
  const rule = CONTROL_FRAMES[type];
  if (rule === undefined) return;
  const { name, onStream, size: exact = size, minSize = 0 } = rule;
  if (onStream !== undefined && onStream !== (streamId !== 0)) {
    throw protocolError(onStream ? `${name} on stream 0` : `${name} on a stream`);
  }
  if (size !== exact || size < minSize) {
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `${name} of ${size} bytes`);
  }
}

export class FrameReader {
  /** Set to stop reading for good, also from within `onFrame`. */
  stopped = false;
  readonly #handler: FrameHandler;
  /** The header of an incomplete frame, while the header itself is incomplete. */
  readonly #header = Buffer.alloc(FRAME_HEADER_SIZE);
  #headerHas = 0;
  /** An incomplete frame, including its header. */
  #frame: Buffer | undefined;
  #frameHas = 0;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** @throws {ConnectionError} */
  read(chunk: Buffer): void {
    let at = this.#finish(chunk);
    while (!this.stopped && chunk.length - at >= FRAME_HEADER_SIZE) {
      const end = at + FRAME_HEADER_SIZE + lengthAt(chunk, at);
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

  /**
   * Completes the frame that began in earlier chunks.
   * @returns the position of the next frame in the chunk
   */
  #finish(chunk: Buffer): number {
    let at = 0;
    if (this.#headerHas > 0) {
      at = chunk.copy(this.#header, this.#headerHas, 0, FRAME_HEADER_SIZE - this.#headerHas);
      this.#headerHas += at;
      if (this.#headerHas < FRAME_HEADER_SIZE) return at;
      this.#frame = Buffer.allocUnsafeSlow(FRAME_HEADER_SIZE + lengthAt(this.#header, 0));
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
    this.#handler.onFrame(type, flags, readUint31(buffer, at + 5), buffer, at + FRAME_HEADER_SIZE, end);
  }
}
