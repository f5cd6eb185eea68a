/** A page that a test types: its blocks, in their order. */
import { readFileSync, writeFileSync } from "node:fs";

export interface Block {
  readonly language: string;
  /** What stands behind the language: the file that the block is, or changes. */
  readonly file: string;
  readonly text: string;
}

export function blocksOf(page: string): Block[] {
  const blocks = page.matchAll(/^```(\S+) ?(.*)\n([\s\S]*?)^```$/gm);
  return [...blocks].map(([, language = "", file = "", text = ""]) => ({ language, file, text }));
}

/** Makes an edit: the lines of the file that the block shows without `+` become those without `-`. */
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

/** A pattern for what is shown: `…` stands for any text in a line, on a line of its own for any lines. */
export function patternOf(shown: string): RegExp {
  const literal = shown.trim().replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(literal.replace(/^…$/gm, "[\\s\\S]*").replaceAll("…", ".*"));
}
