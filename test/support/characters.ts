/** Characters for fast-check's strings. Its own unit "binary" takes a second to set up, in each process that uses it. */
import fc from "fast-check";

/** Any code point, of which a JavaScript string may hold it alone: no half of a surrogate pair. */
export const anyCharacter = fc
  .oneof(
    fc.integer({ min: 0, max: 0x7f }),
    fc.integer({ min: 0, max: 0xd7ff }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map((code) => String.fromCodePoint(code));
