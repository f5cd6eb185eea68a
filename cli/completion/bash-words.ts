/** bash: splits a command line into words as bash does, and writes candidates as bash inserts them. */
import type { Candidate } from "../http/candidates.js";

export interface BashLine {
  /** The words after the program's name, without their quotes. */
  readonly words: readonly string[];
  readonly current: string;
  /** Characters of `current` that bash does not replace: for bash a word begins after `=`, `:` and an open quote. */
  readonly kept: number;
  /** Whether a quote is open at the cursor. */
  readonly quoted: boolean;
}

/**
 * @param line as far as the cursor.
 * @param breaks COMP_WORDBREAKS, the characters at which a word breaks.
 */
export function readBashLine(line: string, breaks: string): BashLine {
  const words: string[] = [];
  let word = "";
  let kept = 0;
  let quote = "";
  let begun = false;
  const end = () => {
    if (begun) words.push(word);
    [word, kept, begun] = ["", 0, false];
  };
  for (let at = 0; at < line.length; at++) {
    const character = line[at] ?? "";
    if (quote !== "") {
      if (character === quote) quote = "";
      else word += quote === '"' && character === "\\" ? (line[++at] ?? "") : character;
    } else if (/\s/.test(character)) {
      end();
    } else {
      begun = true;
      if (character === "'" || character === '"') {
        quote = character;
        kept = word.length;
      } else if (character === "\\") word += line[++at] ?? "";
      else {
        word += character;
        if (breaks.includes(character)) kept = word.length;
      }
    }
  }
  return { words: words.slice(1), current: word, kept, quoted: quote !== "" };
}

/** A candidate as bash inserts it: escaped, and with a space after it unless the word goes on. */
export function toBash({ text, open }: Candidate, { kept, quoted }: BashLine): string {
  const rest = text.slice(kept);
  if (quoted) return rest;
  return rest.replace(/[^\w@%+=:,./-]/gu, "\\$&") + (open ? "" : " ");
}
