/**
 * Encodes header blocks (RFC 7541) into a connection's output.
 *
 * The dynamic table is small and stable. Fields that every request repeats are added until it is
 * full, and nothing is ever evicted. So after the first requests the indexes no longer change. Then
 * the bytes of a list that repeats, such as the headers of every request to one path, are stored
 * and copied.
 *
 * A value that belongs to one request, such as a token, is never added. There is one exception: a
 * name that nearly every request has, and that never has a secret value, is added with its first
 * value. HPACK can add a name only together with a value.
 *
 * Strings are written without Huffman coding, which saves few bytes and takes more time than all
 * other encoding. The caller must reserve space in the output: `sizeOf` of all fields of the block,
 * and SIZE_UPDATE.
 */
import type { OutputBuffer } from "./output.js";
import { DEFAULT_TABLE_SIZE, type HeaderField, STATIC_TABLE, sizeOf } from "./static-table.js";

declare module "node:buffer" {
  interface Buffer {
    /** The native function behind `write(text, at, "latin1")`. */
    latin1Write(text: string, at: number): number;
  }
}

/**
 * Strings up to this length are written character by character: a native call would take longer.
 */
const SHORT_STRING = 24;

/** Maximum number of lists, and of names, whose bytes are stored. */
const MAX_STORED = 1_000;

const STATIC_NAMES = new Map<string, number>();
const STATIC_FIELDS = new Map<string, number>();
for (const [index, { name, value }] of STATIC_TABLE.entries()) {
  if (!STATIC_NAMES.has(name)) STATIC_NAMES.set(name, index);
  STATIC_FIELDS.set(keyOf(name, value), index);
}

/**
 * The representations of a field (section 6): its first bits, and the number of bits left for an
 * index.
 */
const INDEXED = { pattern: 0x80, bits: 7 };
const INCREMENTALLY_INDEXED = { pattern: 0x40, bits: 6 };
const NEVER_INDEXED = { pattern: 0x10, bits: 4 };
const TABLE_SIZE = { pattern: 0x20, bits: 5 };

/** Maximum bytes of an integer. */
const INTEGER = 6;

/** Maximum bytes of the table size updates before the first field. */
export const SIZE_UPDATE = 2 * INTEGER;

export class HpackEncoder {
  readonly #indexed: ReadonlySet<string>;
  /** The fields of the dynamic table. The value is the number of fields that were added before. */
  readonly #added = new Map<string, number>();
  #entries = 0;
  #size = 0;
  #maxSize = DEFAULT_TABLE_SIZE;
  /** The next block must begin with a table size update. */
  #sizeChanged = false;
  /** The bytes of lists by key; valid until the table changes. */
  readonly #lists = new Map<string, Buffer>();
  /** The bytes of names that begin a literal; valid until the table changes. */
  readonly #names = new Map<string, Buffer>();
  /** Like `#added`, for the names of `indexed`. */
  readonly #addedNames = new Map<string, number>();

  /** @param indexed names that are added with their first value (see HeaderNames) */
  constructor(indexed: ReadonlySet<string>) {
    this.#indexed = indexed;
  }

  /** Applies the peer's SETTINGS_HEADER_TABLE_SIZE. The table never exceeds the default size. */
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

  /** Begins a block. A new table size is announced by first emptying the table (section 4.2). */
  begin(output: OutputBuffer): void {
    if (!this.#sizeChanged) return;
    this.#sizeChanged = false;
    writeInteger(output, TABLE_SIZE, 0);
    if (this.#maxSize > 0) writeInteger(output, TABLE_SIZE, this.#maxSize);
  }

  /** Writes fields that are always the same for this key. */
  list(output: OutputBuffer, key: string, fields: readonly HeaderField[]): void {
    const stored = this.#lists.get(key);
    if (stored !== undefined) {
      output.copy(stored);
      return;
    }
    const entries = this.#entries;
    const start = output.at;
    for (const field of fields) this.#repeated(output, field);
    if (this.#entries === entries && this.#lists.size < MAX_STORED) {
      this.#lists.set(key, Buffer.from(output.buffer.subarray(start, output.at)));
    }
  }

  /** Writes a field with a value of this request. The value must have no character above 255. */
  field(output: OutputBuffer, name: string, value: string): void {
    const stored = this.#names.get(name);
    if (stored !== undefined) output.copy(stored);
    else if (this.#indexed.has(name) && !this.#addedNames.has(name) && this.#fits(name, value)) {
      this.#addedNames.set(name, this.#entries);
      writeName(output, INCREMENTALLY_INDEXED, name);
      this.#add(name, value);
    } else output.copy(this.#storeName(name));
    writeString(output, value);
  }

  #repeated(output: OutputBuffer, { name, value }: HeaderField): void {
    const added = this.#added.get(keyOf(name, value));
    const index = added === undefined ? STATIC_FIELDS.get(keyOf(name, value)) : this.#indexOf(added);
    if (index !== undefined) {
      writeInteger(output, INDEXED, index);
      return;
    }
    const fits = this.#fits(name, value);
    writeName(output, fits ? INCREMENTALLY_INDEXED : NEVER_INDEXED, name);
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

  /**
   * The newest field has the lowest index (section 2.3.3), so each new field changes all other
   * indexes.
   */
  #indexOf(added: number): number {
    return STATIC_TABLE.length + this.#entries - 1 - added;
  }

  #forgetBytes(): void {
    this.#lists.clear();
    this.#names.clear();
  }

  #storeName(name: string): Buffer {
    const bytes: { buffer: Buffer; at: number } = { buffer: Buffer.allocUnsafe(name.length + 2 * INTEGER), at: 0 };
    const added = this.#addedNames.get(name);
    if (added === undefined) writeName(bytes, NEVER_INDEXED, name);
    else writeInteger(bytes, NEVER_INDEXED, this.#indexOf(added));
    const stored = bytes.buffer.subarray(0, bytes.at);
    if (this.#names.size < MAX_STORED) this.#names.set(name, stored);
    return stored;
  }
}

type Target = Pick<OutputBuffer, "buffer" | "at">;

/** The key is unique, because no name contains a space. */
function keyOf(name: string, value: string): string {
  return `${name} ${value}`;
}

/**
 * Writes a name. Only names of the static table are written as an index, because those never
 * change.
 */
function writeName(target: Target, kind: { pattern: number; bits: number }, name: string): void {
  const index = STATIC_NAMES.get(name) ?? 0;
  writeInteger(target, kind, index);
  if (index === 0) writeString(target, name);
}

function writeString(target: Target, text: string): void {
  writeInteger(target, { pattern: 0, bits: 7 }, text.length);
  if (text.length > SHORT_STRING) target.at += target.buffer.latin1Write(text, target.at);
  else for (let at = 0; at < text.length; at++) target.buffer[target.at++] = text.charCodeAt(at);
}

/** Writes an integer (section 5.1). */
function writeInteger(target: Target, { pattern, bits }: { pattern: number; bits: number }, value: number): void {
  const max = (1 << bits) - 1;
  if (value < max) {
    target.buffer[target.at++] = pattern | value;
    return;
  }
  target.buffer[target.at++] = pattern | max;
  let rest = value - max;
  for (; rest >= 128; rest >>>= 7) target.buffer[target.at++] = (rest & 127) | 128;
  target.buffer[target.at++] = rest;
}
