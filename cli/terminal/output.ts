/** Data on stdout: a table for people; JSON, YAML or bare names for programs. */
import { once } from "node:events";
import { Option } from "commander";
import type { RawAnswer } from "../http/http.js";
import { indent } from "./indent.js";
import type { Io } from "./io.js";
import { printRaw } from "./raw.js";
import { type Colour, paintFor, visible, visibleLines } from "./text.js";

export const FORMATS = ["json", "yaml", "name"] as const;
export type Format = (typeof FORMATS)[number] | undefined;

export function outputOption(formats: readonly Exclude<Format, undefined>[] = FORMATS): Option {
  return new Option("-o, --output <format>", `print for a program: ${formats.join(", ")}`).choices(formats);
}

/** A column of a table: its header and what it shows of an item. The first column names the item. */
export type Column<T> = readonly [
  header: string,
  show: (item: T) => string,
  colourOf?: (cell: string) => Colour | undefined,
];

/** Prints a list. */
export async function printList<T>(io: Io, format: Format, items: readonly T[], columns: readonly Column<T>[]) {
  const names = () => items.map((item) => visible(columns[0]?.[1](item) ?? ""));
  if (format === "name") return write(io, names());
  if (format !== undefined) return printValue(io, format, items);
  write(io, table(io, items, columns));
}

/** Prints what was made or found: `text` for people, its name or itself for programs. */
export async function printItem(io: Io, format: Format, item: { name: string; value: unknown; text: string[] }) {
  if (format === "name") return write(io, [visible(item.name)]);
  if (format !== undefined) return printValue(io, format, item.value);
  write(io, item.text);
}

/** A timestamp to the second; empty for none. */
export function instant(timestamp: string | undefined): string {
  return (timestamp ?? "").replace(/\.\d+/, "");
}

async function printValue(io: Io, format: "json" | "yaml", value: unknown) {
  if (format === "json") return printJson(io, JSON.stringify(value));
  const { toYaml } = await import("./yaml.js");
  io.stdout.write(toYaml(value));
}

/** Prints the answers of a call as they come, and no faster than they are read. */
export async function printAnswers(io: Io, format: Format, answers: AsyncIterable<string | RawAnswer>) {
  let separator = "";
  for await (const answer of answers) {
    if (typeof answer !== "string") return printRaw(io, answer);
    if (format === "yaml") io.stdout.write(separator);
    separator = "---\n";
    await printAnswer(io, format, answer);
    if (io.stdout.writableNeedDrain) await once(io.stdout, "drain", { signal: io.signal });
  }
}

/** Prints an answer, given as JSON text; as a name, its first field alone, and of a list one a line. */
export async function printAnswer(io: Io, format: Format, json: string) {
  if (format === "name") write(io, namesOf(JSON.parse(json)).map(visible));
  else if (format === "yaml") await printValue(io, format, JSON.parse(json));
  else printJson(io, json);
}

function namesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesOf);
  if (typeof value === "object" && value !== null) return Object.values(value).slice(0, 1).flatMap(namesOf);
  return value === null ? [] : [String(value)];
}

/** Without loss: indented on a terminal, as it is elsewhere. */
function printJson(io: Io, json: string) {
  io.stdout.write(`${visibleLines(io.stdout.isTTY ? indent(json) : json)}\n`);
}

function write(io: Io, lines: readonly string[]) {
  for (const line of lines) io.stdout.write(`${line}\n`);
}

/** Two spaces between columns, none at the end of a line. */
function table<T>(io: Io, items: readonly T[], columns: readonly Column<T>[]): string[] {
  const paint = paintFor(io.stdout, io.env);
  const cells = columns.map(([header, show]) => [header, ...items.map((item) => visible(show(item)))]);
  const widths = cells.map((column) => Math.max(...column.map((cell) => cell.length)));
  return ["", ...items].map((_, row) => {
    const line = columns.map(([, , colourOf], index) => {
      const cell = cells[index]?.[row] ?? "";
      const colour = row === 0 ? "bold" : colourOf?.(cell);
      const gap = " ".repeat((widths[index] ?? 0) - cell.length);
      return (colour === undefined ? cell : paint(colour, cell)) + (index === columns.length - 1 ? "" : gap);
    });
    return line.join("  ").trimEnd();
  });
}
