/** Short Latin-1 strings, made without a call of native code, which would take most of the time. */
import type { Buffer } from "node:buffer";

declare module "node:buffer" {
  interface Buffer {
    /** The native function behind `toString("latin1", start, end)`. */
    latin1Slice(start: number, end: number): string;
  }
}

/** The maximum length of `shortText`, in bytes. */
export const SHORT_TEXT = 16;

/** `length` bytes as Latin-1, `SHORT_TEXT` at most. The buffer must have `SHORT_TEXT` bytes from `start` on. */
// biome-ignore format: sixteen of a kind
export function shortText(bytes: Buffer, start: number, length: number): string {
  return String.fromCharCode(
    bytes[start]!, bytes[start + 1]!, bytes[start + 2]!, bytes[start + 3]!,
    bytes[start + 4]!, bytes[start + 5]!, bytes[start + 6]!, bytes[start + 7]!,
    bytes[start + 8]!, bytes[start + 9]!, bytes[start + 10]!, bytes[start + 11]!,
    bytes[start + 12]!, bytes[start + 13]!, bytes[start + 14]!, bytes[start + 15]!,
  ).slice(0, length);
}
