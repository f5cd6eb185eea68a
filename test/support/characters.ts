/**
 * Characters for fast-check's strings. The unit "binary" of fast-check takes a second to set up in
 * each process.
 */
import { fc } from "./properties.js";

/** Any code point except surrogates, which are not valid alone in a string. */
export const anyCharacter = fc
  .oneof(
    fc.integer({ min: 0, max: 0x7f }),
    fc.integer({ min: 0, max: 0xd7ff }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map((code) => String.fromCodePoint(code));
