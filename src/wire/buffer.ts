import { Buffer } from "node:buffer";

/**
 * A Buffer over the same memory; nothing is copied. Code that always gets the same kind of array is
 * compiled for that kind, and is faster.
 */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
