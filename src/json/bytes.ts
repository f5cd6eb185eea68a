import { Buffer } from "node:buffer";

/** The same bytes as a Buffer: code that always meets one kind of array is compiled for it. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
