/**
 * Reads the JSON object of a message. Most writers keep the order of the fields. So the reader
 * first compares a member's name with the name of the field that follows the last member's field.
 * Only when they differ does it look the name up.
 */
import type { DescExtension, DescField, DescMessage, DescOneof } from "@bufbuild/protobuf";
import { didYouMean } from "../../contract/nearest.js";
import { BRACE_CLOSE, BRACE_OPEN, Literal, LOWER_N, QUOTE } from "../bytes.js";
import { fieldNames, isRequired } from "../types.js";
import { type FieldReader, fieldReader, type JsonMessageReader, type Readers, takesNull } from "./field.js";
import { ignoreValue } from "./ignored.js";
import { NameTable } from "./name-table.js";
import { NULL } from "./scalars.js";
import type { Scanner } from "./scanner.js";
import type { WireWriter } from "./wire-writer.js";

interface Member {
  readonly name: string;
  /** The name in quotes. */
  readonly written: Literal;
  /** The index of the member, which is also its bit in the set of members that were seen. */
  readonly index: number;
  /** The bit of its oneof; -1 for none. */
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
  readers: Readers,
): Member {
  return {
    name: field.jsonName,
    written: new Literal(JSON.stringify(field.jsonName)),
    index,
    oneof: field.oneof === undefined ? -1 : count + oneofs.indexOf(field.oneof),
    takesNull: takesNull(field),
    required: isRequired(field),
    read: fieldReader(field, readers),
  };
}

/** A message type, compiled for reading. */
interface Plan {
  readonly members: readonly Member[];
  readonly names: NameTable<Member>;
  readonly required: readonly Member[];
  /** 32-bit words of a set of all members and oneofs. */
  readonly words: number;
}

function planOf(type: DescMessage, extensions: readonly DescExtension[], readers: Readers): Plan {
  const fields = [...type.fields, ...extensions];
  const members = fields.map((field, index) => memberOf(field, index, fields.length, type.oneofs, readers));
  // A field may have its JSON name or its name in the .proto file. A JSON name takes precedence
  // over another field's proto name.
  const names = new NameTable([
    ...members.map((member) => [member.name, member] as const),
    ...type.fields.map(({ name }, index) => [name, members[index]!] as const),
  ]);
  const required = members.filter((member) => member.required);
  return { members, names, required, words: (fields.length + type.oneofs.length + 31) >> 5 };
}

/**
 * The reader of a message type without a special JSON form. The type is compiled when it is first
 * read.
 */
export class ObjectReader implements JsonMessageReader {
  readonly #type: DescMessage;
  readonly #ignoresUnknown: boolean;
  readonly #compile: () => Plan;
  #plan: Plan | undefined;

  constructor(type: DescMessage, extensions: readonly DescExtension[], readers: Readers) {
    this.#type = type;
    this.#ignoresUnknown = readers.ignoreUnknown;
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

  /**
   * Skips the name at the cursor, and returns its member. Undefined for `@type`, which the reader
   * of Any reads, and for an unknown field that is ignored: then the value is skipped too.
   */
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
    if (member !== undefined) return member;
    if (!this.#ignoresUnknown) throw this.#unknown(s);
    s.colon();
    ignoreValue(s);
    return undefined;
  }

  #unknown(s: Scanner): Error {
    const name = s.text.toString("utf8", s.textStart, s.textEnd);
    return s.refused(`no such field in ${this.#type.typeName}${didYouMean(name, fieldNames(this.#type))}`, s.pos);
  }

  #secondOfOneof(s: Scanner, oneof: number): Error {
    return s.refused(`another member of the oneof ${this.#type.oneofs[oneof]!.name} is given already`, s.pos);
  }
}

/** Null means that the field is absent, except for the few types that have null as a value. */
function readNull(s: Scanner, member: Member): void {
  const at = s.pos;
  s.literal(NULL);
  if (member.required) throw s.refused("required, but null", at);
}
