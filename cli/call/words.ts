/**
 * The words after a service: its endpoint, the fields of the request, and Portico's own `-o` and
 * `--help`.
 */
import { CommandError, EXIT } from "../terminal/exit.js";
import { FORMATS, type Format } from "../terminal/output.js";

export interface CallWords {
  /**
   * `call`, or `orders/get` if the gRPC service is named too. Undefined means the endpoint `Call`.
   */
  readonly endpoint: string | undefined;
  /** Names are field names, such as `user_id`. A value is undefined if none was given. */
  readonly fields: readonly NamedValue[];
  readonly output: Format;
  readonly help: boolean;
}

export type NamedValue = readonly [name: string, value: string | undefined];

const MAX_ENDPOINT_WORDS = 2;

/**
 * Reads `orders get --id=5 -o json`. Fields are `--a.b=1` or `--a.b 1`. `--user-id` is the field
 * `user_id`.
 * @throws {CommandError} for any other word.
 */
export function readWords(service: string, words: readonly string[]): CallWords {
  const rest = [...words];
  const named: string[] = [];
  while (named.length < MAX_ENDPOINT_WORDS && rest[0]?.startsWith("-") === false) named.push(rest.shift() ?? "");
  const endpoint = named.length === 0 ? undefined : named.join("/");
  const fields: NamedValue[] = [];
  let output: Format;
  let help = false;
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [, name, value] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (isHelp(word)) help = true;
    else if (isOutput(word)) output = formatOf(word.slice(2).replace(/^=/, "") || rest.shift());
    else if (name === undefined) throw unknownWord(service, named, word);
    else fields.push([fieldName(name), value ?? (isValue(rest[0]) ? rest.shift() : undefined)]);
  }
  return { endpoint, fields, output, help };
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}

/** Whether a word is `-o`, `-ojson` or `-o=json`. `--output` may be a field. */
export function isOutput(word: string): boolean {
  return /^-o(?:$|=|json$|yaml$|name$)/.test(word);
}

/** Whether a word can be the value of the field before it. */
function isValue(word: string | undefined): word is string {
  return word !== undefined && !word.startsWith("--") && !isHelp(word) && !isOutput(word);
}

function formatOf(word: string | undefined): Format {
  const format = FORMATS.find((known) => known === word);
  if (format !== undefined) return format;
  throw new CommandError(`-o takes ${FORMATS.join(", ")}, as in -o json`, EXIT.usage);
}

/** Names of fields have no dash. Keys of maps may, as in `labels[a-b]`. */
function fieldName(option: string): string {
  return option.replace(/\[[^\]]*\]|-/g, (part) => (part === "-" ? "_" : part));
}

function unknownWord(service: string, named: readonly string[], word: string): CommandError {
  const advice = `Fields are given as --name=value, JSON by: portico call ${service} ${named.join("/") || "Call"} '{…}'`;
  return new CommandError(`What is "${word}"? ${advice}`, EXIT.usage);
}
