import type { Buffer } from "node:buffer";

declare module "node:buffer" {
  interface Buffer {
    /** What `toString("latin1", start, end)` comes to. For a short text it takes most of the time there is. */
    latin1Slice(start: number, end: number): string;
  }
}

/** Of so few characters a string costs less when it is made without native code. */
export const SHORT_TEXT = 16;

/**
 * `length` bytes as Latin-1, `SHORT_TEXT` at most, in half the time that native code takes; as many bytes as `SHORT_TEXT`
 * must follow `start`.
 */
// biome-ignore format: sixteen of a kind
export function shortText(bytes: Buffer, start: number, length: number): string {
  return String.fromCharCode(
    bytes[start]!, bytes[start + 1]!, bytes[start + 2]!, bytes[start + 3]!,
    bytes[start + 4]!, bytes[start + 5]!, bytes[start + 6]!, bytes[start + 7]!,
    bytes[start + 8]!, bytes[start + 9]!, bytes[start + 10]!, bytes[start + 11]!,
    bytes[start + 12]!, bytes[start + 13]!, bytes[start + 14]!, bytes[start + 15]!,
  ).slice(0, length);
}
