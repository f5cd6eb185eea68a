/** What a failed command line prints: the error, and a suggestion. */
import { type Command, CommanderError } from "commander";
import { ConfigError } from "../src/config/setting.js";
import { nearest } from "../src/contract/nearest.js";
import { CommandError, EXIT, type Exit } from "./terminal/exit.js";
import { fileProblem } from "./terminal/file-problem.js";
import type { Io } from "./terminal/io.js";
import { paintFor, visible, visibleLines } from "./terminal/text.js";

/**
 * Prints an error, and returns the exit code. Commander has printed its own errors already, except
 * as JSON.
 * @param json whether to print the error as JSON.
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
  if (error instanceof ConfigError) return error.message;
  if (isSystemError(error)) return fileProblem(error);
  return `Portico itself is at fault: ${error instanceof Error ? error.stack : error}`;
}

function exitOf(error: unknown): Exit {
  return error instanceof ConfigError || error instanceof CommanderError ? EXIT.usage : EXIT.failed;
}

/** For example a full disk, or a folder without write permission. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

/** Commander's text about a usage error in the form of our errors, with a suggestion. */
export function usageError(text: string, command: Command): string {
  return mistypedOption(text, command) ?? sentence(text) + hint(text, command);
}

/** Converts `error: unknown option '--foo'` to a sentence. */
function sentence(text: string): string {
  return text.replace(/^error: (.)/, (_, first: string) => first.toUpperCase());
}

/**
 * If a required option is missing, the user may have mistyped it. Commander reports only that it is
 * missing.
 */
function mistypedOption(text: string, command: Command): string | undefined {
  if (!text.startsWith("error: required option")) return undefined;
  const known = command.options.flatMap(({ long }) => long ?? []);
  const given = command.args.filter((word) => /^--[^=]/.test(word)).map((word) => word.replace(/=.*/s, ""));
  const unknown = given.find((option) => !known.includes(option) && nearest(option, known) !== undefined);
  if (unknown === undefined) return undefined;
  return `Unknown option '${unknown}'\n(Did you mean ${nearest(unknown, known)}?)\n`;
}

/**
 * If a command has its own action and gets too many arguments, the first extra argument may be
 * meant as a subcommand.
 */
function hint(text: string, command: Command): string {
  const [word = ""] = text.startsWith("error: too many arguments") ? command.args : [];
  const names = command.commands.map((sub) => sub.name());
  const meant = nearest(word, names);
  return meant === undefined ? "" : `(Did you mean ${meant}?)\n`;
}
