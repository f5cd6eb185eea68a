/**
 * Text for a terminal: control characters shown as escapes, colours, and words quoted for a shell.
 */
import { styleText } from "node:util";
import type { TerminalOutput } from "./io.js";

/**
 * Characters that move the cursor, or colour or reorder text: C0, DEL and C1 controls, line
 * separators, bidirectional controls. Names and error texts come from services and accounts, which
 * must not control the terminal.
 */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text on one line. Each control character is shown as an escape, `\u001b`. */
export function visible(text: string): string {
  return text.replace(CONTROLS, shown);
}

/** The same for text of several lines. Line feeds and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(CONTROLS, (character) =>
    character === "\n" || character === "\t" ? character : shown(character),
  );
}

function shown(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export type Colour = "bold" | "dim" | "red" | "green";
export type Paint = (colour: Colour, text: string) => string;

/**
 * Colours for a terminal, unless NO_COLOR (https://no-color.org) is set. No colours for a file or a
 * pipe.
 */
export function paintFor(output: TerminalOutput, env: NodeJS.ProcessEnv): Paint {
  if (!hasColours(output, env)) return (_, text) => text;
  // By default Node would look at process.stdout and process.env instead.
  return (colour, text) => styleText(colour, text, { validateStream: false });
}

export function hasColours(output: TerminalOutput, env: NodeJS.ProcessEnv): boolean {
  return output.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
}

/** A word as a POSIX shell reads it on a command line: quoted if necessary. */
export function quoted(text: string): string {
  return /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
