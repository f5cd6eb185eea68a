/** The characters of a JSON string as bytes: their escapes, and where they begin. */
import { Buffer } from "node:buffer";

/** The escape of a byte in a string (RFC 8259 §7); undefined for a byte that stands for itself. */
export const ESCAPES: readonly (Uint8Array | undefined)[] = Array.from({ length: 128 }, (_, byte) => {
  const escaped = JSON.stringify(String.fromCharCode(byte)).slice(1, -1);
  return escaped.length > 1 ? Buffer.from(escaped) : undefined;
});
/** The offset at or a little before `at` where no UTF-8 sequence is cut. */
export function startOfCharacter(src: Uint8Array, at: number): number {
  for (let back = 0; back < 4; back++) if ((src[at - back]! & 0xc0) !== 0x80) return at - back;
  return at;
}
