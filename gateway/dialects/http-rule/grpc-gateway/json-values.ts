/**
 * Splits the body of a request into JSON values, one per message of a stream. The values are lines,
 * or follow each other without a separator, as a JSON decoder accepts them. Only the end of each
 * value is searched here; the codec checks its syntax.
 */
import { HttpError } from "../../../http/errors.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MIN_CAPACITY = 1024;

export class JsonValues {
  readonly #maxBytes: number;
  /** The beginning of the unfinished value: its first `#length` bytes. */
  #value = Buffer.alloc(0);
  #length = 0;
  /** The chunk that is being split, from `#at` on. */
  #chunk: Uint8Array = Buffer.alloc(0);
  #at = 0;
  // The state of the unfinished value.
  #begun = false;
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** @param maxBytes of one value */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds a chunk. The bytes are copied. */
  push(chunk: Uint8Array): void {
    this.#chunk = Buffer.concat([this.#chunk.subarray(this.#at), chunk]);
    this.#at = 0;
  }

  /** Bytes that are stored. */
  get held(): number {
    return this.#value.length + this.#chunk.length;
  }

  /** Whether a value has begun and is not complete. */
  get isUnfinished(): boolean {
    return this.#begun;
  }

  /**
   * The next complete value. It is valid until the next call of a method.
   * @throws {HttpError} 413
   */
  next(): Uint8Array | undefined {
    const chunk = this.#chunk;
    let start = this.#at;
    for (let at = start; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (!this.#begun && isSpace(byte)) start = at + 1;
      else if (this.#endsBefore(byte)) return this.#complete(start, at);
      else if (this.#endsWith(byte)) return this.#complete(start, at + 1);
    }
    if (this.#begun) this.#keep(chunk.subarray(start));
    this.#chunk = chunk.subarray(chunk.length);
    this.#at = 0;
    return undefined;
  }

  /**
   * The last value of a body that has ended, where only the end of the body could complete it: a
   * number or a word.
   * @throws {HttpError} 400 where the body ends within a value
   */
  end(): Uint8Array | undefined {
    if (!this.#begun) return undefined;
    if (this.#depth > 0 || this.#inString) {
      throw new HttpError(400, "The body ends before the end of its last JSON value");
    }
    return this.#complete(0, 0);
  }

  /** Whether a number or a word ends before this byte. */
  #endsBefore(byte: number): boolean {
    if (!this.#begun || this.#depth > 0 || this.#inString) return false;
    return isSpace(byte) || byte === QUOTE || isOpening(byte);
  }

  /** Counts a byte of the value. @returns whether an object, an array or a string ends with it */
  #endsWith(byte: number): boolean {
    this.#begun = true;
    if (this.#inString) {
      const closes = byte === QUOTE && !this.#escaped;
      this.#escaped = byte === BACKSLASH && !this.#escaped;
      if (closes) this.#inString = false;
      return closes && this.#depth === 0;
    }
    if (byte === QUOTE) this.#inString = true;
    else if (isOpening(byte)) this.#depth++;
    else if (isClosing(byte)) return --this.#depth <= 0;
    return false;
  }

  #complete(start: number, end: number): Uint8Array {
    const part = this.#chunk.subarray(start, end);
    this.#at = end;
    this.#begun = false;
    this.#depth = 0;
    if (this.#length === 0) {
      this.#check(part.length);
      return part;
    }
    this.#keep(part);
    const value = this.#value.subarray(0, this.#length);
    this.#length = 0;
    this.#value = Buffer.alloc(0);
    return value;
  }

  /**
   * Stores a part of the unfinished value. The capacity doubles, so each byte is rarely copied.
   */
  #keep(part: Uint8Array): void {
    const length = this.#length + part.length;
    this.#check(length);
    if (length > this.#value.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(MIN_CAPACITY, length, 2 * this.#value.length));
      this.#value.copy(grown, 0, 0, this.#length);
      this.#value = grown;
    }
    this.#value.set(part, this.#length);
    this.#length = length;
  }

  #check(bytes: number): void {
    if (bytes <= this.#maxBytes) return;
    throw new HttpError(413, `A message of the stream must not be larger than ${this.#maxBytes} bytes`);
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** `{` or `[`. */
function isOpening(byte: number): boolean {
  return byte === 0x7b || byte === 0x5b;
}

/** `}` or `]`. */
function isClosing(byte: number): boolean {
  return byte === 0x7d || byte === 0x5d;
}
