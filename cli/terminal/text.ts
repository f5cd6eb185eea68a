/** What is safe and pleasant to write to a terminal. */
import type { Output } from "./io.js";

/**
 * Characters that move the cursor, colour or reorder text: C0, DEL and C1 controls, line separators, bidirectional
 * controls. Names and messages come from elsewhere, and must not play tricks.
 */
const TRICKS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text on one line with every trick shown as an escape, `\u001b`. */
export function visible(text: string): string {
  return text.replace(TRICKS, shown);
}

/** The same for text of several lines. */
export function visibleLines(text: string): string {
  return text.replace(TRICKS, (character) => (character === "\n" || character === "\t" ? character : shown(character)));
}

function shown(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const COLOURS = { bold: [1, 22], red: [31, 39], green: [32, 39] } as const;
export type Colour = keyof typeof COLOURS;
export type Paint = (colour: Colour, text: string) => string;

/** Colours for a terminal, unless NO_COLOR (https://no-color.org) says otherwise; nothing for a file or a pipe. */
export function paintFor(output: Output, env: NodeJS.ProcessEnv): Paint {
  if (!hasColours(output, env)) return (_, text) => text;
  return (colour, text) => `\u001b[${COLOURS[colour][0]}m${text}\u001b[${COLOURS[colour][1]}m`;
}

export function hasColours(output: Output, env: NodeJS.ProcessEnv): boolean {
  return output.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
}
