/**
 * `portico __complete <shell> …`: what may come next on a command line, for the scripts of `portico completion`. It
 * answers within a second, asks nothing, renews no login, and whatever goes wrong says nothing.
 *
 *     __complete bash <line up to the cursor> <COMP_WORDBREAKS>    a candidate a line, escaped, as bash inserts it
 *     __complete zsh  <word> … <current word>                      `open` or `closed`, candidate, description
 *     __complete fish <word> … <current word>                      candidate, description
 */
import type { Command, Option } from "commander";
import { connectQuietly } from "../http/connection.js";
import { EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { visible } from "../terminal/text.js";
import { readBashLine, toBash } from "./bash-words.js";
import { type Candidate, Candidates, sourceOfArgument, sourceOfOption } from "./candidates.js";

const DEADLINE_MS = 1_000;

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

/** Those that begin with the current word. */
async function candidatesFor(
  program: Command,
  words: readonly string[],
  current: string,
  io: Io,
): Promise<readonly Candidate[]> {
  try {
    const place = follow(program, words);
    const sources = new Candidates(io, () => connectQuietly(io, place.command));
    const all = await offered(place, current, sources);
    // What comes from elsewhere must not end a line.
    return all.filter(({ text }) => text.startsWith(current) && visible(text) === text);
  } catch {
    return [];
  }
}

/** Where the current word stands. */
interface Place {
  readonly command: Command;
  /** Words before it that belong to no option. */
  readonly given: readonly string[];
  /** The option whose value it is. */
  readonly option: Option | undefined;
  /** All words after the service, where a service is called. */
  readonly afterService: readonly string[];
}

/** Follows the words to their command, and sets the options that they set. */
function follow(program: Command, words: readonly string[]): Place {
  let command = program;
  let option: Option | undefined;
  const given: string[] = [];
  for (const [index, word] of words.entries()) {
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
    if (below === undefined && command === program) {
      return { command, given, option, afterService: words.slice(index + 1) };
    }
  }
  return { command, given, option, afterService: [] };
}

/** `--access=gr` as the option and its value. */
function splitOption(word: string): [name: string, value: string | undefined] {
  const at = word.startsWith("--") ? word.indexOf("=") : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

async function offered(place: Place, current: string, sources: Candidates): Promise<readonly Candidate[]> {
  const { command, given, option, afterService } = place;
  if (option !== undefined) return valuesOf(option, sources);
  const [service] = given;
  if (command.parent === null && service !== undefined) {
    return sources.afterService(service, afterService, current);
  }
  const [name, value] = splitOption(current);
  if (value !== undefined) {
    const known = command.options.find(({ long }) => long === name);
    const values = known === undefined ? [] : await valuesOf(known, sources);
    return values.map((candidate) => ({ ...candidate, text: `${name}=${candidate.text}` }));
  }
  if (current.startsWith("-")) return optionsOf(command);
  return argumentsOf(place, sources);
}

async function valuesOf(option: Option, sources: Candidates): Promise<readonly Candidate[]> {
  if (option.argChoices !== undefined) return option.argChoices.map((text) => ({ text }));
  const source = sourceOfOption(option);
  return source === undefined ? [] : sources[source]();
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

async function argumentsOf({ command, given }: Place, sources: Candidates): Promise<readonly Candidate[]> {
  const below = given.length === 0 ? command.commands : [];
  const commands = below.map((sub) => ({ text: sub.name(), about: sub.description() }));
  const { registeredArguments } = command;
  const argument = registeredArguments[given.length] ?? registeredArguments.find(({ variadic }) => variadic);
  const choices = (argument?.argChoices ?? []).map((text) => ({ text }));
  const source = argument && sourceOfArgument(command, argument.name());
  return [...commands, ...choices, ...(source === undefined ? [] : await sources[source](given[0] ?? ""))];
}
