/**
 * Decodes header blocks (RFC 7541). A decoder lives as long as its connection, because a block
 * refers to fields of earlier blocks. Its dynamic table always has the default size. A peer may use
 * this size before it has seen this end's settings, so a smaller table would break peers that
 * follow the protocol.
 *
 * The dynamic table is a ring buffer. Header lists share its field objects, so a repeated field
 * needs no new string.
 */
import { SHORT_TEXT, shortText } from "../wire/short-text.js";
import { ConnectionError, ErrorCode } from "./errors.js";
import type { HeaderList, HeaderNames, ReceivedField } from "./header-fields.js";
import { decodeHuffman } from "./huffman.js";
import { DEFAULT_TABLE_SIZE, sizeOf } from "./static-table.js";

/** The maximum number of fields in the table: each counts for at least 32 bytes. */
const RING = DEFAULT_TABLE_SIZE / 32;

export class HpackDecoder {
  readonly #maxListSize: number;
  readonly #names: HeaderNames;
  readonly #ring: ReceivedField[] = new Array(RING);
  /** The position of the newest field. */
  #newest = 0;
  /** The number of fields. */
  #count = 0;
  #size = 0;
  #maxSize = DEFAULT_TABLE_SIZE;
  // The block that is being read.
  #buffer: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  /**
   * @param maxListSize maximum bytes of a list, by the rules of RFC 9113, section 6.5.2
   * @param names gives each field its kind
   */
  constructor(maxListSize: number, names: HeaderNames) {
    this.#maxListSize = maxListSize;
    this.#names = names;
  }

  /**
   * Reads a complete block. It reads a list that is too large to its end, because later blocks
   * depend on the table.
   * @throws {ConnectionError} COMPRESSION_ERROR
   */
  decode(buffer: Buffer, start: number, end: number): HeaderList {
    this.#buffer = buffer;
    this.#at = start;
    this.#end = end;
    this.#updates();
    const fields: ReceivedField[] = [];
    let size = 0;
    while (this.#at < end) {
      const field = this.#field();
      size += sizeOf(field);
      if (size <= this.#maxListSize) fields.push(field);
    }
    return { fields, size, tooLarge: size > this.#maxListSize };
  }

  /** Reads changes of the table's size, which come at the beginning of a block (section 4.2). */
  #updates(): void {
    while (this.#at < this.#end && ((this.#buffer[this.#at] as number) & 0xe0) === 0x20) {
      const size = this.#integer(5);
      if (size > DEFAULT_TABLE_SIZE) throw malformed(`a table of ${size} bytes, allowed are ${DEFAULT_TABLE_SIZE}`);
      this.#maxSize = size;
      this.#evict(0);
    }
  }

  /** Reads a field (section 6). */
  #field(): ReceivedField {
    const first = this.#buffer[this.#at] as number;
    if (first & 0x80) return this.#entry(this.#integer(7));
    if (first & 0x40) return this.#add(this.#literal(6));
    if (first & 0x20) throw malformed("a change of the table's size after the beginning of the block");
    return this.#literal(4);
  }

  #literal(prefix: number): ReceivedField {
    const index = this.#integer(prefix);
    if (index === 0) return this.#names.field(this.#string(), this.#string());
    const { name, kind } = this.#entry(index);
    return { name, value: this.#string(), kind, checked: false };
  }

  #entry(index: number): ReceivedField {
    const { staticFields } = this.#names;
    if (index > 0 && index < staticFields.length) return staticFields[index] as ReceivedField;
    const age = index - staticFields.length;
    if (index === 0 || age >= this.#count) throw malformed(`no field has the index ${index}`);
    return this.#ring[(this.#newest - age + RING) % RING] as ReceivedField;
  }

  /** Adds a field to the table. A field that is larger than the table empties it (section 4.4). */
  #add(field: ReceivedField): ReceivedField {
    const size = sizeOf(field);
    this.#evict(size);
    if (size > this.#maxSize) return field;
    this.#newest = (this.#newest + 1) % RING;
    this.#ring[this.#newest] = field;
    this.#count++;
    this.#size += size;
    return field;
  }

  #evict(needed: number): void {
    while (this.#count > 0 && this.#size + needed > this.#maxSize) {
      this.#count--;
      const oldest = (this.#newest - this.#count + RING) % RING;
      this.#size -= sizeOf(this.#ring[oldest] as ReceivedField);
    }
  }

  /** Reads an integer (section 5.1) below 2^28: all indexes, lengths and sizes are smaller. */
  #integer(prefix: number): number {
    const max = (1 << prefix) - 1;
    let value = this.#byte() & max;
    if (value < max) return value;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if ((byte & 0x80) === 0) return value;
    }
    throw malformed("a number is too large");
  }

  /** Reads a string (section 5.2). */
  #string(): string {
    const huffman = ((this.#buffer[this.#at] as number) & 0x80) !== 0;
    const length = this.#integer(7);
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#end) throw malformed("the block ends within a string");
    if (!huffman) return this.#latin1(start, length);
    const decoded = decodeHuffman(this.#buffer, start, this.#at);
    if (decoded === undefined) throw malformed("a string is not Huffman code");
    return decoded;
  }

  #latin1(start: number, length: number): string {
    const buffer = this.#buffer;
    if (length > SHORT_TEXT || start + SHORT_TEXT > buffer.length) return buffer.latin1Slice(start, start + length);
    return shortText(buffer, start, length);
  }

  #byte(): number {
    if (this.#at >= this.#end) throw malformed("the block ends within a field");
    return this.#buffer[this.#at++] as number;
  }
}

function malformed(what: string): ConnectionError {
  return new ConnectionError(ErrorCode.COMPRESSION_ERROR, what);
}
