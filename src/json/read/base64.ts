/**
 * Decodes base64 (RFC 4648) with the standard or the URL-safe alphabet, with or without padding, as proto3 JSON allows.
 * Unlike Buffer it refuses invalid characters instead of skipping them.
 */
import type { WireWriter } from "./wire-writer.js";

const EQUALS = 0x3d;
const INVALID = 64;

const VALUES = new Uint8Array(256).fill(INVALID);
for (const alphabet of ["+/", "-_"]) {
  const digits = `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789${alphabet}`;
  for (let value = 0; value < 64; value++) VALUES[digits.charCodeAt(value)] = value;
}

/** Decodes `src` from `start` to `end` and writes the bytes with their length in front. False when it is not base64. */
export function writeBase64(w: WireWriter, src: Uint8Array, start: number, end: number): boolean {
  if (end > start && src[end - 1] === EQUALS) {
    if ((end - start) % 4 !== 0) return false;
    end -= src[end - 2] === EQUALS ? 2 : 1;
  }
  const rest = (end - start) % 4;
  if (rest === 1) return false;
  const length = ((end - start) >> 2) * 3 + (rest === 0 ? 0 : rest - 1);
  w.ensure(length + 5);
  w.varint32(length);
  const { bytes } = w;
  let pos = w.pos;
  let bad = 0;
  for (const whole = end - rest; start < whole; start += 4) {
    const a = VALUES[src[start]!]!;
    const b = VALUES[src[start + 1]!]!;
    const c = VALUES[src[start + 2]!]!;
    const d = VALUES[src[start + 3]!]!;
    bad |= a | b | c | d;
    bytes[pos] = (a << 2) | (b >> 4);
    bytes[pos + 1] = (b << 4) | (c >> 2);
    bytes[pos + 2] = (c << 6) | d;
    pos += 3;
  }
  if (rest !== 0) {
    const a = VALUES[src[start]!]!;
    const b = VALUES[src[start + 1]!]!;
    const c = rest === 3 ? VALUES[src[start + 2]!]! : 0;
    bad |= a | b | c;
    bytes[pos++] = (a << 2) | (b >> 4);
    if (rest === 3) bytes[pos++] = (b << 4) | (c >> 2);
  }
  w.pos = pos;
  return (bad & INVALID) === 0;
}
