/**
 * Writes the JSON object of a message. Fields are in the order of their numbers. Fields without
 * presence are always written, unless zeros are omitted.
 */
import type { Buffer } from "node:buffer";
import type { DescExtension, DescMessage } from "@bufbuild/protobuf";
import { BRACE_CLOSE, BRACE_OPEN, COMMA, Literal } from "../bytes.js";
import { isImplicit, isNullWhenUnset, isRequired, type JsonStyle, writtenName } from "../types.js";
import {
  emptyTest,
  type FieldWriter,
  listField,
  type MessageWriter,
  type MessageWriters,
  messageField,
  valueWriter,
} from "./field.js";
import { type FieldDescriptor, Layout } from "./layout.js";
import { mapField } from "./map.js";
import { type ValueWriter, zeroOf, zeroTest } from "./scalars.js";
import type { TextWriter } from "./text-writer.js";
import type { WireReader } from "./wire-reader.js";

interface Member {
  /** `,"name":`, whose comma is replaced by a brace for the first member. */
  readonly name: Literal;
  /** The writer of a list, a map or a message. Undefined for a field that is one value. */
  readonly write: FieldWriter | undefined;
  readonly writeValue: ValueWriter | undefined;
  /** `,"name":0` or `,"name":null`, for a field that is written even when it is absent. */
  readonly absent: Literal | undefined;
  /** Set if zeros are omitted: whether the value on the wire is the zero of the field's type. */
  readonly isZero: ((r: WireReader, first: number, last: number) => boolean) | undefined;
  /** The error for an absent required field. */
  readonly missing: string | undefined;
}

/** A message type, compiled for writing. */
interface Plan {
  readonly layout: Layout;
  readonly members: readonly Member[];
}

function planOf(
  type: DescMessage,
  extensions: readonly DescExtension[],
  writers: MessageWriters,
  style: JsonStyle,
): Plan {
  const layout = new Layout(type, extensions);
  return { layout, members: layout.fields.map((field) => memberOf(type, field, writers, style)) };
}

/**
 * The writer of a message type without a special JSON form. The type is compiled when it is first
 * written.
 */
export class ObjectWriter implements MessageWriter {
  readonly #compile: () => Plan;
  #plan: Plan | undefined;

  constructor(type: DescMessage, extensions: readonly DescExtension[], writers: MessageWriters, style: JsonStyle) {
    this.#compile = () => planOf(type, extensions, writers, style);
  }

  write(r: WireReader, out: TextWriter, end: number): void {
    if (!this.writeMembers(r, out, end, BRACE_OPEN)) out.byte(BRACE_OPEN);
    out.byte(BRACE_CLOSE);
  }

  writeMembers(r: WireReader, out: TextWriter, end: number, before: number): boolean {
    this.#plan ??= this.#compile();
    const { layout, members } = this.#plan;
    const start = r.pos;
    const base = layout.find(r, end);
    if (base < 0) return this.#writeRegrouped(r, out, layout.regrouped(r, start, end), before);
    r.enter();
    let written = false;
    for (let index = 0; index < members.length; index++) {
      const member = members[index]!;
      const mark = r.marks[base + index * 2]!;
      if (mark !== 0) {
        if (member.isZero?.(r, mark, r.marks[base + index * 2 + 1]!)) continue;
        out.member(member.name, before);
        if (member.write !== undefined) member.write(r, out, mark, r.marks[base + index * 2 + 1]!);
        else {
          r.pos = mark;
          member.writeValue!(r, out);
        }
      } else if (member.absent !== undefined) out.member(member.absent, before);
      else if (member.missing !== undefined) throw new Error(member.missing);
      else continue;
      before = COMMA;
      written = true;
    }
    r.leave();
    r.release(base);
    r.pos = end;
    return written;
  }

  #writeRegrouped(r: WireReader, out: TextWriter, content: Buffer, before: number): boolean {
    let written = false;
    const end = r.pos;
    r.within(content, () => {
      written = this.writeMembers(r, out, content.length, before);
    });
    r.pos = end;
    return written;
  }
}

function memberOf(type: DescMessage, field: FieldDescriptor, writers: MessageWriters, style: JsonStyle): Member {
  const { omitZeros } = style;
  const name = `,${JSON.stringify(writtenName(field, style))}:`;
  const absent = isNullWhenUnset(field, style) ? "null" : omitZeros ? undefined : zeroOfField(field);
  const write = fieldWriter(field, writers);
  return {
    name: new Literal(name),
    write,
    writeValue: write === undefined ? valueWriter(field) : undefined,
    absent: absent === undefined ? undefined : new Literal(name + absent),
    isZero: omitZeros ? zeroTestOf(field) : undefined,
    missing: isRequired(field) ? `${type.typeName} lacks the required field ${field.name}` : undefined,
  };
}

/** The JSON that is written for an absent field, if any. */
function zeroOfField(field: FieldDescriptor): string | undefined {
  if (field.kind === "extension") return undefined;
  if (field.fieldKind === "list") return "[]";
  if (field.fieldKind === "map") return "{}";
  return isImplicit(field) ? zeroOf(field) : undefined;
}

/**
 * Tests whether a field without presence is zero on the wire. Senders may write a zero. Undefined
 * for other fields.
 */
function zeroTestOf(field: FieldDescriptor): Member["isZero"] {
  if (field.kind === "extension") return undefined;
  if (field.fieldKind === "list") return emptyTest(field);
  if (field.fieldKind === "map" || field.fieldKind === "message" || !isImplicit(field)) return undefined;
  const isZero = zeroTest(field);
  return (r, first) => {
    r.pos = first;
    return isZero(r);
  };
}

/**
 * The writer of a list, a map or a message field. A field of one scalar has a `valueWriter`
 * instead.
 */
function fieldWriter(field: FieldDescriptor, writers: MessageWriters): FieldWriter | undefined {
  switch (field.fieldKind) {
    case "message":
      return messageField(field.number, field.delimitedEncoding, writers(field.message));
    case "list":
      return listField(field, writers);
    case "map":
      return mapField(field, writers);
    default:
      return undefined;
  }
}
