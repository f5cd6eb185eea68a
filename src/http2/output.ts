/**
 * The output of a connection, collected for one write in each event-loop turn. Frames are written
 * into a slab. Each part of a slab is passed to the socket once and never written again; a full
 * slab is replaced. Large payloads are not copied: they are passed to the socket as they are.
 */
import type { Duplex } from "node:stream";

/**
 * Bytes of the first slab, and maximum bytes of a slab. Each slab is twice as large as the one
 * before. The first is small, because most connections are idle.
 */
const FIRST_SLAB = 1_024;
const MAX_SLAB = 65_536;
/** Payloads below this size, in bytes, are copied. */
const COPY_BELOW = 4_096;

export class OutputBuffer {
  /** The current slab. A caller that writes into it must call `reserve` first. */
  buffer: Buffer = Buffer.alloc(0);
  /** The position of the next byte in the slab. */
  at = 0;
  #from = 0;
  /** Bytes of the next slab. */
  #nextSlab = FIRST_SLAB;
  readonly #chunks: Uint8Array[] = [];
  /** Bytes in the chunks. */
  #bytes = 0;

  /** Bytes collected since the last flush. */
  get size(): number {
    return this.#bytes + this.at - this.#from;
  }

  /** Makes sure that this number of bytes can be written at `at`. */
  reserve(bytes: number): void {
    if (this.buffer.length - this.at >= bytes) return;
    this.#cut();
    this.buffer = Buffer.allocUnsafeSlow(Math.max(this.#nextSlab, bytes));
    this.#nextSlab = Math.min(2 * this.#nextSlab, MAX_SLAB);
    this.at = 0;
    this.#from = 0;
  }

  /** Appends a copy of the bytes. The caller must have reserved space. */
  copy(bytes: Uint8Array): void {
    this.buffer.set(bytes, this.at);
    this.at += bytes.length;
  }

  /** Appends a part of bytes that will not change. A large part is appended by reference. */
  append(bytes: Uint8Array, start: number, end: number): void {
    if (end - start < COPY_BELOW) {
      this.reserve(end - start);
      this.copy(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
      return;
    }
    this.#cut();
    this.#chunks.push(bytes.subarray(start, end));
    this.#bytes += end - start;
  }

  /** Passes everything to the socket, as one write. */
  flush(socket: Duplex): void {
    this.#cut();
    const chunks = this.#chunks;
    if (chunks.length === 0) return;
    if (chunks.length === 1) {
      socket.write(chunks[0] as Uint8Array);
    } else {
      socket.cork();
      for (const chunk of chunks) socket.write(chunk);
      socket.uncork();
    }
    chunks.length = 0;
    this.#bytes = 0;
  }

  #cut(): void {
    if (this.at === this.#from) return;
    this.#chunks.push(this.buffer.subarray(this.#from, this.at));
    this.#bytes += this.at - this.#from;
    this.#from = this.at;
  }
}
