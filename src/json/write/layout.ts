/**
 * Finds the fields of a message. They may come in any order and more than once. For a singular
 * field the last occurrence counts, but the occurrences of a message field are merged. For a oneof
 * the last member counts. For a list or map all occurrences count.
 *
 * In nearly every message the occurrences of a field follow each other. If they do not, the fields
 * are first put in order (`regrouped`). So writers see one run for each field, and none searches
 * the message.
 */
import type { Buffer } from "node:buffer";
import type { DescEnum, DescExtension, DescField, DescMessage } from "@bufbuild/protobuf";
import { FIXED32, FIXED64, LENGTH, START_GROUP, VARINT, wireType } from "../types.js";
import { checked, truncated, type WireReader } from "./wire-reader.js";

export type FieldDescriptor = DescField | DescExtension;

interface Slot {
  readonly index: number;
  readonly type: number;
  /**
   * For lists that may be packed. On the wire they may be packed or not, whatever the field
   * declares.
   */
  readonly packable: boolean;
  /** Whether only the last occurrence counts. */
  readonly last: boolean;
  /** The index of its oneof's mark; -1 for none. */
  readonly oneof: number;
  /** The numbers of a closed enum. A field with any other number counts as absent. */
  readonly known: ReadonlySet<number> | undefined;
}

export class Layout {
  /** Sorted by number, like the marks. */
  readonly fields: readonly FieldDescriptor[];
  /** By field number. Fields with high numbers and many gaps are stored separately. */
  readonly #slots: readonly (Slot | undefined)[];
  readonly #farSlots: ReadonlyMap<number, Slot>;
  /** The number of marks: two for each field and one for each oneof. */
  readonly #marks: number;

  constructor(type: DescMessage, extensions: readonly DescExtension[]) {
    const fields = [...type.fields, ...extensions].sort((a, b) => a.number - b.number);
    const oneofOf = ({ oneof }: FieldDescriptor) =>
      oneof === undefined ? -1 : fields.length * 2 + type.oneofs.indexOf(oneof);
    const slots = new Map(fields.map((field, index) => [field.number, slotOf(field, index, oneofOf(field))]));
    const near = 64 + fields.length * 4;
    this.fields = fields;
    this.#marks = fields.length * 2 + type.oneofs.length;
    this.#slots = Array.from({ length: Math.min(near, (fields.at(-1)?.number ?? 0) + 1) }, (_, number) =>
      slots.get(number),
    );
    this.#farSlots = slots;
  }

  /** The slot of the field with this tag, if the field allows the tag's wire type. */
  #slot(tag: number): Slot | undefined {
    const number = tag >>> 3;
    const slot = number < this.#slots.length ? this.#slots[number] : this.#farSlots.get(number);
    if (slot === undefined) return undefined;
    const type = tag & 7;
    return type === slot.type || (slot.packable && type === LENGTH) ? slot : undefined;
  }

  /**
   * Finds the fields of the message from the cursor to `end`, and leaves two marks for each. The
   * first mark of an absent field is 0. For a singular scalar or enum, the first mark is the offset
   * of the value. For other fields, the first mark is the offset of the first tag plus 1, and the
   * second mark is the offset of the last tag.
   * @returns the index of the first mark, for `release`; -1 when the occurrences of a field do not
   * follow each other
   */
  find(r: WireReader, end: number): number {
    const base = r.claim(this.#marks);
    const { src, marks } = r;
    let run: Slot | undefined;
    let pos = r.pos;
    while (pos < end) {
      const at = pos;
      r.pos = at;
      const tag = r.tag();
      const slot = this.#slot(tag);
      const value = r.pos;
      // Fast path for the most frequent values: a short varint, and a value with a short length in
      // front.
      const next = src[value]!;
      if ((tag & 7) === VARINT && next < 0x80) pos = value + 1;
      else if ((tag & 7) === LENGTH && next < 0x80) pos = value + 1 + next;
      else if ((tag & 7) === FIXED64) pos = value + 8;
      else {
        r.skip(tag);
        pos = r.pos;
      }
      if (slot === undefined) checked(tag);
      else if (slot.known === undefined || slot.known.has(numberAt(r, value))) {
        const mark = base + slot.index * 2;
        if (slot.oneof >= 0) chooseMember(marks, base, slot);
        if (slot.last) marks[mark] = value;
        else if (marks[mark] === 0 || run === slot) {
          if (marks[mark] === 0) marks[mark] = at + 1;
          marks[mark + 1] = at;
          run = slot;
        } else {
          r.release(base);
          return -1;
        }
      }
    }
    if (pos !== end) throw truncated();
    r.pos = pos;
    return base;
  }

  /**
   * The known fields from `start` to `end`, grouped by field. The members of a oneof keep their
   * order, because the last one counts.
   */
  regrouped(r: WireReader, start: number, end: number): Buffer {
    // For each slot or oneof: first the total length of its fields, then the start of the group,
    // then the position of its next field.
    const places = new Int32Array(this.#marks);
    let length = 0;
    this.#eachField(r, start, end, (group, from, to) => {
      places[group]! += to - from;
      length += to - from;
    });
    let place = 0;
    for (let group = 0; group < places.length; group++) {
      place += places[group]!;
      places[group] = place - places[group]!;
    }
    const fields = r.copy(length);
    this.#eachField(r, start, end, (group, from, to) => {
      for (let at = from; at < to; at++) fields[places[group]!++] = r.src[at]!;
    });
    return fields;
  }

  #eachField(
    r: WireReader,
    start: number,
    end: number,
    visit: (group: number, from: number, to: number) => void,
  ): void {
    r.pos = start;
    while (r.pos < end) {
      const at = r.pos;
      const tag = checked(r.tag());
      r.skip(tag);
      const slot = this.#slot(tag);
      if (slot !== undefined) visit(slot.oneof >= 0 ? slot.oneof : slot.index, at, r.pos);
    }
    if (r.pos !== end) throw truncated();
  }
}

/** The number of the enum value at an offset. */
function numberAt(r: WireReader, offset: number): number {
  r.pos = offset;
  return r.varint32();
}

/** Makes this slot's field the set member of its oneof. The previous member no longer counts. */
function chooseMember(marks: Int32Array, base: number, slot: Slot): void {
  const before = marks[base + slot.oneof]! - 1;
  if (before >= 0 && before !== slot.index) marks[base + before * 2] = 0;
  marks[base + slot.oneof] = slot.index + 1;
}

function slotOf(field: FieldDescriptor, index: number, oneof: number): Slot {
  const singular = field.fieldKind === "scalar" || field.fieldKind === "enum";
  const type = typeOf(field);
  return {
    index,
    type,
    packable: field.fieldKind === "list" && (type === VARINT || type === FIXED32 || type === FIXED64),
    last: singular,
    oneof,
    known: singular ? knownNumbers(field.enum) : undefined,
  };
}

/** The wire type of one occurrence of a field that is not packed. */
function typeOf(field: FieldDescriptor): number {
  if (field.fieldKind === "map") return LENGTH;
  if (field.message !== undefined) return field.delimitedEncoding ? START_GROUP : LENGTH;
  return wireType(field.scalar);
}

/** The numbers of a closed enum, or undefined for an open one. */
export function knownNumbers(type: DescEnum | undefined): ReadonlySet<number> | undefined {
  return type === undefined || type.open ? undefined : new Set(type.values.map(({ number }) => number));
}
