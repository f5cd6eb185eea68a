/** A bash command line as far as the cursor, read as bash reads it, and candidates written as bash inserts them. */
import type { Candidate } from "../http/candidates.js";

export interface BashLine {
  /** The words after the program's name, without their quotes. */
  readonly words: readonly string[];
  readonly current: string;
  /** How much of `current` bash does not replace: it takes a word to begin after a `=` or `:`, and after an open quote. */
  readonly kept: number;
  /** Whether a quote is open at the cursor. */
  readonly quoted: boolean;
}

/** @param breaks COMP_WORDBREAKS */
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

/** With the space that follows it, unless it goes on. */
export function toBash({ text, open }: Candidate, { kept, quoted }: BashLine): string {
  const rest = text.slice(kept);
  if (quoted) return rest;
  return rest.replace(/[^\w@%+=:,./-]/gu, "\\$&") + (open ? "" : " ");
}
