/** Short Latin-1 strings, created without a native call, which would take most of the time. */
import type { Buffer } from "node:buffer";

declare module "node:buffer" {
  interface Buffer {
    /** The native function behind `toString("latin1", start, end)`. */
    latin1Slice(start: number, end: number): string;
  }
}

/** The maximum length of `shortText`, in bytes. */
export const SHORT_TEXT = 16;

/**
 * Decodes `length` bytes as Latin-1, at most `SHORT_TEXT`. The buffer must have `SHORT_TEXT` bytes
 * from `start`.
 */
// biome-ignore format: a regular pattern
export function shortText(bytes: Buffer, start: number, length: number): string {
  return String.fromCharCode(
    bytes[start]!, bytes[start + 1]!, bytes[start + 2]!, bytes[start + 3]!,
    bytes[start + 4]!, bytes[start + 5]!, bytes[start + 6]!, bytes[start + 7]!,
    bytes[start + 8]!, bytes[start + 9]!, bytes[start + 10]!, bytes[start + 11]!,
    bytes[start + 12]!, bytes[start + 13]!, bytes[start + 14]!, bytes[start + 15]!,
  ).slice(0, length);
}
