/**
 * Writes header blocks (RFC 7541) straight into a connection's output.
 *
 * The dynamic table is small and stable: fields that every call repeats go in until it is full, and nothing is ever
 * thrown out. So after the first calls the indexes never change any more, and the bytes of a list that comes again, such as
 * the headers of every call to one path, can be kept and copied. Values that are a caller's own, tokens above all, are
 * never put into the table; but for the first one of a name that nearly every call has and that is no secret, since only
 * with a value can a name be told once.
 *
 * Strings go out plain: Huffman saves a few bytes and costs more time than all the rest. Whoever has a block written has
 * reserved room for it in the output: `sizeOf` of all its fields, and SIZE_UPDATE.
 */
import type { Output } from "./output.js";
import { DEFAULT_TABLE_SIZE, type Field, STATIC_TABLE, sizeOf } from "./static-table.js";

declare module "node:buffer" {
  interface Buffer {
    /** What `write(text, at, "latin1")` comes to. */
    latin1Write(text: string, at: number): number;
  }
}

/** So few characters are written sooner than native code is called. */
const BY_HAND = 24;

/** Most lists, and most names, whose bytes are kept. */
const MAX_KEPT = 1_000;

const STATIC_NAMES = new Map<string, number>();
const STATIC_FIELDS = new Map<string, number>();
for (const [index, { name, value }] of STATIC_TABLE.entries()) {
  if (!STATIC_NAMES.has(name)) STATIC_NAMES.set(name, index);
  STATIC_FIELDS.set(keyOf(name, value), index);
}

/** Names of what calls tell of themselves, none of it a secret. */
const REPEATED_NAMES = new Set(["grpc-timeout", "platform-namespace", "x-request-id", "traceparent", "tracestate"]);

/** Literals by what they let the peer do with them (sections 6.2.1 and 6.2.3), and the bits left for an index. */
const INDEXED = { pattern: 0x80, bits: 7 };
const ADDED = { pattern: 0x40, bits: 6 };
const NEVER_ADDED = { pattern: 0x10, bits: 4 };
const TABLE_SIZE = { pattern: 0x20, bits: 5 };

/** No number takes more bytes. */
const INTEGER = 6;

/** Room for what may come before the first field. */
export const SIZE_UPDATE = 2 * INTEGER;

export class HpackEncoder {
  /** How many fields were in the table when a field went in, by the field. */
  readonly #added = new Map<string, number>();
  #entries = 0;
  #size = 0;
  #maxSize = DEFAULT_TABLE_SIZE;
  /** The peer must be told the size before the next field. */
  #sizeChanged = false;
  /** The bytes of lists, good until the table changes. */
  readonly #lists = new Map<string, Buffer>();
  /** The bytes of names that begin a literal, likewise. */
  readonly #names = new Map<string, Buffer>();
  /** As in `#added`, the field by which a name went in. */
  readonly #addedNames = new Map<string, number>();

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. We never use more than the default. */
  setTableSize(size: number): void {
    const maxSize = Math.min(size, DEFAULT_TABLE_SIZE);
    if (maxSize === this.#maxSize) return;
    this.#maxSize = maxSize;
    this.#sizeChanged = true;
    this.#added.clear();
    this.#addedNames.clear();
    this.#entries = 0;
    this.#forgetBytes();
    this.#size = 0;
  }

  /** Comes before the first field of each block: a changed table size is told by emptying the table (section 4.2). */
  begin(output: Output): void {
    if (!this.#sizeChanged) return;
    this.#sizeChanged = false;
    writeInteger(output, TABLE_SIZE, 0);
    if (this.#maxSize > 0) writeInteger(output, TABLE_SIZE, this.#maxSize);
  }

  /** Writes fields that come again in the same order under the same key. */
  list(output: Output, key: string, fields: readonly Field[]): void {
    const kept = this.#lists.get(key);
    if (kept !== undefined) {
      output.copy(kept);
      return;
    }
    const entries = this.#entries;
    const start = output.at;
    for (const field of fields) this.#repeated(output, field);
    if (this.#entries === entries && this.#lists.size < MAX_KEPT) {
      this.#lists.set(key, Buffer.from(output.buffer.subarray(start, output.at)));
    }
  }

  /** Writes a field that is this call's own. The value holds no character above 255. */
  field(output: Output, name: string, value: string): void {
    const kept = this.#names.get(name);
    if (kept !== undefined) output.copy(kept);
    else if (REPEATED_NAMES.has(name) && !this.#addedNames.has(name) && this.#fits(name, value)) {
      this.#addedNames.set(name, this.#entries);
      writeName(output, ADDED, name);
      this.#add(name, value);
    } else output.copy(this.#keepName(name));
    writeString(output, value);
  }

  #repeated(output: Output, { name, value }: Field): void {
    const added = this.#added.get(keyOf(name, value));
    const index = added === undefined ? STATIC_FIELDS.get(keyOf(name, value)) : this.#indexOf(added);
    if (index !== undefined) {
      writeInteger(output, INDEXED, index);
      return;
    }
    const fits = this.#fits(name, value);
    writeName(output, fits ? ADDED : NEVER_ADDED, name);
    if (fits) this.#add(name, value);
    writeString(output, value);
  }

  #fits(name: string, value: string): boolean {
    return this.#size + sizeOf({ name, value }) <= this.#maxSize;
  }

  #add(name: string, value: string): void {
    this.#added.set(keyOf(name, value), this.#entries++);
    this.#size += sizeOf({ name, value });
    this.#forgetBytes();
  }

  /** The newest field has the lowest index (section 2.3.3), so all others move with it. */
  #indexOf(added: number): number {
    return STATIC_TABLE.length + this.#entries - 1 - added;
  }

  #forgetBytes(): void {
    this.#lists.clear();
    this.#names.clear();
  }

  #keepName(name: string): Buffer {
    const bytes: { buffer: Buffer; at: number } = { buffer: Buffer.allocUnsafe(name.length + 2 * INTEGER), at: 0 };
    const added = this.#addedNames.get(name);
    if (added === undefined) writeName(bytes, NEVER_ADDED, name);
    else writeInteger(bytes, NEVER_ADDED, this.#indexOf(added));
    const kept = bytes.buffer.subarray(0, bytes.at);
    if (this.#names.size < MAX_KEPT) this.#names.set(name, kept);
    return kept;
  }
}

type Target = Pick<Output, "buffer" | "at">;

/** A field's name stands before a space, which no name holds. */
function keyOf(name: string, value: string): string {
  return `${name} ${value}`;
}

/** Only static names go by index: they never move. */
function writeName(target: Target, kind: { pattern: number; bits: number }, name: string): void {
  const index = STATIC_NAMES.get(name) ?? 0;
  writeInteger(target, kind, index);
  if (index === 0) writeString(target, name);
}

function writeString(target: Target, text: string): void {
  writeInteger(target, { pattern: 0, bits: 7 }, text.length);
  if (text.length > BY_HAND) target.at += target.buffer.latin1Write(text, target.at);
  else for (let at = 0; at < text.length; at++) target.buffer[target.at++] = text.charCodeAt(at);
}

/** Section 5.1. */
function writeInteger(target: Target, { pattern, bits }: { pattern: number; bits: number }, value: number): void {
  const most = (1 << bits) - 1;
  if (value < most) {
    target.buffer[target.at++] = pattern | value;
    return;
  }
  target.buffer[target.at++] = pattern | most;
  let rest = value - most;
  for (; rest >= 128; rest >>>= 7) target.buffer[target.at++] = (rest & 127) | 128;
  target.buffer[target.at++] = rest;
}
