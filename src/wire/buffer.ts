import { Buffer } from "node:buffer";

/**
 * A view of the same memory as a Buffer; nothing is copied. Code that always meets one kind of array is compiled for it.
 */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
