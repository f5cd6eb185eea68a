/**
 * What is to be written to a connection, gathered for one write an event-loop turn. Frames are written into a slab; a
 * slab's region is given to the socket once and never written again, and a full slab is replaced. Payloads too large to
 * be worth copying are given to the socket as they are.
 */
import type { Duplex } from "node:stream";

const SLAB = 65_536;
const COPY_BELOW = 4_096;

export class Output {
  /** The slab, and the place in it where the next byte goes. Whoever writes has reserved the room. */
  buffer: Buffer = Buffer.alloc(0);
  at = 0;
  #from = 0;
  readonly #pieces: Uint8Array[] = [];
  /** Bytes in the pieces. */
  #bytes = 0;

  /** Bytes gathered. */
  get size(): number {
    return this.#bytes + this.at - this.#from;
  }

  /** Makes sure that so many bytes can be written at `at`, without a gap behind those written before. */
  reserve(bytes: number): void {
    if (this.buffer.length - this.at >= bytes) return;
    this.#cut();
    this.buffer = Buffer.allocUnsafeSlow(Math.max(SLAB, bytes));
    this.at = 0;
    this.#from = 0;
  }

  /** Takes bytes over by copying them. Room has been reserved. */
  copy(bytes: Uint8Array): void {
    this.buffer.set(bytes, this.at);
    this.at += bytes.length;
  }

  /** Takes a part of bytes over that nobody will change. */
  append(bytes: Uint8Array, start: number, end: number): void {
    if (end - start < COPY_BELOW) {
      this.reserve(end - start);
      this.copy(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
      return;
    }
    this.#cut();
    this.#pieces.push(bytes.subarray(start, end));
    this.#bytes += end - start;
  }

  /** Gives all that was gathered to the socket, as one write. */
  flush(socket: Duplex): void {
    this.#cut();
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    if (pieces.length === 1) {
      socket.write(pieces[0] as Uint8Array);
    } else {
      socket.cork();
      for (const piece of pieces) socket.write(piece);
      socket.uncork();
    }
    pieces.length = 0;
    this.#bytes = 0;
  }

  #cut(): void {
    if (this.at === this.#from) return;
    this.#pieces.push(this.buffer.subarray(this.#from, this.at));
    this.#bytes += this.at - this.#from;
    this.#from = this.at;
  }
}
