/** Data on stdout: a table for people, or JSON, YAML or names for programs. */
import { once } from "node:events";
import { StringDecoder } from "node:string_decoder";
import { Option } from "commander";
import { layOut } from "../../src/api/json-layout.js";
import { CommandError, EXIT } from "./exit.js";
import type { Io } from "./io.js";
import { type Colour, paintFor, visible, visibleLines } from "./text.js";

/** The formats that `-o` accepts. */
export const FORMATS = ["json", "yaml", "name"] as const;
/** The format that `-o` names, or undefined for the format for people. */
export type Format = (typeof FORMATS)[number] | undefined;

export function outputOption(formats: readonly Exclude<Format, undefined>[] = FORMATS): Option {
  return new Option("-o, --output <format>", `print for a program: ${formats.join(", ")}`).choices(formats);
}

/**
 * A column of a table: its header, and the value that it shows for an item. The first column is the
 * item's name.
 */
export type Column<T> = readonly [
  header: string,
  show: (item: T) => string,
  colourOf?: (cell: string) => Colour | undefined,
];

/** Prints a list: as a table, or the first column of each item as its name. */
export async function printList<T>(io: Io, format: Format, items: readonly T[], columns: readonly Column<T>[]) {
  const names = () => items.map((item) => visible(columns[0]?.[1](item) ?? ""));
  if (format === "name") return writeLines(io, names());
  if (format !== undefined) return printValue(io, format, items);
  writeLines(io, table(io, items, columns));
}

/** Something that was created or found. */
export interface Item {
  readonly name: string;
  /** The value in JSON and YAML. */
  readonly value: unknown;
  /** Lines for people. */
  readonly text: readonly string[];
}

/** Prints one thing. */
export async function printItem(io: Io, format: Format, { name, value, text }: Item) {
  if (format === "name") return writeLines(io, [visible(name)]);
  if (format !== undefined) return printValue(io, format, value);
  writeLines(io, text);
}

/** A timestamp with seconds, or an empty text for none. */
export function instant(timestamp: string | undefined): string {
  return (timestamp ?? "").replace(/\.\d+/, "");
}

/** Rows of a word and its value, with aligned values. */
export function aligned(rows: readonly (readonly [word: string, value: string])[], gap: string): string[] {
  const width = Math.max(...rows.map(([word]) => word.length));
  return rows.map(([word, value]) => `${word.padEnd(width)}${gap}${value}`);
}

async function printValue(io: Io, format: "json" | "yaml", value: unknown) {
  if (format === "json") return printJson(io, JSON.stringify(value));
  const { toYaml } = await import("./yaml.js");
  io.stdout.write(toYaml(value));
}

/** Bytes that an endpoint returned instead of JSON. */
export interface RawBytes {
  readonly contentType: string;
  /** The bytes as they arrive. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * Prints the responses of a call, JSON text or raw bytes, as they arrive. If stdout is slow, it
 * waits.
 */
export async function printResponses(io: Io, format: Format, responses: AsyncIterable<string | RawBytes>) {
  let separator = "";
  for await (const response of responses) {
    if (typeof response !== "string") return printRaw(io, response);
    if (format === "yaml") io.stdout.write(separator);
    separator = "---\n";
    await printResponse(io, format, response);
    await drained(io);
  }
}

/**
 * Prints a response, given as JSON text. As a name, it prints only the first field. If that is a
 * list, it prints one item in each line.
 */
export async function printResponse(io: Io, format: Format, json: string) {
  if (format === "name") writeLines(io, firstFields(JSON.parse(json)).map(visible));
  else if (format === "yaml") await printValue(io, format, JSON.parse(json));
  else printJson(io, json);
}

function firstFields(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(firstFields);
  if (typeof value === "object" && value !== null) return Object.values(value).slice(0, 1).flatMap(firstFields);
  return value === null ? [] : [String(value)];
}

/** Indented on a terminal, unchanged elsewhere. */
function printJson(io: Io, json: string) {
  const indented = () => layOut(json).map(({ text }) => text);
  io.stdout.write(`${visibleLines(io.stdout.isTTY ? indented().join("") : json)}\n`);
}

const TEXT = /^(?:text\/|application\/(?:.+\+)?(?:json|xml|x-ndjson|yaml)\b)/i;

/**
 * Prints raw bytes unchanged. On a terminal it prints them only if they are text, with control
 * characters shown as escapes.
 * @throws {CommandError} for bytes that a terminal cannot show.
 */
async function printRaw(io: Io, { contentType, chunks }: RawBytes): Promise<void> {
  const { stdout } = io;
  const decoder = new StringDecoder("utf8");
  for await (const chunk of chunks) {
    if (stdout.isTTY && !TEXT.test(contentType)) {
      throw new CommandError(`The response is ${contentType}, which is not for a terminal. Add: > file`, EXIT.usage);
    }
    stdout.write(stdout.isTTY ? visibleLines(decoder.write(chunk)) : chunk);
    await drained(io);
  }
}

/** Waits until stdout takes more. */
export async function drained({ stdout, signal }: Io): Promise<void> {
  if (stdout.writableNeedDrain) await once(stdout, "drain", { signal });
}

function writeLines(io: Io, lines: readonly string[]) {
  for (const line of lines) io.stdout.write(`${line}\n`);
}

/** Two spaces between columns, and no spaces at the end of a line. */
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
