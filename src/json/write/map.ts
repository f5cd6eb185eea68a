/**
 * Writes a map as an object. On the wire a key may come twice, and the last entry counts. In an
 * object a key must come once. So the keys are compared first, without making strings, and entries
 * are dropped only if two keys are equal.
 */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { BRACE_CLOSE, BRACE_OPEN, COLON, COMMA, Literal } from "../bytes.js";
import { hashOfBytes, hashOfInteger, type Keys } from "../sets.js";
import { FIXED64, LENGTH, tagOf, VARINT, wireType } from "../types.js";
import { type FieldWriter, type MessageWriter, type MessageWriters, merged, valueWriter } from "./field.js";
import { knownNumbers } from "./layout.js";
import { IS_32_BITS, mapKeyWriter, type ValueWriter, zeroOf } from "./scalars.js";
import type { TextWriter } from "./text-writer.js";
import { checked, truncated, type WireReader } from "./wire-reader.js";

type MapField = Extract<DescField, { fieldKind: "map" }>;

/** The types of the map's keys and values. */
export interface MapShape {
  readonly number: number;
  readonly key: ScalarType;
  readonly checksUtf8: boolean;
  readonly valueTag: number;
  /**
   * The writer of the map's values: of messages, or of other values with the zero that is written
   * for an absent value.
   */
  readonly message?: MessageWriter;
  readonly scalar?: { write: ValueWriter; zero: Literal };
  readonly known?: ReadonlySet<number> | undefined;
}

export function mapField(field: MapField, writers: MessageWriters): FieldWriter {
  const { number, mapKey: key, utf8Validation: checksUtf8 } = field;
  if (field.mapKind === "message") {
    return mapWriter({ number, key, checksUtf8, valueTag: tagOf(2, LENGTH), message: writers(field.message) });
  }
  const scalar = { write: valueWriter(field), zero: new Literal(zeroOf(field)) };
  const valueTag = tagOf(2, wireType(field.scalar));
  return mapWriter({ number, key, checksUtf8, valueTag, scalar, known: knownNumbers(field.enum) });
}

export function mapWriter(shape: MapShape): FieldWriter {
  const map = new MapWriter(shape);
  return (r, out, first, last) => map.write(r, out, first - 1, last);
}

/** At most this many keys are compared pairwise. More keys are put into a table. */
const MAX_COMPARED = 8;
/** The first mark of an entry that does not count, because a later entry has the same key. */
const DROPPED = -1;

class MapWriter implements Keys {
  readonly #shape: MapShape;
  readonly #tag: number;
  readonly #keyTag: number;
  readonly #writeKey: ValueWriter;
  readonly #zeroKey: Literal;
  readonly #readInteger: ((r: WireReader) => void) | undefined;
  /** The message whose keys are compared. */
  #reader: WireReader | undefined;

  constructor(shape: MapShape) {
    this.#shape = shape;
    this.#tag = tagOf(shape.number, LENGTH);
    this.#keyTag = tagOf(1, wireType(shape.key));
    this.#writeKey = mapKeyWriter(shape.key, shape.checksUtf8);
    this.#readInteger = integerReader(shape.key);
    const zero = zeroOf({ scalar: shape.key });
    this.#zeroKey = new Literal(zero.startsWith('"') ? zero : `"${zero}"`);
  }

  /** Writes the entries whose tags are from `first` to `last`. */
  write(r: WireReader, out: TextWriter, first: number, last: number): void {
    const base = r.claim(0);
    const count = this.#find(r, first, last);
    const unique = count < 2 || this.#differ(r, base, count) || this.#areUnique(r, base, count);
    if (!unique) this.#dropEarlier(r, base, count);
    let before = BRACE_OPEN;
    for (let mark = base; mark < base + count * 2; mark += 2) {
      const keyAt = r.marks[mark]!;
      if (keyAt === DROPPED) continue;
      out.byte(before);
      before = COMMA;
      this.#writeEntry(r, out, keyAt, r.marks[mark + 1]!);
    }
    if (before === BRACE_OPEN) out.byte(BRACE_OPEN);
    out.byte(BRACE_CLOSE);
    r.release(base);
  }

  /**
   * Finds the entries, and leaves two marks for each: the offsets of the key and of the value. The
   * mark is 0 for an absent one. For a value that comes more than once, the mark is the negative
   * offset of the entry.
   * @returns the number of entries
   */
  #find(r: WireReader, first: number, last: number): number {
    let count = 0;
    r.pos = first;
    while (r.pos <= last) {
      const tag = r.tag();
      if (tag === this.#tag) count += this.#findEntry(r);
      else r.skip(tag);
    }
    return count;
  }

  #findEntry(r: WireReader): number {
    const start = r.pos;
    const end = r.length();
    let keyAt = 0;
    let valueAt = 0;
    while (r.pos < end) {
      const tag = r.tag();
      if (tag === this.#keyTag) keyAt = r.pos;
      else if (tag === this.#shape.valueTag) valueAt = valueAt === 0 || this.#shape.scalar ? r.pos : -start;
      else checked(tag);
      r.skip(tag);
    }
    if (r.pos !== end) throw truncated();
    if (this.#shape.known !== undefined && valueAt !== 0) {
      r.pos = valueAt;
      const known = this.#shape.known.has(r.varint32());
      r.pos = end;
      // An entry with an unknown value of a closed enum does not count.
      if (!known) return 0;
    }
    const mark = r.claim(2);
    r.marks[mark] = keyAt;
    r.marks[mark + 1] = valueAt;
    return 1;
  }

  #writeEntry(r: WireReader, out: TextWriter, keyAt: number, valueAt: number): void {
    if (keyAt === 0) out.literal(this.#zeroKey);
    else {
      r.pos = keyAt;
      this.#writeKey(r, out);
    }
    out.byte(COLON);
    const { scalar, message, valueTag } = this.#shape;
    if (scalar !== undefined) {
      r.pos = valueAt;
      if (valueAt === 0) out.literal(scalar.zero);
      else scalar.write(r, out);
    } else if (valueAt >= 0) {
      r.pos = valueAt;
      message!.write(r, out, valueAt === 0 ? valueAt : r.length());
    } else {
      r.pos = -valueAt;
      const end = r.length();
      const content = merged(r, valueTag, end - 1);
      r.within(content, () => message!.write(r, out, content.length));
    }
  }

  /**
   * Whether the keys are a few short strings and all different. Keys and their lengths are compared
   * together.
   */
  #differ(r: WireReader, base: number, count: number): boolean {
    if (this.#readInteger !== undefined || count > MAX_COMPARED) return false;
    const { src, marks } = r;
    for (let mark = base; mark < base + count * 2; mark += 2) {
      const at = marks[mark]!;
      const length = src[at]!;
      if (at === 0 || length >= 0x80) return false;
      for (let earlier = base; earlier < mark; earlier += 2) {
        const other = marks[earlier]!;
        // From the end, because similar keys, such as `item1` and `item2`, often begin with the
        // same bytes.
        let byte = length;
        while (byte >= 0 && src[at + byte] === src[other + byte]) byte--;
        if (byte < 0) return false;
      }
    }
    return true;
  }

  #areUnique(r: WireReader, base: number, count: number): boolean {
    this.#reader = r;
    r.keys.open();
    let unique = true;
    for (let mark = base; unique && mark < base + count * 2; mark += 2) {
      const keyAt = r.marks[mark]!;
      unique = r.keys.add(this.hash(keyAt), keyAt, this);
    }
    r.keys.close();
    return unique;
  }

  #dropEarlier(r: WireReader, base: number, count: number): void {
    const keys = new Set<string>();
    for (let mark = base + (count - 1) * 2; mark >= base; mark -= 2) {
      const key = this.#keyOf(r, r.marks[mark]!);
      if (keys.has(key)) r.marks[mark] = DROPPED;
      keys.add(key);
    }
  }

  hash(keyAt: number): number {
    const r = this.#reader!;
    if (this.#readInteger !== undefined) {
      this.#integer(r, keyAt);
      return hashOfInteger(r.low, r.high);
    }
    const end = this.#text(r, keyAt);
    return hashOfBytes(r.src, r.words, r.pos, end);
  }

  same(keyAt: number, other: number): boolean {
    const r = this.#reader!;
    if (this.#readInteger !== undefined) {
      this.#integer(r, keyAt);
      const { low, high } = r;
      this.#integer(r, other);
      return low === r.low && high === r.high;
    }
    const end = this.#text(r, keyAt);
    let at = r.pos;
    const otherEnd = this.#text(r, other);
    if (otherEnd - r.pos !== end - at) return false;
    for (let otherAt = r.pos; at < end; at++) if (r.src[at] !== r.src[otherAt++]) return false;
    return true;
  }

  /** Reads a key into `low` and `high`. */
  #integer(r: WireReader, keyAt: number): void {
    r.pos = keyAt;
    r.low = 0;
    r.high = 0;
    if (keyAt !== 0) this.#readInteger!(r);
  }

  /** Moves to the text of a key, and returns the end of the text. */
  #text(r: WireReader, keyAt: number): number {
    r.pos = keyAt;
    return keyAt === 0 ? 0 : r.length();
  }

  /** A key as text. Equal keys have equal texts. */
  #keyOf(r: WireReader, keyAt: number): string {
    if (this.#readInteger === undefined) {
      const end = this.#text(r, keyAt);
      return r.latin1(r.pos, end);
    }
    this.#integer(r, keyAt);
    return `${r.high}:${r.low}`;
  }
}

/** Reads a key into `low` and `high`. Equal keys have equal halves. Undefined for strings. */
function integerReader(type: ScalarType): ((r: WireReader) => void) | undefined {
  if (type === ScalarType.BOOL) {
    return (r) => {
      r.varint64();
      r.low = (r.low | r.high) === 0 ? 0 : 1;
      r.high = 0;
    };
  }
  const wire = wireType(type);
  if (wire === LENGTH) return undefined;
  if (wire === FIXED64) return (r) => r.fixed64();
  if (wire === VARINT && !IS_32_BITS.has(type)) return (r) => r.varint64();
  return (r) => {
    r.low = wire === VARINT ? r.varint32() : r.fixed32();
    r.high = 0;
  };
}
