/**
 * gRPC messages in the bytes of a stream (PROTOCOL-HTTP2.md, "Length-Prefixed-Message"). Each has a
 * flag, a length of four bytes, and the message, which may be compressed (gRPC's compression.md).
 *
 * Received bytes are copied, because a connection always reads into the same memory. The buffer for
 * the copy grows with the bytes that have arrived, never with the length that a prefix announces.
 */
import { deflateSync, gzipSync } from "node:zlib";
import { Code, StatusError } from "../../errors.js";
import { STREAM_WINDOW } from "../../http2/flow-control.js";
import type { OutputBuffer } from "../../http2/output.js";
import { decompress, MessageTooLargeError } from "./decompression.js";

/** Bytes of the flag and the length. */
export const PREFIX_SIZE = 5;

/** Minimum bytes of the buffer for a longer message: this much may be unread on a stream anyway. */
const MIN_BUFFER = STREAM_WINDOW;

/** Copies up to this length are made byte by byte: a call of native code would take longer. */
const SHORT_COPY = 64;

export type MessageEncoding = "identity" | "gzip" | "deflate";

/** The value of grpc-accept-encoding. */
export const ACCEPTED_ENCODINGS = "identity,deflate,gzip";

export function isEncoding(name: string): name is MessageEncoding {
  return name === "identity" || name === "gzip" || name === "deflate";
}

/** A message in the form in which it is sent. */
export function compress(message: Uint8Array, encoding: MessageEncoding): Uint8Array {
  if (encoding === "gzip") return gzipSync(message);
  return encoding === "deflate" ? deflateSync(message) : message;
}

/** Writes `size` bytes of a message with its prefix, beginning at byte `from`. */
export function writeMessage(
  output: OutputBuffer,
  message: Uint8Array,
  encoding: MessageEncoding,
  from: number,
  size: number,
): void {
  const end = from + size;
  if (from < PREFIX_SIZE) {
    output.reserve(PREFIX_SIZE);
    const flag = encoding === "identity" ? 0 : 1;
    for (let at = from; at < PREFIX_SIZE && at < end; at++) {
      output.buffer[output.at++] = at === 0 ? flag : message.length >>> ((4 - at) * 8);
    }
  }
  if (end > PREFIX_SIZE) output.append(message, Math.max(from - PREFIX_SIZE, 0), end - PREFIX_SIZE);
}

/** Asked before more memory is used for received bytes. */
export interface MemoryHolder {
  tryReserve(bytes: number): boolean;
}

/** The reader of messages. It calls `next` again when it is notified. */
export interface MessageTaker {
  /** A larger message has been decompressed: `next` returns it now. */
  onMessageReady(): void;
}

/** Splits the bytes of a stream into messages. */
export class GrpcMessageReader {
  encoding: MessageEncoding | "br" = "identity";
  /** A message is being decompressed. Until `onMessageReady`, `next` returns nothing. */
  isBusy = false;
  /** Maximum bytes of a message, before and after decompression. */
  maxMessage: number;
  readonly #taker: MessageTaker | undefined;
  #pending: Buffer | undefined;
  #start = 0;
  #end = 0;
  /** The decompressed message, or the error, until `next` returns it. */
  #result: Uint8Array | StatusError | undefined;
  /** Bytes of that message: its compressed size while it is decompressed, then its full size. */
  #resultBytes = 0;

  /** @param taker without it `next` decompresses every message itself */
  constructor(maxMessage: number, taker?: MessageTaker) {
    this.maxMessage = maxMessage;
    this.#taker = taker;
  }

  /** Bytes of memory held for messages that have not been returned yet. */
  get held(): number {
    return (this.#pending?.length ?? 0) + this.#resultBytes;
  }

  /** Whether there are bytes that have not been returned as a message. */
  get hasMore(): boolean {
    return this.#pending !== undefined;
  }

  /**
   * Adds the bytes of a buffer from `start` to `end`.
   * @param holder asked before memory is allocated for more than these bytes
   * @returns false when the holder refuses; then the bytes were not added
   */
  push(buffer: Buffer, start: number, end: number, holder?: MemoryHolder): boolean {
    const more = end - start;
    if (this.#pending === undefined) {
      const announced = sizeAt(buffer, start, end);
      const capacity = announced > more ? capacityFor(more, announced) : more;
      if (capacity > more && holder?.tryReserve(capacity) === false) return false;
      this.#pending = Buffer.allocUnsafe(capacity);
      this.#start = 0;
      this.#end = 0;
    } else if (this.#pending.length - this.#end < more) {
      const size = this.#end - this.#start + more;
      const capacity = capacityFor(size, sizeAt(this.#pending, this.#start, this.#end));
      if (holder?.tryReserve(capacity) === false) return false;
      this.#grow(this.#pending, capacity);
    }
    if (more > SHORT_COPY) this.#end += buffer.copy(this.#pending, this.#end, start, end);
    else for (let at = start; at < end; at++) this.#pending[this.#end++] = buffer[at] as number;
    return true;
  }

  /**
   * Returns the next message, or undefined while it is incomplete.
   * @throws {StatusError} when the bytes are not a message, or the message is too large
   */
  next(): Uint8Array | undefined {
    if (this.#result !== undefined) return this.#takeResult();
    const pending = this.#pending;
    if (pending === undefined || this.isBusy || this.#end - this.#start < PREFIX_SIZE) return undefined;
    const flag = pending[this.#start] as number;
    const start = this.#start + PREFIX_SIZE;
    const length = pending.readUInt32BE(this.#start + 1);
    if (flag > 1) throw new StatusError(Code.INTERNAL, `a message has the unknown flag ${flag}`);
    if (length > this.maxMessage) throw new MessageTooLargeError(this.maxMessage);
    const end = start + length;
    if (end > this.#end) return undefined;
    this.#start = end;
    if (end === this.#end) this.#pending = undefined;
    const message = pending.subarray(start, end);
    return flag === 0 ? message : this.#decompress(message);
  }

  /** Drops the bytes that have not been returned. */
  drop(): void {
    this.#pending = undefined;
  }

  /**
   * Copies the pending bytes to a larger buffer. The old buffer stays unchanged, because messages
   * that were returned before may be parts of it.
   */
  #grow(pending: Buffer, capacity: number): void {
    const grown = Buffer.allocUnsafe(capacity);
    this.#end = pending.copy(grown, 0, this.#start, this.#end);
    this.#start = 0;
    this.#pending = grown;
  }

  #decompress(message: Buffer): Uint8Array | undefined {
    const { encoding } = this;
    if (encoding === "identity") {
      throw new StatusError(Code.INTERNAL, "a message is compressed, but no header says how");
    }
    const later = this.#taker && ((result: Uint8Array | StatusError) => this.#onResult(result));
    const decompressed = decompress(encoding, message, this.maxMessage, later);
    if (decompressed !== undefined) return decompressed;
    this.isBusy = true;
    this.#resultBytes = message.length;
    return undefined;
  }

  #onResult(result: Uint8Array | StatusError): void {
    this.isBusy = false;
    this.#result = result;
    this.#resultBytes = result instanceof StatusError ? 0 : result.length;
    this.#taker?.onMessageReady();
  }

  #takeResult(): Uint8Array | undefined {
    const result = this.#result;
    this.#result = undefined;
    this.#resultBytes = 0;
    if (result instanceof StatusError) throw result;
    return result;
  }
}

/**
 * Bytes of the message that begins at `start`, including its prefix; 0 while the prefix is
 * incomplete.
 */
function sizeAt(buffer: Buffer, start: number, end: number): number {
  return end - start < PREFIX_SIZE ? 0 : PREFIX_SIZE + buffer.readUInt32BE(start + 1);
}

/**
 * The size of a buffer that now holds `size` bytes. `announced` is the size of the message that
 * they begin.
 */
function capacityFor(size: number, announced: number): number {
  return announced > size ? Math.min(announced, Math.max(2 * size, MIN_BUFFER)) : 2 * size;
}
