/** What a failed command line prints: what is wrong, and what was perhaps meant. */
import { type Command, CommanderError } from "commander";
import { ConfigError } from "../src/config/config.js";
import { nearest } from "../src/contract/nearest.js";
import { CommandError, EXIT, type Exit } from "./terminal/exit.js";
import type { Io } from "./terminal/io.js";
import { paintFor, visible, visibleLines } from "./terminal/text.js";

/**
 * Prints what went wrong, and gives the exit code. Commander has printed its own errors already, except as JSON.
 * @param json whether to print it as JSON.
 */
export function report(error: unknown, io: Io, json: boolean): number {
  if (error instanceof CommanderError && (error.exitCode === 0 || !json)) {
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  const failure = error instanceof CommandError ? error : new CommandError(textOf(error), exitOf(error));
  if (json) {
    io.stderr.write(`${visible(JSON.stringify(failure))}\n`);
  } else {
    const text = paintFor(io.stderr, io.env)("red", visibleLines(failure.message));
    const trace = failure.trace === undefined ? "" : `${visible(failure.trace)}\n`;
    io.stderr.write(`${text}\n${trace}`);
  }
  return failure.exit;
}

function textOf(error: unknown): string {
  if (error instanceof CommanderError) {
    return error.code === "commander.help"
      ? "A command is missing. To see what there is: --help"
      : sentence(error.message);
  }
  if (error instanceof ConfigError || isSystemError(error)) return error.message;
  return `Portico itself is at fault: ${error instanceof Error ? error.stack : error}`;
}

function exitOf(error: unknown): Exit {
  return error instanceof ConfigError || error instanceof CommanderError ? EXIT.usage : EXIT.failed;
}

/** Such as a full disk, or a folder that may not be written: the message says what and where. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

/** Commander's text about a usage error as our errors are written, and what was perhaps meant. */
export function usageError(text: string, command: Command): string {
  return mistypedOption(text, command) ?? sentence(text) + hint(text, command);
}

/** `error: unknown option '--foo'` as a sentence. */
function sentence(text: string): string {
  return text.replace(/^error: (.)/, (_, first: string) => first.toUpperCase());
}

/** An option that is missing was perhaps mistyped. Commander reports the missing one only. */
function mistypedOption(text: string, command: Command): string | undefined {
  if (!text.startsWith("error: required option")) return undefined;
  const known = command.options.flatMap(({ long }) => long ?? []);
  const given = command.args.filter((word) => /^--[^=]/.test(word)).map((word) => word.replace(/=.*/s, ""));
  const unknown = given.find((option) => !known.includes(option) && nearest(option, known) !== undefined);
  if (unknown === undefined) return undefined;
  return `Unknown option '${unknown}'\n(Did you mean ${nearest(unknown, known)}?)\n`;
}

/** An argument too many, at a command that does something itself, was perhaps meant for one below it. */
function hint(text: string, command: Command): string {
  const [word = ""] = text.startsWith("error: too many arguments") ? command.args : [];
  const names = command.commands.map((sub) => sub.name());
  const meant = nearest(word, names);
  return meant === undefined ? "" : `(Did you mean ${meant}?)\n`;
}
