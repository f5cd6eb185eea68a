/**
 * Writes protobuf's wire format (https://protobuf.dev/programming-guides/encoding/) for the
 * generated code. It has the methods of @bufbuild/protobuf's BinaryWriter that this code calls.
 * Messages are slices of shared blocks. A block is not cleared before it is used, and a message is
 * not copied afterwards (see docs/performance.md).
 */
import { Buffer } from "node:buffer";

declare module "node:buffer" {
  interface Buffer {
    /** The native function behind `write(text, at, "utf8")`. */
    utf8Write(text: string, at: number): number;
  }
}

/**
 * Bytes of a block. It is small, because a message that stays in memory keeps its whole block
 * there.
 */
const BLOCK = 16 * 1024;
/** Free bytes after a message that is larger than a block. */
const SLACK = 256;
/**
 * Strings up to this length are written character by character: a native call would take longer.
 */
const SHORT = 24;
/**
 * Bytes that `fork` leaves for the length. When the length needs more, `join` moves the content.
 */
const GUESS = 1;

const NOTHING = Buffer.alloc(0);
/** The block that no writer uses now, and the position of its free rest. */
let block: Buffer = NOTHING;
let restAt = 0;

const halves = new DataView(new ArrayBuffer(8));

/**
 * Makes the rest of a block available to the next writer, unless the current one has a larger rest.
 */
function releaseBlock(bytes: Buffer, at: number): void {
  if (bytes.length !== BLOCK || BLOCK - at <= block.length - restAt) return;
  block = bytes;
  restAt = at;
}

export class BinaryWriter {
  #bytes: Buffer = block;
  /** The position in `#bytes` where the message begins. */
  #start = restAt;
  /** The position in `#bytes` of the next byte. */
  #pos = restAt;
  readonly #forks: number[] = [];

  constructor() {
    block = NOTHING;
    restAt = 0;
  }

  /** Returns the message. Afterwards the writer is empty. */
  finish(): Buffer {
    const message = this.#bytes.subarray(this.#start, this.#pos);
    releaseBlock(this.#bytes, this.#pos);
    this.#bytes = NOTHING;
    this.#start = 0;
    this.#pos = 0;
    return message;
  }

  #reserve(size: number): void {
    if (this.#pos + size > this.#bytes.length) this.#grow(size);
  }

  #grow(size: number): void {
    const written = this.#pos - this.#start;
    const needed = written + size;
    const larger = Buffer.allocUnsafeSlow(needed > BLOCK ? Math.max(needed + SLACK, this.#bytes.length * 2) : BLOCK);
    larger.set(this.#bytes.subarray(this.#start, this.#pos));
    if (needed > BLOCK) releaseBlock(this.#bytes, this.#start);
    this.#bytes = larger;
    this.#start = 0;
    this.#pos = written;
  }

  /** Begins a length-delimited value: a message, or packed numbers. */
  fork(): this {
    this.#reserve(GUESS);
    this.#forks.push(this.#pos - this.#start);
    this.#pos += GUESS;
    return this;
  }

  /** Ends the value that `fork` began. */
  join(): this {
    const fork = this.#forks.pop();
    if (fork === undefined) throw new Error("join without fork");
    const length = this.#pos - this.#start - fork - GUESS;
    const wider = sizeOfVarint(length) - GUESS;
    this.#reserve(wider);
    // Read only now, because `#reserve` may have moved the message.
    const start = this.#start + fork;
    if (wider > 0) {
      this.#bytes.copyWithin(start + GUESS + wider, start + GUESS, this.#pos);
    }
    this.#pos = start;
    this.#varint(length);
    this.#pos += length;
    return this;
  }

  /** Writes the bytes as they are. */
  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#pos);
    this.#pos += bytes.length;
    return this;
  }

  bytes(value: Uint8Array): this {
    return this.uint32(value.length).raw(value);
  }

  /** Writes a string. Lone surrogates become U+FFFD. */
  string(value: string): this {
    if (value.length <= SHORT && this.#ascii(value)) return this;
    const length = Buffer.byteLength(value);
    this.#reserve(length + 5);
    this.#varint(length);
    this.#pos += this.#bytes.utf8Write(value, this.#pos);
    return this;
  }

  /** Writes a short string. @returns false when it is not ASCII; then nothing is written */
  #ascii(value: string): boolean {
    this.#reserve(1 + SHORT);
    const bytes = this.#bytes;
    let pos = this.#pos;
    bytes[pos++] = value.length;
    for (let at = 0; at < value.length; at++) {
      const code = value.charCodeAt(at);
      if (code > 0x7f) return false;
      bytes[pos++] = code;
    }
    this.#pos = pos;
    return true;
  }

  bool(value: boolean): this {
    return this.uint32(value ? 1 : 0);
  }

  uint32(value: number): this {
    if (value !== value >>> 0) throw new RangeError(`no unsigned integer of 32 bits: ${value}`);
    this.#reserve(5);
    this.#varint(value);
    return this;
  }

  int32(value: number): this {
    if (value !== (value | 0)) throw new RangeError(`no integer of 32 bits: ${value}`);
    if (value >= 0) return this.uint32(value);
    return this.#varint64(value >>> 0, 0xffff_ffff);
  }

  int64(value: bigint): this {
    halves.setBigInt64(0, value);
    if (halves.getBigInt64(0) !== value) throw new RangeError(`no integer of 64 bits: ${value}`);
    return this.#varint64(halves.getUint32(4), halves.getUint32(0));
  }

  uint64(value: bigint): this {
    halves.setBigUint64(0, value);
    if (halves.getBigUint64(0) !== value) throw new RangeError(`no unsigned integer of 64 bits: ${value}`);
    return this.#varint64(halves.getUint32(4), halves.getUint32(0));
  }

  double(value: number): this {
    this.#reserve(8);
    this.#pos = this.#bytes.writeDoubleLE(value, this.#pos);
    return this;
  }

  /** Writes a number of 32 bits. The caller must have reserved space. */
  #varint(value: number): void {
    const bytes = this.#bytes;
    let pos = this.#pos;
    for (; value > 0x7f; value >>>= 7) bytes[pos++] = (value & 0x7f) | 0x80;
    bytes[pos++] = value;
    this.#pos = pos;
  }

  #varint64(low: number, high: number): this {
    this.#reserve(10);
    const bytes = this.#bytes;
    let pos = this.#pos;
    while (high !== 0 || low > 0x7f) {
      bytes[pos++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    bytes[pos++] = low;
    this.#pos = pos;
    return this;
  }
}

function sizeOfVarint(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
}
