/**
 * Cuts the bytes of a stream into gRPC messages (PROTOCOL-HTTP2.md, "Length-Prefixed-Message"): a flag, four bytes of
 * length, the message, which may be compressed (gRPC's compression.md).
 *
 * What arrives is copied, since a connection reads into the same memory again and again: into a buffer that grows with
 * what has really come, never with what a length merely promises.
 */
import { deflateSync, gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { Code, StatusError } from "../../errors.js";
import { STREAM_WINDOW } from "../../http2/flow-control.js";

export const PREFIX = 5;

/** What is gathered at least, where so much is promised: as much as may be unread anyway. */
const GATHERED = STREAM_WINDOW;

/** So few bytes are copied sooner than native code is called. */
const BY_HAND = 64;

export type Encoding = "identity" | "gzip" | "deflate";

/** For grpc-accept-encoding. */
export const ACCEPTED_ENCODINGS = "identity,deflate,gzip";

export function isEncoding(name: string): name is Encoding {
  return name === "identity" || name === "gzip" || name === "deflate";
}

/** A message as it is sent; its flag is 1 for any encoding but identity. */
export function compress(message: Uint8Array, encoding: Encoding): Uint8Array {
  if (encoding === "gzip") return gzipSync(message);
  return encoding === "deflate" ? deflateSync(message) : message;
}

export class MessageReader {
  encoding: Encoding = "identity";
  readonly #maxMessage: number;
  #pending: Buffer | undefined;
  #start = 0;
  #end = 0;

  /** @param maxMessage most bytes of a message, before and after decompression */
  constructor(maxMessage: number) {
    this.#maxMessage = maxMessage;
  }

  /** Bytes of memory that are held for messages that have not been handed out. */
  get held(): number {
    return this.#pending?.length ?? 0;
  }

  /** Whether a part of a message, or a message, is there. */
  get hasMore(): boolean {
    return this.#pending !== undefined;
  }

  push(buffer: Buffer, start: number, end: number): void {
    const more = end - start;
    if (this.#pending === undefined) {
      const promised = sizeAt(buffer, start, end);
      this.#pending = Buffer.allocUnsafe(promised > more ? roomFor(more, promised) : more);
      this.#start = 0;
      this.#end = 0;
    } else if (this.#pending.length - this.#end < more) {
      this.#grow(this.#pending, more);
    }
    if (more > BY_HAND) this.#end += buffer.copy(this.#pending, this.#end, start, end);
    else for (let at = start; at < end; at++) this.#pending[this.#end++] = buffer[at] as number;
  }

  /**
   * The next message, if all of it is there.
   * @throws {StatusError} where there can be none any more
   */
  next(): Uint8Array | undefined {
    const pending = this.#pending;
    if (pending === undefined || this.#end - this.#start < PREFIX) return undefined;
    const flag = pending[this.#start] as number;
    const start = this.#start + PREFIX;
    const length = pending.readUInt32BE(this.#start + 1);
    if (flag > 1) throw new StatusError(Code.INTERNAL, `a message has the unknown flag ${flag}`);
    if (length > this.#maxMessage) throw this.#tooLarge();
    const end = start + length;
    if (end > this.#end) return undefined;
    this.#start = end;
    if (end === this.#end) this.#pending = undefined;
    const message = pending.subarray(start, end);
    return flag === 0 ? message : this.#decompress(message);
  }

  /** Makes room behind the pending bytes. Messages handed out before may lie in the old buffer, which is left as it is. */
  #grow(pending: Buffer, more: number): void {
    const size = this.#end - this.#start + more;
    const grown = Buffer.allocUnsafe(roomFor(size, sizeAt(pending, this.#start, this.#end)));
    this.#end = pending.copy(grown, 0, this.#start, this.#end);
    this.#start = 0;
    this.#pending = grown;
  }

  #decompress(message: Buffer): Uint8Array {
    try {
      if (this.encoding === "gzip") return gunzipSync(message, { maxOutputLength: this.#maxMessage });
      if (this.encoding === "deflate") return inflateSync(message, { maxOutputLength: this.#maxMessage });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw this.#tooLarge();
      throw new StatusError(Code.INTERNAL, `a message is not ${this.encoding}`, { cause });
    }
    throw new StatusError(Code.INTERNAL, "a message is compressed, but grpc-encoding does not say how");
  }

  #tooLarge(): StatusError {
    return new StatusError(Code.RESOURCE_EXHAUSTED, `a message is larger than ${this.#maxMessage} bytes`);
  }
}

/** Bytes of the message that begins at `start`, prefix included; 0 where too little of it has come to tell. */
function sizeAt(buffer: Buffer, start: number, end: number): number {
  return end - start < PREFIX ? 0 : PREFIX + buffer.readUInt32BE(start + 1);
}

/** How much room is made for `size` bytes of a message that is to become `promised` bytes, or of several. */
function roomFor(size: number, promised: number): number {
  return promised > size ? Math.min(promised, Math.max(2 * size, GATHERED)) : 2 * size;
}
