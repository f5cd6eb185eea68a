/**
 * Writes a map as an object. On the wire it is a list of entries, of which the last counts where two have one key; an
 * object with a key twice is what nobody wants. So the keys are looked at first, without making strings of them, and
 * only where there really are two alike the entries are sorted out.
 */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { BRACE_CLOSE, BRACE_OPEN, COLON, COMMA } from "../ascii.js";
import { hashOfBytes, hashOfInteger } from "../key-set.js";
import { LENGTH, tagOf, VARINT, wireType } from "../scalar-types.js";
import { Phrase } from "../words.js";
import { type FieldWriter, type MessageWriter, type MessageWriters, merged, valueWriter } from "./field.js";
import { knownNumbers } from "./layout.js";
import { mapKeyWriter, type ValueWriter, zeroOf } from "./scalars.js";
import type { TextWriter } from "./text-writer.js";
import { checked, truncated, type WireReader } from "./wire-reader.js";

type MapField = Extract<DescField, { fieldKind: "map" }>;

/** What the map is made of. */
export interface MapShape {
  readonly number: number;
  readonly key: ScalarType;
  readonly checksUtf8: boolean;
  readonly valueTag: number;
  /** The writer of a value that is a message, or of one that is not, with what stands for one that is missing. */
  readonly message?: MessageWriter;
  readonly scalar?: { write: ValueWriter; zero: Phrase };
  readonly known?: ReadonlySet<number> | undefined;
}

export function mapField(field: MapField, writers: MessageWriters): FieldWriter {
  const { number, mapKey: key, utf8Validation: checksUtf8 } = field;
  if (field.mapKind === "message") {
    return mapWriter({ number, key, checksUtf8, valueTag: tagOf(2, LENGTH), message: writers(field.message) });
  }
  const scalar = { write: valueWriter(field), zero: new Phrase(zeroOf(field)) };
  const valueTag = tagOf(2, field.enum === undefined ? wireType(field.scalar) : VARINT);
  return mapWriter({ number, key, checksUtf8, valueTag, scalar, known: knownNumbers(field.enum) });
}

export function mapWriter(shape: MapShape): FieldWriter {
  const map = new MapWriter(shape);
  return (r, out, first, last) => map.write(r, out, first - 1, last);
}

class MapWriter {
  readonly #shape: MapShape;
  readonly #tag: number;
  readonly #keyTag: number;
  readonly #writeKey: ValueWriter;
  readonly #zeroKey: Phrase;
  readonly #readInteger: ((r: WireReader) => void) | undefined;

  /** What `#entry` found: where key and value are, -1 for nowhere, and how many values there are. */
  #keyAt = -1;
  #valueAt = -1;
  #values = 0;
  /** Whose keys are compared. */
  #reader: WireReader | undefined;

  constructor(shape: MapShape) {
    this.#shape = shape;
    this.#tag = tagOf(shape.number, LENGTH);
    this.#keyTag = tagOf(1, wireType(shape.key));
    this.#writeKey = mapKeyWriter(shape.key, shape.checksUtf8);
    this.#readInteger = integerReader(shape.key);
    const zero = zeroOf({ scalar: shape.key });
    this.#zeroKey = new Phrase(zero.startsWith('"') ? zero : `"${zero}"`);
  }

  /** Writes the entries whose tags are from `first` to `last`. */
  write(r: WireReader, out: TextWriter, first: number, last: number): void {
    let before = BRACE_OPEN;
    const unique = first === last || this.#areUnique(r, first, last);
    for (const at of unique ? [] : this.#lastOfEachKey(r, first, last)) {
      r.pos = at;
      r.tag();
      if (this.#writeEntry(r, out, before)) before = COMMA;
    }
    r.pos = first;
    while (unique && r.pos <= last) {
      const tag = r.tag();
      if (tag !== this.#tag) r.skip(tag);
      else if (this.#writeEntry(r, out, before)) before = COMMA;
    }
    if (before === BRACE_OPEN) out.byte(BRACE_OPEN);
    out.byte(BRACE_CLOSE);
  }

  /** Steps over an entry. False when it does not count, since its value is none that a closed enum has. */
  #entry(r: WireReader): boolean {
    const end = r.length();
    this.#keyAt = -1;
    this.#valueAt = -1;
    this.#values = 0;
    while (r.pos < end) {
      const tag = checked(r.tag());
      if (tag === this.#keyTag) this.#keyAt = r.pos;
      else if (tag === this.#shape.valueTag) {
        this.#valueAt = r.pos;
        this.#values++;
      }
      r.skip(tag);
    }
    if (r.pos !== end) throw truncated();
    if (this.#shape.known === undefined || this.#valueAt < 0) return true;
    r.pos = this.#valueAt;
    const known = this.#shape.known.has(r.varint32());
    r.pos = end;
    return known;
  }

  #writeEntry(r: WireReader, out: TextWriter, before: number): boolean {
    const start = r.pos;
    if (!this.#entry(r)) return false;
    const end = r.pos;
    const valueAt = this.#valueAt;
    const values = this.#values;
    out.byte(before);
    if (this.#keyAt < 0) out.phrase(this.#zeroKey);
    else {
      r.pos = this.#keyAt;
      this.#writeKey(r, out);
    }
    out.byte(COLON);
    const { message, scalar } = this.#shape;
    if (scalar !== undefined) {
      r.pos = valueAt;
      if (valueAt < 0) out.phrase(scalar.zero);
      else scalar.write(r, out);
    } else if (values > 1) {
      r.pos = start;
      r.length();
      const content = merged(r, this.#shape.valueTag, end - 1);
      r.within(content, () => message!.write(r, out, content.length));
    } else {
      r.pos = values === 0 ? end : valueAt;
      message!.write(r, out, values === 0 ? end : r.length());
    }
    r.pos = end;
    return true;
  }

  #areUnique(r: WireReader, first: number, last: number): boolean {
    r.keys.open();
    this.#reader = r;
    r.pos = first;
    let unique = true;
    while (unique && r.pos <= last) {
      const tag = r.tag();
      if (tag !== this.#tag) r.skip(tag);
      else if (this.#entry(r)) {
        const after = r.pos;
        unique = r.keys.add(this.#hashOf(r, this.#keyAt), this.#keyAt, this.#same);
        r.pos = after;
      }
    }
    r.keys.close();
    this.#reader = undefined;
    return unique;
  }

  #hashOf(r: WireReader, keyAt: number): number {
    if (this.#readInteger === undefined) {
      if (keyAt < 0) return hashOfBytes(r.src, r.words, 0, 0);
      r.pos = keyAt;
      const end = r.length();
      return hashOfBytes(r.src, r.words, r.pos, end);
    }
    if (keyAt < 0) return hashOfInteger(0, 0);
    r.pos = keyAt;
    this.#readInteger(r);
    return hashOfInteger(r.low, r.high);
  }

  #same = (keyAt: number, other: number): boolean => this.#keyOf(keyAt) === this.#keyOf(other);

  /** What tells a key from others. */
  #keyOf(keyAt: number): string {
    const r = this.#reader!;
    if (keyAt < 0) return this.#readInteger === undefined ? "" : "0:0";
    r.pos = keyAt;
    if (this.#readInteger === undefined) {
      const end = r.length();
      return r.latin1(r.pos, end);
    }
    this.#readInteger(r);
    return `${r.high}:${r.low}`;
  }

  /** Where the tags of the entries are that count. */
  #lastOfEachKey(r: WireReader, first: number, last: number): Iterable<number> {
    const places = new Map<string, number>();
    this.#reader = r;
    r.pos = first;
    while (r.pos <= last) {
      const at = r.pos;
      const tag = r.tag();
      if (tag !== this.#tag) {
        r.skip(tag);
        continue;
      }
      if (!this.#entry(r)) continue;
      const after = r.pos;
      places.set(this.#keyOf(this.#keyAt), at);
      r.pos = after;
    }
    this.#reader = undefined;
    return places.values();
  }
}

/** Reads a key into `low` and `high` so that equal keys are equal there; undefined for strings. */
function integerReader(type: ScalarType): ((r: WireReader) => void) | undefined {
  switch (type) {
    case ScalarType.STRING:
      return undefined;
    case ScalarType.BOOL:
      return (r) => {
        r.varint64();
        r.low = (r.low | r.high) === 0 ? 0 : 1;
        r.high = 0;
      };
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.SINT32:
      return (r) => {
        r.low = r.varint32();
        r.high = 0;
      };
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return (r) => {
        r.low = r.fixed32();
        r.high = 0;
      };
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return (r) => r.fixed64();
    default:
      return (r) => r.varint64();
  }
}
