/**
 * Makes the errors for JSON that is rejected. A reader knows only the offset at which it stopped.
 * The path of the field (`items[3].price`), or the line and column, is computed from the text, so
 * this costs nothing for valid JSON.
 *
 * An error quotes at most 64 characters of the input (40 of the path and 24 of the value), and no
 * invisible ones. It never quotes a secret: it names only the kind of the value.
 */
import { Buffer } from "node:buffer";
import type { DescMessage } from "@bufbuild/protobuf";
import { holdsSecrets } from "../../contract/secrets.js";
import { asBuffer } from "../../wire/buffer.js";
import { BACKSLASH, BRACE_CLOSE, BRACE_OPEN, BRACKET_CLOSE, BRACKET_OPEN, COMMA, QUOTE } from "../bytes.js";
import { JsonError } from "../codec.js";

const MAX_PATH = 40;
const MAX_VALUE = 24;

/**
 * The value at `offset` is well-formed JSON but does not fit: `items[3].price: expected a number,
 * got "x"`.
 * @param secretAt the offset of the secret field's value that contains this value, or -1
 */
export function unexpected(src: Uint8Array, offset: number, expected: string, secretAt: number): JsonError {
  const found = secretAt < 0 ? valueAt(src, offset) : kindAt(src, offset);
  return refused(src, secretAt < 0 ? offset : secretAt, `expected ${expected}, got ${found}`);
}

/**
 * The value at `offset` is rejected: `items[3].price: given more than once`. `member` extends the
 * path.
 */
export function refused(src: Uint8Array, offset: number, reason: string, member?: string): JsonError {
  const segments = pathTo(src, offset);
  if (member !== undefined) segments.push(member);
  const path = abbreviated(segments);
  return new JsonError(path === "" ? reason : `${path}: ${reason}`);
}

/**
 * The text is not JSON: `line 3, column 7: expected ":", got "}"`. Columns count characters from 1.
 * @param secretAt as in `unexpected`
 * @param type the type that is being read. If it has secret fields, the text found here may be a
 * part of a secret
 */
export function malformed(
  src: Uint8Array,
  offset: number,
  expected: string,
  secretAt: number,
  type: DescMessage | undefined,
): JsonError {
  const hides = secretAt >= 0 || (type !== undefined && holdsSecrets(type));
  const found = hides ? kindAt(src, offset) : valueAt(src, offset);
  return new JsonError(`${place(src, offset)}: expected ${expected}, got ${found}`);
}

/** The text is not JSON: `line 3, column 7: …` followed by the reason. */
export function illFormed(src: Uint8Array, offset: number, reason: string): JsonError {
  return new JsonError(`${place(src, offset)}: ${reason}`);
}

/**
 * The offset of the first byte that is not UTF-8, in a text that has one. It is found by decoding:
 * the decoder writes a U+FFFD that the text does not contain.
 */
export function invalidUtf8(src: Buffer): number {
  const text = src.toString("utf8");
  let offset = 0;
  for (let start = 0; ; ) {
    const at = text.indexOf("\ufffd", start);
    offset += Buffer.byteLength(text.slice(start, at));
    if (src[offset] !== 0xef || src[offset + 1] !== 0xbf || src[offset + 2] !== 0xbd) return offset;
    offset += 3;
    start = at + 1;
  }
}

function place(src: Uint8Array, offset: number): string {
  const before = decode(src, 0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  let line = 1;
  for (let at = before.indexOf("\n"); at >= 0; at = before.indexOf("\n", at + 1)) line++;
  return `line ${line}, column ${before.length - lineStart + 1}`;
}

/** The names and list indexes that lead to `offset`, in a text that is well-formed up to there. */
function pathTo(src: Uint8Array, offset: number): (string | number)[] {
  const path: (string | number)[] = [];
  for (let at = 0; at < offset; at++) {
    switch (src[at]) {
      case BRACE_OPEN:
        path.push("");
        break;
      case BRACKET_OPEN:
        path.push(0);
        break;
      case BRACE_CLOSE:
      case BRACKET_CLOSE:
        path.pop();
        break;
      case COMMA: {
        const last = path.at(-1);
        path[path.length - 1] = typeof last === "number" ? last + 1 : "";
        break;
      }
      case QUOTE: {
        const end = stringEnd(src, at);
        // The name is the first string after { or a comma. Until then it is empty.
        if (path.at(-1) === "") path[path.length - 1] = decode(src, at, end);
        at = end - 1;
        break;
      }
    }
  }
  if (path.at(-1) === "") path.pop();
  return path;
}

function stringEnd(src: Uint8Array, start: number): number {
  for (let quote = src.indexOf(QUOTE, start + 1); quote >= 0; quote = src.indexOf(QUOTE, quote + 1)) {
    let escapes = 0;
    while (src[quote - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return quote + 1;
  }
  return src.length;
}

const PLAIN_NAME = /^"[A-Za-z_$@][\w$]*"$/;

function abbreviated(segments: readonly (string | number)[]): string {
  let path = "";
  for (const segment of segments) {
    if (typeof segment === "number") path += `[${segment}]`;
    else if (PLAIN_NAME.test(segment)) path += `${path === "" ? "" : "."}${segment.slice(1, -1)}`;
    else path += `[${segment}]`;
  }
  return ending(path, MAX_PATH);
}

const TOKEN = /^[^\s,:[\]{}"]+/;

function valueAt(src: Uint8Array, offset: number): string {
  const first = src[offset];
  if (first === undefined) return "the end of the input";
  if (first === BRACE_OPEN) return "an object";
  if (first === BRACKET_OPEN) return "an array";
  // Enough bytes for the characters that are shown: a character has at most four bytes.
  const text = decode(src, offset, Math.min(src.length, offset + MAX_VALUE * 4));
  if (first !== QUOTE) return beginning(TOKEN.exec(text)?.[0] ?? `"${text.slice(0, 1)}"`, MAX_VALUE);
  return beginning(decode(src, offset, Math.min(stringEnd(src, offset), offset + MAX_VALUE * 4)), MAX_VALUE);
}

const NUMBER = /[-\d]/;

/** The kind of the value that begins at `offset`, without quoting it. */
function kindAt(src: Uint8Array, offset: number): string {
  const first = src[offset];
  if (first === undefined || first === BRACE_OPEN || first === BRACKET_OPEN) return valueAt(src, offset);
  if (first === QUOTE) return "a string";
  return NUMBER.test(String.fromCharCode(first)) ? "a number" : "something else";
}

function decode(src: Uint8Array, start: number, end: number): string {
  return asBuffer(src).toString("utf8", start, end);
}

/** Characters that are invisible, or that would control the terminal that shows the error. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => character.split("").map(escaped).join(""));
}

/** A UTF-16 code unit as a JSON escape. Some characters need two. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/**
 * The start of a text, to quote in an error: at most `max` UTF-16 code units, without splitting a
 * surrogate pair.
 */
export function beginning(text: string, max: number): string {
  const shown = visible(text);
  return shown.length > max ? `${shown.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…` : shown;
}

/** The end of a text: at most `max` UTF-16 code units, without splitting a surrogate pair. */
function ending(text: string, max: number): string {
  const shown = visible(text);
  return shown.length > max ? `…${shown.slice(1 - max).replace(/^[\udc00-\udfff]/, "")}` : shown;
}
