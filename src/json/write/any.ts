/** Writes google.protobuf.Any: the member `@type`, and beside it the JSON of that type. */
import { BRACE_CLOSE, BRACE_OPEN, COMMA, Literal } from "../bytes.js";
import { type FindMessage, LENGTH, tagOf } from "../types.js";
import type { MessageWriter, MessageWriters } from "./field.js";
import { checked, truncated } from "./wire-reader.js";

const TYPE_URL_TAG = tagOf(1, LENGTH);
const VALUE_TAG = tagOf(2, LENGTH);
const TYPE = new Literal('{"@type":');
const VALUE = new Literal(',"value":');

export function anyWriter(find: FindMessage, writers: MessageWriters): MessageWriter {
  return {
    write(r, out, end) {
      let urlAt = -1;
      let valueAt = -1;
      while (r.pos < end) {
        const tag = checked(r.tag());
        if (tag === TYPE_URL_TAG) urlAt = r.pos;
        else if (tag === VALUE_TAG) valueAt = r.pos;
        r.skip(tag);
      }
      if (r.pos !== end) throw truncated();
      r.pos = urlAt < 0 ? end : urlAt;
      const urlEnd = urlAt < 0 ? end : r.length();
      // The field has no presence: an empty text on the wire means the same as none.
      if (r.pos === urlEnd) {
        out.byte(BRACE_OPEN);
        out.byte(BRACE_CLOSE);
        r.pos = end;
        return;
      }
      const url = r.utf8(r.pos, urlEnd);
      const slash = url.lastIndexOf("/");
      const type = slash < 0 ? undefined : find(url.slice(slash + 1));
      if (type === undefined) throw new Error(`a google.protobuf.Any has the unknown type ${JSON.stringify(url)}`);
      out.literal(TYPE);
      out.string(r.src, r.words, r.pos, urlEnd);
      r.pos = valueAt < 0 ? end : valueAt;
      const valueEnd = valueAt < 0 ? end : r.length();
      const writer = writers(type);
      if (writer.writeMembers === undefined) {
        out.literal(VALUE);
        writer.write(r, out, valueEnd);
      } else writer.writeMembers(r, out, valueEnd, COMMA);
      out.byte(BRACE_CLOSE);
      r.pos = end;
    },
  };
}
