/**
 * Reads a configuration file. Each problem is reported with its line and column: what the file says
 * wrongly, and what the authority refuses.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from "yaml";
import type { Configuration } from "../../src/api/types.js";
import { didYouMean } from "../../src/contract/nearest.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { type ApiItem, type Field, type FieldValue, type FileSection, type InField, SECTIONS } from "./sections.js";

/** Most problems that are reported at once. */
const MAX_PROBLEMS = 20;
/** Maximum number of values. With aliases, a small file can have more than fit into memory. */
const MAX_VALUES = 1_000_000;

/** A configuration file that was read. */
export interface ConfigurationFile {
  readonly configuration: Configuration;
  /**
   * The place of a path such as `rules[3].scope`, as `file:line:column`; the place of its item if
   * the file does not have it.
   */
  readonly placeOf: (path: string) => string;
}

/**
 * @param file its name, for messages
 * @throws {CommandError} with the place of each problem
 */
export function readConfiguration(text: string, file: string): ConfigurationFile {
  const reader = new Reader(text, file);
  const configuration = reader.read();
  if (reader.problems.length > 0) throw new CommandError(shown(reader.problems), EXIT.usage);
  return { configuration: configuration as unknown as Configuration, placeOf: (path) => reader.placeOf(path) };
}

function shown(problems: readonly string[]): string {
  const more = problems.length - MAX_PROBLEMS;
  return [...problems.slice(0, MAX_PROBLEMS), ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

const NAMES = SECTIONS.map(({ name }) => name);

class Reader {
  readonly #problems: { readonly at: number; readonly text: string }[] = [];
  readonly #file: string;
  readonly #lines = new LineCounter();
  readonly #document: Document.Parsed;
  /** The node of each alias that has one. */
  readonly #nodes: ReadonlyMap<unknown, unknown>;
  #values = 0;

  constructor(text: string, file: string) {
    this.#file = file;
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false });
    const { errors, warnings } = this.#document;
    // A warning says that something has another meaning than its text: a tag that is not known.
    for (const { pos, message } of [...errors, ...warnings]) this.#report(pos[0], message);
    this.#nodes = nodesOfAliases(this.#document);
  }

  /** In the order of the file. */
  get problems(): string[] {
    return this.#problems.toSorted((a, b) => a.at - b.at).map(({ text }) => text);
  }

  read(): Record<string, unknown> {
    const { contents } = this.#document;
    if (this.problems.length > 0) return {};
    const known = `sections: ${NAMES.join(", ")}`;
    if (!isMap(contents)) {
      this.#report(0, `must have ${known}`);
      return {};
    }
    const configuration: Record<string, unknown> = {};
    for (const { key, value } of contents.items) {
      const name = isScalar(key) ? String(key.value) : "";
      const section = SECTIONS.find((one) => one.name === name);
      const at = startOf(key);
      if (section === undefined) this.#report(at, `there is no section ${name}${didYouMean(name, NAMES)}`);
      else configuration[name] = { [name]: this.#itemsOf(section, this.#resolved(value), at) };
    }
    return configuration;
  }

  placeOf(path: string): string {
    const segments = path.match(/\w+/g) ?? [];
    let node: unknown = this.#document.contents;
    let at = startOf(node);
    for (const segment of segments) {
      const next = this.#child(node, camelCase(segment));
      // Options of a service are fields of the service itself.
      if (next === undefined && segment === "options") continue;
      if (next === undefined) break;
      node = next;
      at = startOf(node);
    }
    return this.#place(at);
  }

  #child(node: unknown, segment: string): unknown {
    if (isSeq(node)) return this.#resolved(node.items[Number(segment)]);
    if (!isMap(node)) return undefined;
    return this.#resolved(node.items.find(({ key }) => isScalar(key) && key.value === segment)?.value);
  }

  #itemsOf(section: FileSection, value: unknown, at: number): ApiItem[] {
    if (isSeq(value)) return value.items.map((item) => this.#itemOf(section, this.#resolved(item)));
    // Nothing is no empty list: with --prune, a list that is commented out would delete all.
    const isAbsent = value === null || (isScalar(value) && value.value === null);
    if (value !== undefined)
      this.#report(isAbsent ? at : startOf(value), `${section.name} must be a list; [] for none`);
    return [];
  }

  #itemOf(section: FileSection, node: unknown): ApiItem {
    if (!isMap(node)) {
      this.#report(startOf(node), `must be ${withArticle(section.noun)} with ${section.key}`);
      return {};
    }
    const places = new Map<string, number>();
    const entry: Record<string, FieldValue> = {};
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : "";
      const field = section.fields.find((one) => one.name === name);
      if (field === undefined) {
        const names = section.fields.map(({ name }) => name);
        this.#report(startOf(key), `${withArticle(section.noun)} has no field ${name}${didYouMean(name, names)}`);
        continue;
      }
      const resolved = this.#resolved(value);
      places.set(name, startOf(value));
      const read = this.#valueOf(field, resolved);
      if (read === undefined) this.#report(startOf(value), `${name} must be ${expectedOf(field)}`);
      else entry[name] = read;
    }
    const missing = section.fields.filter(({ name, required }) => required && !places.has(name));
    for (const { name } of missing) this.#report(startOf(node), `${name} is missing`);
    const isWhole = missing.length === 0 && [...places.keys()].every((name) => name in entry);
    const inField: InField = (name, read) => {
      try {
        return read();
      } catch (error) {
        this.#report(places.get(name) ?? startOf(node), `${name} ${(error as Error).message}`);
        return undefined;
      }
    };
    return isWhole ? section.toItem(entry, inField) : {};
  }

  /** Undefined if it is no value of the field. */
  #valueOf({ kind, words }: Field, node: unknown): FieldValue | undefined {
    if (++this.#values > MAX_VALUES)
      throw new CommandError(`${this.#file}: has more than ${MAX_VALUES} values`, EXIT.usage);
    if (kind === "list") {
      if (!isSeq(node)) return undefined;
      const texts = node.items.map((item) => this.#valueOf({ ...TEXT }, this.#resolved(item)));
      return texts.some((text) => text === undefined) ? undefined : (texts as string[]);
    }
    if (!isScalar(node)) return undefined;
    const { value, source } = node;
    if (kind === "scalar") return typeof value === "number" ? (source ?? String(value)) : textOf(value);
    if (kind === "number") return Number.isSafeInteger(value) ? (value as number) : undefined;
    if (kind === "boolean") return typeof value === "boolean" ? value : undefined;
    return words !== undefined && !words.includes(String(value)) ? undefined : textOf(value);
  }

  #resolved(node: unknown): unknown {
    if (!isAlias(node)) return node;
    const resolved = this.#nodes.get(node);
    if (resolved === undefined) this.#report(startOf(node), `there is no anchor &${node.source} before`);
    return resolved;
  }

  #report(at: number, problem: string): void {
    this.#problems.push({ at, text: `${this.#place(at)}: ${problem}` });
  }

  #place(at: number): string {
    const { line, col } = this.#lines.linePos(at);
    return `${this.#file}:${line}:${col}`;
  }
}

/** In one pass: `Alias.resolve` reads the document from its beginning. */
function nodesOfAliases(document: Document): ReadonlyMap<unknown, unknown> {
  const anchors = new Map<string, unknown>();
  const nodes = new Map<unknown, unknown>();
  visit(document, {
    Value: (_, node) => void (node.anchor !== undefined && anchors.set(node.anchor, node)),
    Alias: (_, node) => void (anchors.has(node.source) && nodes.set(node, anchors.get(node.source))),
  });
  return nodes;
}

function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}

const TEXT: Field = { name: "", kind: "text", meaning: "" };

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function expectedOf({ kind, words }: Field): string {
  if (words !== undefined) return words.join(" or ");
  if (kind === "boolean") return "true or false";
  if (kind === "number") return "a whole number";
  if (kind === "list") return "a list of texts";
  return kind === "scalar" ? "a text or a number" : "a text; put a number in quotes";
}

function startOf(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
