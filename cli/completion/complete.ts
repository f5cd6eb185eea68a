/**
 * `portico __complete <shell> …`: prints the candidates for a place on a command line, for the
 * scripts of `portico completion`. It ends within a second, asks no questions, renews no login, and
 * prints nothing if something fails.
 *
 *     __complete bash <line up to the cursor> <COMP_WORDBREAKS>
 *         prints one candidate in each line, escaped as bash inserts it
 *     __complete zsh <word> … <current word>
 *         prints `open` or `closed`, candidate, description
 *     __complete fish <word> … <current word>
 *         prints candidate, description
 */
import type { Argument, Command, Option } from "commander";
import { type Candidate, CompletedArgument, CompletedOption, type CompletionPoint } from "../command/candidates.js";
import { connectQuietly } from "../command/connection.js";
import { EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { visible } from "../terminal/text.js";

const DEADLINE_MS = 1_000;

/** @returns the exit code. */
export async function complete(program: Command, args: readonly string[], io: Io): Promise<number> {
  const [shell = "", ...rest] = args;
  const late = AbortSignal.timeout(DEADLINE_MS);
  const quiet: Io = { ...io, signal: AbortSignal.any([io.signal, late]) };
  if (shell === "bash") {
    const line = readBashLine(rest[0] ?? "", rest[1] ?? "");
    const found = await candidatesFor(program, line.words, line.current, quiet);
    for (const candidate of found) io.stdout.write(`${toBash(candidate, line)}\n`);
    return EXIT.ok;
  }
  const current = (rest.pop() ?? "").replace(/^['"]/, "");
  for (const { text, about = "", open } of await candidatesFor(program, rest, current, quiet)) {
    const end = shell === "zsh" ? `${open ? "open" : "closed"}\t` : "";
    io.stdout.write(`${end}${text}\t${visible(about)}\n`);
  }
  return EXIT.ok;
}

async function candidatesFor(
  program: Command,
  words: readonly string[],
  current: string,
  io: Io,
): Promise<readonly Candidate[]> {
  try {
    const isHelp = words[0] === "help";
    const { command, given, option } = findCommand(program, isHelp ? words.slice(1) : words);
    const place = { connect: () => connectQuietly(io, command), env: io.env, given, current };
    const candidates = isHelp
      ? await helpedWords(command, place)
      : await (option === undefined ? nextWords(command, place) : candidatesOf(option, place));
    // Names come from services and accounts: a name with a control character could end a line.
    return candidates.filter(({ text }) => text.startsWith(current) && visible(text) === text);
  } catch {
    return [];
  }
}

/** The command that the words name. */
interface FoundCommand {
  readonly command: Command;
  readonly given: readonly string[];
  /** The option whose value comes next. */
  readonly option: Option | undefined;
}

/** Finds the command that the words name, and sets the options that they contain. */
function findCommand(program: Command, words: readonly string[]): FoundCommand {
  let command = program;
  let option: Option | undefined;
  const given: string[] = [];
  for (const word of words) {
    if (isServiceCall(command, given)) {
      given.push(word); // Options after a service belong to the service.
      continue;
    }
    if (option !== undefined) {
      command.setOptionValue(option.attributeName(), word);
      option = undefined;
      continue;
    }
    const [name = "", value] = splitOption(word);
    const known = word.startsWith("-")
      ? command.options.find(({ long, short }) => long === name || short === name)
      : undefined;
    if (known !== undefined && value !== undefined) command.setOptionValue(known.attributeName(), value);
    else if (known?.required) option = known;
    if (word.startsWith("-")) continue;
    const below = given.length === 0 ? command.commands.find((sub) => sub.name() === word) : undefined;
    if (below !== undefined) command = below;
    else given.push(word);
  }
  return { command, given, option };
}

/** Whether the words so far are `portico <service>`. */
function isServiceCall(command: Command, given: readonly string[]): boolean {
  return command.parent === null && given.length > 0;
}

/** Splits `--access=gr` into the option and its value. */
function splitOption(word: string): [name: string, value: string | undefined] {
  const at = word.startsWith("--") ? word.indexOf("=") : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

async function nextWords(command: Command, place: CompletionPoint): Promise<readonly Candidate[]> {
  const { given, current } = place;
  if (isServiceCall(command, given)) return nextArguments(command, place);
  const [name, value] = splitOption(current);
  if (value !== undefined) {
    const option = command.options.find(({ long }) => long === name);
    const values = option === undefined ? [] : await candidatesOf(option, { ...place, current: value });
    return values.map((candidate) => ({ ...candidate, text: `${name}=${candidate.text}` }));
  }
  return current.startsWith("-") ? optionsOf(command) : nextArguments(command, place);
}

/** After `portico help`: names of commands and services, without options and arguments. */
async function helpedWords(command: Command, place: CompletionPoint): Promise<readonly Candidate[]> {
  const { given, current } = place;
  if (current.startsWith("-")) return [];
  if (command.parent === null) return nextArguments(command, place);
  return given.length === 0 ? commandsOf(command) : [];
}

function commandsOf(command: Command): Candidate[] {
  return command.commands.map((sub) => ({ text: sub.name(), about: sub.description() }));
}

/** The candidates for the value of an option, or for an argument. */
async function candidatesOf(option: Option | Argument, place: CompletionPoint): Promise<readonly Candidate[]> {
  if (option.argChoices !== undefined) return option.argChoices.map((text) => ({ text }));
  const hasSource = option instanceof CompletedOption || option instanceof CompletedArgument;
  return hasSource && option.source !== undefined ? option.source(place) : [];
}

function optionsOf(command: Command): Candidate[] {
  const listed = command.options.filter(({ hidden }) => !hidden);
  return [
    ...listed.flatMap(({ long, required, description }) =>
      long === undefined || long === null
        ? []
        : [required ? { text: `${long}=`, about: description, open: true } : { text: long, about: description }],
    ),
    { text: "--help", about: "show this help" },
  ];
}

/** Subcommands of this command, and candidates for its next argument. */
async function nextArguments(command: Command, place: CompletionPoint): Promise<readonly Candidate[]> {
  const commands = place.given.length === 0 ? commandsOf(command) : [];
  const { registeredArguments } = command;
  const argument = registeredArguments[place.given.length] ?? registeredArguments.find(({ variadic }) => variadic);
  const candidates = argument === undefined ? [] : await candidatesOf(argument, place).catch(() => []);
  return [...commands, ...candidates];
}

/** A command line, split into words as bash does it. */
interface BashLine {
  /** The words after the program's name, without their quotes. */
  readonly words: readonly string[];
  readonly current: string;
  /**
   * The number of characters of `current` that bash does not replace: for bash a word begins after
   * `=`, `:` and an open quote.
   */
  readonly kept: number;
  /** Whether a quote is open at the cursor. */
  readonly quoted: boolean;
}

/**
 * @param line up to the cursor.
 * @param breaks COMP_WORDBREAKS, the characters at which bash splits words.
 */
function readBashLine(line: string, breaks: string): BashLine {
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

/** A candidate as bash inserts it: escaped, and followed by a space unless the word continues. */
function toBash({ text, open }: Candidate, { kept, quoted }: BashLine): string {
  const rest = text.slice(kept);
  if (quoted) return rest;
  return rest.replace(/[^\w@%+=:,./-]/gu, "\\$&") + (open ? "" : " ");
}
