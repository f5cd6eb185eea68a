/**
 * Reads google.protobuf.Any: an object whose member `@type` names the type of the others. `@type` may be anywhere in
 * the object, so it is searched for before the rest is read.
 */
import { Buffer } from "node:buffer";
import type { DescMessage } from "@bufbuild/protobuf";
import { BRACE_CLOSE, BRACE_OPEN, Literal, QUOTE, wordsOf } from "../bytes.js";
import { type FindMessage, hasOwnForm, LENGTH, tagOf } from "../types.js";
import type { MessageReader, MessageReaders } from "./field.js";
import type { Scanner } from "./scanner.js";
import type { WireWriter } from "./wire-writer.js";

const TYPE = new Literal('"@type"');
const VALUE = new Literal('"value"');
const TYPE_URL_TAG = tagOf(1, LENGTH);
const VALUE_TAG = tagOf(2, LENGTH);

export function anyReader(find: FindMessage, readers: MessageReaders): MessageReader {
  return {
    read(s, w) {
      if (s.src[s.pos] !== BRACE_OPEN) throw s.unexpected("an object with @type");
      const start = s.pos;
      const outer = s.typeAt;
      s.typeAt = typeMember(s);
      if (s.typeAt >= 0) {
        const type = readTypeUrl(s, w, find);
        s.pos = start;
        w.varint32(VALUE_TAG);
        const content = w.open(2);
        if (hasOwnForm(type)) readOwnForm(s, w, readers(type));
        else readers(type).read(s, w);
        w.close(content, 2);
      }
      s.typeAt = outer;
    },
  };
}

/** The offset of the name `@type`; -1 for an empty object, which is an empty Any. */
function typeMember(s: Scanner): number {
  const start = s.pos;
  const { depth } = s;
  let more = s.first(BRACE_CLOSE);
  if (!more) return -1;
  while (more) {
    if (s.src[s.pos] !== QUOTE) throw s.malformed("a name in quotes");
    const at = s.pos;
    if (isType(s)) {
      s.depth = depth;
      return at;
    }
    s.colon();
    s.skip();
    more = s.next(BRACE_CLOSE);
  }
  throw s.refused("required, but missing", start, '"@type"');
}

/** Steps over a name, and tells whether it is `@type`. */
function isType(s: Scanner): boolean {
  if (s.takes(TYPE)) return true;
  s.readText("a name");
  return s.textString() === "@type";
}

/** Reads and writes the value of `@type`, and gives the type that it names. */
function readTypeUrl(s: Scanner, w: WireWriter, find: FindMessage): DescMessage {
  s.colon();
  const at = s.pos;
  s.readText("a type's URL");
  const url = s.textString();
  const slash = url.lastIndexOf("/");
  const type = slash < 0 ? undefined : find(url.slice(slash + 1));
  if (type === undefined)
    throw s.unexpected("the URL of a known type such as type.googleapis.com/google.protobuf.Empty", at);
  const bytes = Buffer.from(url, "utf8");
  w.varint32(TYPE_URL_TAG);
  w.copy(bytes, wordsOf(bytes), 0, bytes.length);
  return type;
}

/** Reads an Any of a type with a JSON form of its own: its JSON is in the member `value`. */
function readOwnForm(s: Scanner, w: WireWriter, reader: MessageReader): void {
  const start = s.pos;
  let given = false;
  for (let more = s.first(BRACE_CLOSE); more; more = s.next(BRACE_CLOSE)) {
    const at = s.pos;
    if (s.src[at] !== QUOTE) throw s.malformed("a name in quotes");
    if (at === s.typeAt) {
      s.readText("a name");
      s.colon();
      s.skip();
      continue;
    }
    if (!s.takes(VALUE)) {
      s.readText("a name");
      if (s.textString() !== "value") throw s.refused("no such field beside @type and value", s.pos);
    }
    if (given) throw s.refused("given more than once", s.pos);
    given = true;
    s.colon();
    reader.read(s, w);
  }
  if (!given) throw s.refused("required, but missing", start, '"value"');
}
