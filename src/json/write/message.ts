/** Writes the JSON object of a message: its fields in the order of their numbers, those without presence always. */
import type { DescExtension, DescMessage } from "@bufbuild/protobuf";
import { BRACE_CLOSE, BRACE_OPEN } from "../ascii.js";
import { isImplicit, isRequired } from "../scalar-types.js";
import { type FieldWriter, fieldWriter, type MessageWriter, type MessageWriters } from "./field.js";
import { type Field, Layout } from "./layout.js";
import { bytesOf, zeroOf } from "./scalars.js";
import type { TextWriter } from "./text-writer.js";
import type { WireReader } from "./wire-reader.js";

/** What a field is written by. */
interface Member {
  /** `,"name":` */
  readonly name: Uint8Array;
  readonly write: FieldWriter;
  /** `,"name":0`, where the field is written also when it is not there. */
  readonly absent: Uint8Array | undefined;
  /** What is wrong when it is not there. */
  readonly missing: string | undefined;
}

/** What is known of a message type when writing it. */
interface Plan {
  readonly layout: Layout;
  readonly members: readonly Member[];
}

function planOf(
  type: DescMessage,
  extensions: readonly DescExtension[],
  writers: MessageWriters,
  omitZeros: boolean,
): Plan {
  const layout = new Layout(type, extensions);
  return { layout, members: layout.fields.map((field) => memberOf(type, field, writers, omitZeros)) };
}

/** The writer of a message type that has no JSON form of its own, compiled when it is first used. */
export class ObjectWriter implements MessageWriter {
  readonly #compile: () => Plan;
  #plan: Plan | undefined;

  constructor(type: DescMessage, extensions: readonly DescExtension[], writers: MessageWriters, omitZeros: boolean) {
    this.#compile = () => planOf(type, extensions, writers, omitZeros);
  }

  write(r: WireReader, out: TextWriter, end: number): void {
    out.byte(BRACE_OPEN);
    this.writeMembers(r, out, end, true);
    out.byte(BRACE_CLOSE);
  }

  writeMembers(r: WireReader, out: TextWriter, end: number, first: boolean): void {
    this.#plan ??= this.#compile();
    const { layout, members } = this.#plan;
    const start = r.pos;
    const base = layout.find(r, end);
    if (base < 0) {
      const content = layout.regrouped(r, start, end);
      r.within(content, () => this.writeMembers(r, out, content.length, first));
      r.pos = end;
      return;
    }
    r.enter();
    let comma = first ? 1 : 0;
    for (let index = 0; index < members.length; index++) {
      const member = members[index]!;
      const mark = r.marks[base + index * 2]!;
      if (mark !== 0) {
        out.raw(member.name, comma);
        member.write(r, out, mark, r.marks[base + index * 2 + 1]!);
      } else if (member.absent !== undefined) out.raw(member.absent, comma);
      else if (member.missing !== undefined) throw new Error(member.missing);
      else continue;
      comma = 0;
    }
    r.leave();
    r.release(base);
    r.pos = end;
  }
}

function memberOf(type: DescMessage, field: Field, writers: MessageWriters, omitZeros: boolean): Member {
  const name = `,${JSON.stringify(field.jsonName)}:`;
  const absent = omitZeros ? undefined : zeroOfField(field);
  return {
    name: bytesOf(name),
    write: fieldWriter(field, writers),
    absent: absent === undefined ? undefined : bytesOf(name + absent),
    missing: isRequired(field) ? `${type.typeName} lacks the required field ${field.name}` : undefined,
  };
}

/** What is written for a field that is not there, if anything is. */
function zeroOfField(field: Field): string | undefined {
  if (field.kind === "extension") return undefined;
  if (field.fieldKind === "list") return "[]";
  if (field.fieldKind === "map") return "{}";
  return isImplicit(field) ? zeroOf(field) : undefined;
}
