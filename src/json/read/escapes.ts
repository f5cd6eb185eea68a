/** Decodes escapes in JSON strings (RFC 8259 §7) to UTF-8. */
import type { Buffer } from "node:buffer";
import { BACKSLASH, LOWER_U } from "../bytes.js";

/** Error codes of `decodeEscapes`: for an invalid escape, and for half of a surrogate pair. */
const BAD_ESCAPE = -1;
export const LONE_SURROGATE = -2;

/**
 * After this many bytes without an escape, native code searches the next escape and copies the
 * bytes before it.
 */
const NEAR = 64;

/** The character for each letter after a backslash. 0 for an invalid escape. */
const SIMPLE = new Uint8Array(256);
for (const [letter, meaning] of Object.entries({
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
})) {
  SIMPLE[letter.charCodeAt(0)] = meaning.charCodeAt(0);
}

const HEX = new Int8Array(256).fill(-1);
for (let value = 0; value < 16; value++) {
  HEX[value.toString(16).charCodeAt(0)] = value;
  HEX[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

/**
 * Writes the content of a string, from `start` to `end`, to `target` from `pos` on. The text is
 * never longer than its escaped form.
 * @returns the position after the text, or a negative error code
 */
export function decodeEscapes(src: Buffer, start: number, end: number, target: Uint8Array, pos: number): number {
  let at = start;
  while (at < end) {
    for (const near = Math.min(end, at + NEAR); at < near && src[at] !== BACKSLASH; at++) target[pos++] = src[at]!;
    if (at === end) break;
    if (src[at] !== BACKSLASH) {
      const next = src.indexOf(BACKSLASH, at);
      const stop = next < 0 || next > end ? end : next;
      target.set(src.subarray(at, stop), pos);
      pos += stop - at;
      at = stop;
      continue;
    }
    at++;
    const letter = src[at++]!;
    if (letter !== LOWER_U) {
      const meaning = SIMPLE[letter]!;
      if (meaning === 0) return BAD_ESCAPE;
      target[pos++] = meaning;
      continue;
    }
    let code = hex4(src, at, end);
    at += 4;
    if (code >= 0xd800 && code < 0xe000) {
      const paired = code < 0xdc00 && src[at] === BACKSLASH && src[at + 1] === LOWER_U;
      const low = paired ? hex4(src, at + 2, end) : 0;
      if (low < 0xdc00 || low > 0xdfff) return LONE_SURROGATE;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      at += 6;
    }
    if (code < 0) return BAD_ESCAPE;
    pos = writeUtf8(code, target, pos);
  }
  return pos;
}

/** The value of four hexadecimal digits, or a negative number when they are not all digits. */
function hex4(src: Uint8Array, at: number, end: number): number {
  if (at + 4 > end) return -1;
  return (HEX[src[at]!]! << 12) | (HEX[src[at + 1]!]! << 8) | (HEX[src[at + 2]!]! << 4) | HEX[src[at + 3]!]!;
}

function writeUtf8(code: number, target: Uint8Array, pos: number): number {
  if (code < 0x80) {
    target[pos++] = code;
    return pos;
  }
  if (code < 0x800) target[pos++] = 0xc0 | (code >> 6);
  else {
    if (code < 0x10000) target[pos++] = 0xe0 | (code >> 12);
    else {
      target[pos++] = 0xf0 | (code >> 18);
      target[pos++] = 0x80 | ((code >> 12) & 63);
    }
    target[pos++] = 0x80 | ((code >> 6) & 63);
  }
  target[pos++] = 0x80 | (code & 63);
  return pos;
}
