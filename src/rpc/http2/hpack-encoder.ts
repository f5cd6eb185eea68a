/**
 * Writes header blocks (RFC 7541) straight into a connection's output.
 *
 * The dynamic table is small and stable: fields that every call repeats go in until it is full, and nothing is ever
 * thrown out. So after the first calls the indexes never change any more, and the bytes of a list that comes again, such as
 * the headers of every call to one path, can be kept and copied. Values that are a caller's own, tokens above all, are
 * never put into the table.
 *
 * Strings go out plain: Huffman saves a few bytes and costs more time than all the rest. Whoever has a block written has
 * reserved room for it in the output: `sizeOf` of all its fields, and SIZE_UPDATE.
 */
import type { Output } from "./output.js";
import { DEFAULT_TABLE_SIZE, type Field, STATIC_TABLE, sizeOf } from "./static-table.js";

/** Most lists, and most names, whose bytes are kept. */
const MOST_KEPT = 1_000;

const STATIC_NAMES = new Map<string, number>();
const STATIC_FIELDS = new Map<string, number>();
for (const [index, { name, value }] of STATIC_TABLE.entries()) {
  if (!STATIC_NAMES.has(name)) STATIC_NAMES.set(name, index);
  STATIC_FIELDS.set(keyOf(name, value), index);
}

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
  #size = 0;
  #maxSize = DEFAULT_TABLE_SIZE;
  /** The peer must be told the size before the next field. */
  #sizeChanged = false;
  /** The bytes of lists, good until the table changes. */
  readonly #lists = new Map<string, Buffer>();
  /** The bytes of names that begin a literal. */
  readonly #names = new Map<string, Buffer>();

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. We never use more than the default. */
  setTableSize(size: number): void {
    const maxSize = Math.min(size, DEFAULT_TABLE_SIZE);
    if (maxSize === this.#maxSize) return;
    this.#maxSize = maxSize;
    this.#sizeChanged = true;
    this.#added.clear();
    this.#lists.clear();
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
    const entries = this.#added.size;
    const start = output.at;
    for (const field of fields) this.#repeated(output, field);
    if (this.#added.size !== entries) this.#lists.clear();
    else if (this.#lists.size < MOST_KEPT) this.#lists.set(key, Buffer.from(output.buffer.subarray(start, output.at)));
  }

  /** Writes a field that is this call's own. The value holds no character above 255. */
  field(output: Output, name: string, value: string): void {
    const kept = this.#names.get(name) ?? this.#keepName(name);
    output.copy(kept);
    writeString(output, value);
  }

  #repeated(output: Output, field: Field): void {
    const { name, value } = field;
    const key = keyOf(name, value);
    const added = this.#added.get(key);
    const index = added === undefined ? STATIC_FIELDS.get(key) : STATIC_TABLE.length + this.#added.size - 1 - added;
    if (index !== undefined) {
      writeInteger(output, INDEXED, index);
      return;
    }
    const fits = this.#size + sizeOf(field) <= this.#maxSize;
    writeName(output, fits ? ADDED : NEVER_ADDED, name);
    writeString(output, value);
    if (!fits) return;
    this.#added.set(key, this.#added.size);
    this.#size += sizeOf(field);
  }

  #keepName(name: string): Buffer {
    const bytes: { buffer: Buffer; at: number } = { buffer: Buffer.allocUnsafe(name.length + 2 * INTEGER), at: 0 };
    writeName(bytes, NEVER_ADDED, name);
    const kept = bytes.buffer.subarray(0, bytes.at);
    if (this.#names.size < MOST_KEPT) this.#names.set(name, kept);
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
  target.at += target.buffer.write(text, target.at, "latin1");
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
