/** Reads the code blocks of a page in order, and applies them as a reader of the page would. */
import { readFileSync, writeFileSync } from "node:fs";

export interface Block {
  readonly language: string;
  /** The text behind the language: the file that the block contains, or changes. */
  readonly file: string;
  readonly text: string;
}

export function blocksOf(page: string): Block[] {
  const blocks = page.matchAll(/^```(\S+) ?(.*)\n([\s\S]*?)^```$/gm);
  return [...blocks].map(([, language = "", file = "", text = ""]) => ({ language, file, text }));
}

/** Applies a diff block: replaces the lines without `+` by the lines without `-`. */
export function applyDiff(path: string, diff: string): void {
  const lines = diff.trimEnd().split("\n");
  const side = (sign: string) =>
    lines
      .filter((line) => !line.startsWith(sign))
      .map((line) => `${line.slice(1)}\n`)
      .join("");
  const text = readFileSync(path, "utf8");
  if (!text.includes(side("+"))) throw new Error(`${path} does not have:\n${side("+")}`);
  writeFileSync(
    path,
    text.replace(side("+"), () => side("-")),
  );
}

/**
 * A pattern for output. `…` matches any text in a line, or any lines if it is alone on its line.
 */
export function patternOf(shown: string): RegExp {
  const literal = shown.trim().replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(literal.replace(/^…$/gm, "[\\s\\S]*").replaceAll("…", ".*"));
}
