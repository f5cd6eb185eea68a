/** Rows of the log and of snapshots: keys sort like revisions, texts have a checksum. */
import { crc32 } from "node:zlib";
import { asBuffer } from "../../../../src/wire/buffer.js";

const REVISION_DIGITS = 16;

/** Zero-padded, so that keys sort like revisions. */
export function keyOf(revision: number): string {
  return String(revision).padStart(REVISION_DIGITS, "0");
}

/** Eight hexadecimal digits. */
export function checksum(key: string, content: string): string {
  return crc32(`${key}:${content}`).toString(16).padStart(8, "0");
}

/** The checksum at the beginning of a row's text, in hexadecimal. */
export function checksumOf(text: string): string {
  return text.slice(0, 8);
}

/** The text of a row: the checksum, and the bytes in base64. */
export function seal(key: string, bytes: Uint8Array): string {
  const content = asBuffer(bytes).toString("base64");
  return `${checksum(key, content)} ${content}`;
}

/** @throws {Error} when the text is damaged, or belongs to another key */
export function unseal(key: string, text: string): Buffer {
  const content = text.slice(9);
  if (text !== `${checksum(key, content)} ${content}`) throw new Error("is damaged");
  return Buffer.from(content, "base64");
}
