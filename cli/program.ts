/** The command line as a whole: its commands, and how each kind of failure ends it. */
import { type Command, CommanderError } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { ConfigError } from "../src/config.js";
import { nearest } from "../src/contract/nearest.js";
import { call } from "./call/call.js";
import { callService } from "./call/call-service.js";
import { describe } from "./call/describe.js";
import { complete } from "./completion/complete.js";
import { completion } from "./completion/completion.js";
import { help } from "./help.js";
import { connectionOptions } from "./http/connection.js";
import { newService } from "./new/new.js";
import { auth } from "./nouns/auth.js";
import { login } from "./nouns/login.js";
import { logout } from "./nouns/logout.js";
import { openapi } from "./nouns/openapi.js";
import { services } from "./nouns/services.js";
import { usage } from "./nouns/usage.js";
import { user } from "./nouns/user.js";
import { roles } from "./roles/commands.js";
import { examples, newCommand, pathOf } from "./terminal/command.js";
import { CommandError, EXIT, type Exit } from "./terminal/exit.js";
import type { Io } from "./terminal/io.js";
import { outputOption } from "./terminal/output.js";
import { hasColours, paintFor, visible, visibleLines } from "./terminal/text.js";

/**
 * Runs one command line, without the program's own name.
 * @returns the exit code.
 */
export async function run(args: readonly string[], io: Io): Promise<number> {
  if (args[0] === "__complete")
    return complete(
      createProgram(io, () => {}),
      args.slice(1),
      io,
    );
  let exit: number = EXIT.ok;
  const json = asksForJson(args);
  const onExit = (code: number) => {
    exit = code;
  };
  const wrongWords: string[] = [];
  const program = createProgram(io, onExit, json ? (text) => void wrongWords.push(text) : undefined);
  try {
    await program.parseAsync(args, { from: "user" });
    return exit;
  } catch (error) {
    const usage = wrongWords.length > 0 ? new CommandError(wrongWords.join("").trim(), EXIT.usage) : undefined;
    return report(usage ?? error, io, json);
  }
}

/**
 * @param onExit is given the exit code of a role, when it has ended.
 * @param onWrongWords is given what is wrong with the words; by default it is written to stderr, with the way to the help.
 */
export function createProgram(io: Io, onExit: (code: number) => void, onWrongWords?: (text: string) => void): Command {
  const program = newCommand("portico [service] [words...]", "One front door for many services.")
    .usage("[options] <command>")
    .version(packageJson.version, "-V, --version", "print the version")
    .enablePositionalOptions()
    .passThroughOptions();
  for (const option of [outputOption(), ...connectionOptions()]) program.addOption(option);
  examples(
    program,
    "portico server                                  start here",
    "portico login                                   as admin",
    "portico helloworld call --name=Ada              call a service",
    `portico call helloworld Call '{"name":"Ada"}'    the same with JSON`,
    "portico auth list rules                         who may call what",
  );
  program.action(async (service: string | undefined, words: string[]) => {
    if (service === undefined) program.outputHelp();
    else await callService(io, program, service, words);
  });
  const group = (heading: string, commands: Command[]) => {
    for (const command of commands) program.addCommand(command.helpGroup(heading));
  };
  group("Run Portico:", roles(io, onExit));
  group("Log in:", [login(io), logout(io), user(io)]);
  group("Manage:", [auth(io), usage(io)]);
  group("Call services:", [services(io), describe(io), openapi(io), call(io)]);
  group("Other:", [newService(io), completion(io), help(program)]);
  settle(program, io, onWrongWords);
  return program;
}

/** Makes a command and all below it write to `io`, throw instead of exiting, and keep to 80 columns. */
function settle(command: Command, io: Io, onWrongWords: ((text: string) => void) | undefined): void {
  const width = () => Math.min(io.stdout.columns ?? 80, 80);
  const writeErr = (text: string) => void (onWrongWords === undefined && io.stderr.write(text));
  command
    .helpCommand(false)
    .helpOption("-h, --help", "show this help")
    .exitOverride()
    .showHelpAfterError(`For help: ${pathOf(command)} --help`)
    .configureHelp({ optionDescription: (option) => option.description, subcommandTerm: (sub) => sub.name() })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr,
      outputError: (text, write) => {
        const words = wordsFor(text, command);
        if (onWrongWords === undefined) write(paintFor(io.stderr, io.env)("red", words));
        else onWrongWords(words);
      },
      getOutHelpWidth: width,
      getErrHelpWidth: width,
      getOutHasColors: () => hasColours(io.stdout, io.env),
      getErrHasColors: () => hasColours(io.stderr, io.env),
    });
  for (const sub of command.commands) settle(sub, io, onWrongWords);
}

/** Commander's words about an error in the manner of our own, and what was perhaps meant. */
function wordsFor(text: string, command: Command): string {
  return mistypedOption(text, command) ?? sentence(text) + hint(text, command);
}

/** `error: unknown option '--foo'` as a sentence. */
function sentence(text: string): string {
  return text.replace(/^error: (.)/, (_, first: string) => first.toUpperCase());
}

/** An option that is missing was perhaps given by another name, of which Commander would speak only later. */
function mistypedOption(text: string, command: Command): string | undefined {
  if (!text.startsWith("error: required option")) return undefined;
  const known = command.options.flatMap(({ long }) => long ?? []);
  const given = command.args.filter((word) => /^--[^=]/.test(word)).map((word) => word.replace(/=.*/s, ""));
  const unknown = given.find((option) => !known.includes(option) && nearest(option, known) !== undefined);
  if (unknown === undefined) return undefined;
  return `Unknown option '${unknown}'\n(Did you mean ${nearest(unknown, known)}?)\n`;
}

/** A word too many at a command that does something itself was perhaps meant for one below it. */
function hint(text: string, command: Command): string {
  const [word = ""] = text.startsWith("error: too many arguments") ? command.args : [];
  const meant = nearest(
    word,
    command.commands.map((sub) => sub.name()),
  );
  return meant === undefined ? "" : `(Did you mean ${meant}?)\n`;
}

/**
 * Says what went wrong, and gives the exit code.
 * @param json whether to say it as JSON.
 */
function report(error: unknown, io: Io, json: boolean): number {
  if (error instanceof CommanderError && (error.exitCode === 0 || !json)) {
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage; // it has been said
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

/** Whether the words ask for JSON: read here, because an error may be in the words themselves. */
function asksForJson(args: readonly string[]): boolean {
  return args.some((word, index) => {
    const joined = /^(?:-o=?|--output=)(.+)$/.exec(word)?.[1];
    const separate = word === "-o" || word === "--output" ? args[index + 1] : undefined;
    return (joined ?? separate) === "json";
  });
}

/** Such as a full disk, or a folder that may not be written: the message says what and where. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}
