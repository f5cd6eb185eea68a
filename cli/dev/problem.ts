/**
 * A problem at a place in a file of a service, and how it is shown: the place, the problem, and the
 * lines around it.
 */
import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { type Paint, visible } from "../terminal/text.js";

/** A problem and its place. */
export interface SourceProblem {
  /** An absolute path, or undefined when the problem has no file. */
  readonly file?: string | undefined;
  /** Counts from 1. */
  readonly line?: number | undefined;
  /** Counts from 1. */
  readonly column?: number | undefined;
  /** The number of characters that are marked. */
  readonly length?: number | undefined;
  readonly message: string;
}

/**
 * A problem as lines of text:
 *
 *     greeter/proto/greeter.proto:13:3: cannot find `strng` in this scope
 *
 *       12 │ message CallRequest {
 *       13 │   strng name = 1;
 *          │   ^^^^^
 *       14 │ }
 *
 * @param root the folder from which files are named.
 */
export function framed(problem: SourceProblem, root: string, paint: Paint): string[] {
  const { file, line, column, message } = problem;
  if (file === undefined) return message.split("\n").map(visible);
  const place = [relative(root, file) || file, line, column].filter((part) => part !== undefined).join(":");
  const [first = "", ...more] = message.split("\n").map(visible);
  const excerpt = line === undefined ? [] : excerptOf(problem, line, paint);
  return [`${paint("bold", visible(place))}: ${first}`, ...more.map((text) => `  ${text}`), ...excerpt];
}

/** The line with the lines before and after it, or nothing if the file cannot be read. */
function excerptOf({ file = "", column, length = 1 }: SourceProblem, line: number, paint: Paint): string[] {
  let lines: string[];
  try {
    lines = readFileSync(resolve(file), "utf8").split(/\r?\n/);
  } catch {
    return [];
  }
  const numbers = [line - 1, line, line + 1].filter((number) => number >= 1 && number <= lines.length);
  const width = `${numbers.at(-1)}`.length;
  const shown = numbers.flatMap((number) => {
    const text = lines[number - 1] ?? "";
    const row = `  ${`${number}`.padStart(width)} │ ${visible(text.replaceAll("\t", "  "))}`;
    if (number !== line || column === undefined) return [number === line ? row : paint("dim", row)];
    // A tab was shown as two characters.
    const before = text.slice(0, column - 1).replaceAll("\t", "  ").length;
    const marks = "^".repeat(Math.max(1, Math.min(length, text.length - column + 1)));
    return [row, `  ${" ".repeat(width)} │ ${" ".repeat(before)}${paint("red", marks)}`];
  });
  return ["", ...shown.map((row) => row.trimEnd()), ""];
}
