/**
 * Passes over what a contract does not know: the values of unknown fields, and names of enum values.
 * A caller may have a newer contract than the service.
 */
import type { DescEnum } from "@bufbuild/protobuf";
import { BRACE_CLOSE, BRACE_OPEN, BRACKET_CLOSE, BRACKET_OPEN, LOWER_F, LOWER_N, LOWER_T, QUOTE } from "../bytes.js";
import { enumNames, FALSE, NULL, TRUE } from "./scalars.js";
import type { Scanner } from "./scanner.js";

/** Skips a value that no reader reads. It must be JSON. */
export function ignoreValue(s: Scanner): void {
  switch (s.src[s.pos]) {
    case BRACE_OPEN:
      for (let more = s.first(BRACE_CLOSE); more; more = s.next(BRACE_CLOSE)) {
        if (s.src[s.pos] !== QUOTE) throw s.malformed("a name in quotes");
        s.readText("a name");
        s.colon();
        ignoreValue(s);
      }
      return;
    case BRACKET_OPEN:
      for (let more = s.first(BRACKET_CLOSE); more; more = s.next(BRACKET_CLOSE)) ignoreValue(s);
      return;
    case QUOTE:
      s.readText("a string");
      return;
    case LOWER_T:
      s.literal(TRUE);
      return;
    case LOWER_F:
      s.literal(FALSE);
      return;
    case LOWER_N:
      s.literal(NULL);
      return;
    default:
      s.number("a value");
  }
}

/** Skips a string that is no name of an enum's value. Returns whether there was one. */
export function enumIgnorer(type: DescEnum): (s: Scanner) => boolean {
  const names = enumNames(type);
  return (s) => {
    if (s.src[s.pos] !== QUOTE) return false;
    const start = s.pos;
    s.readText("a name");
    if (names.find(s.text, s.textStart, s.textEnd) === undefined) return true;
    s.pos = start;
    return false;
  };
}
