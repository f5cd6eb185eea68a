/**
 * Reads the JSON object of a message. What a member's name stands for is first guessed (the field after the last one,
 * since most writers keep the order) and looked up where that is wrong.
 */
import type { DescExtension, DescField, DescMessage, DescOneof } from "@bufbuild/protobuf";
import { BRACE_CLOSE, BRACE_OPEN, LOWER_N, QUOTE } from "../ascii.js";
import { isRequired } from "../types.js";
import { Phrase } from "../words.js";
import { type FieldReader, fieldReader, type MessageReader, type MessageReaders, takesNull } from "./field.js";
import { Names } from "./name-table.js";
import { NULL } from "./scalars.js";
import type { Scanner } from "./scanner.js";
import type { WireWriter } from "./wire-writer.js";

/** What a member of the object is read by. */
interface Member {
  readonly name: string;
  /** The name as it is written, with quotes. */
  readonly written: Phrase;
  /** Its place among the members, and its bit in the set of those seen. */
  readonly index: number;
  /** The bit of its oneof, -1 for none. */
  readonly oneof: number;
  readonly takesNull: boolean;
  readonly required: boolean;
  readonly read: FieldReader;
}

function memberOf(
  field: DescField | DescExtension,
  index: number,
  count: number,
  oneofs: readonly DescOneof[],
  readers: MessageReaders,
): Member {
  return {
    name: field.jsonName,
    written: new Phrase(JSON.stringify(field.jsonName)),
    index,
    oneof: field.oneof === undefined ? -1 : count + oneofs.indexOf(field.oneof),
    takesNull: takesNull(field),
    required: isRequired(field),
    read: fieldReader(field, readers),
  };
}

/** What is known of a message type when reading it. */
interface Plan {
  readonly members: readonly Member[];
  readonly names: Names<Member>;
  readonly required: readonly Member[];
  /** How many words a set of all members and oneofs takes. */
  readonly words: number;
}

function planOf(type: DescMessage, extensions: readonly DescExtension[], readers: MessageReaders): Plan {
  const fields = [...type.fields, ...extensions];
  const members = fields.map((field, index) => memberOf(field, index, fields.length, type.oneofs, readers));
  // Both names of a field are taken; one that is written in JSON goes before one that is not.
  const names = new Names([
    ...members.map((member) => [member.name, member] as const),
    ...type.fields.map(({ name }, index) => [name, members[index]!] as const),
  ]);
  const required = members.filter((member) => member.required);
  return { members, names, required, words: (fields.length + type.oneofs.length + 31) >> 5 };
}

/** The reader of a message type that has no JSON form of its own, compiled when it is first used. */
export class ObjectReader implements MessageReader {
  readonly #type: DescMessage;
  readonly #compile: () => Plan;
  #plan: Plan | undefined;

  constructor(type: DescMessage, extensions: readonly DescExtension[], readers: MessageReaders) {
    this.#type = type;
    this.#compile = () => planOf(type, extensions, readers);
  }

  read(s: Scanner, w: WireWriter): void {
    if (s.src[s.pos] !== BRACE_OPEN) throw s.unexpected("an object");
    this.#plan ??= this.#compile();
    const { members, words, required } = this.#plan;
    const start = s.pos;
    const seen = s.seen.open(words);
    let next = 0;
    for (let more = s.first(BRACE_CLOSE); more; more = s.next(BRACE_CLOSE)) {
      let member = members[next];
      if (member === undefined || !s.takes(member.written)) {
        member = this.#lookUp(s, this.#plan);
        if (member === undefined) continue;
      }
      next = member.index + 1;
      if (!s.seen.add(seen, member.index)) throw s.refused("given more than once", s.pos);
      if (s.colon() === LOWER_N && !member.takesNull) readNull(s, member);
      else {
        if (member.oneof >= 0 && !s.seen.add(seen, member.oneof))
          throw this.#secondOfOneof(s, member.oneof - members.length);
        member.read(s, w);
      }
    }
    for (const { index, name } of required) {
      if (s.seen.add(seen, index)) throw s.refused("required, but missing", start, JSON.stringify(name));
    }
    s.seen.close(seen);
  }

  /** The member whose name is at the cursor, stepping over it. Undefined when it was `@type`, which is read elsewhere. */
  #lookUp(s: Scanner, { names }: Plan): Member | undefined {
    const at = s.pos;
    if (s.src[at] !== QUOTE) throw s.malformed("a name in quotes");
    s.readText("a name");
    if (at === s.typeAt) {
      s.colon();
      s.skip();
      return undefined;
    }
    const member = names.find(s.text, s.textStart, s.textEnd);
    if (member === undefined) throw s.refused(`no such field in ${this.#type.typeName}`, s.pos);
    return member;
  }

  #secondOfOneof(s: Scanner, oneof: number): Error {
    return s.refused(`another member of the oneof ${this.#type.oneofs[oneof]!.name} is given already`, s.pos);
  }
}

/** Null is the absence of a field, but for the few types that it is a value of. */
function readNull(s: Scanner, member: Member): void {
  const at = s.pos;
  s.literal(NULL);
  if (member.required) throw s.refused("required, but null", at);
}
