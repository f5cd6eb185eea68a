/** The command line: its commands, and how it runs. */
import type { Command } from "commander";
import { afterService } from "./call/completion.js";
import { describe, openapi, services } from "./call/service.js";
import { callService } from "./call/with-fields.js";
import { call } from "./call/with-json.js";
import { client } from "./client/client.js";
import { CompletedArgument, serviceNames } from "./command/candidates.js";
import { connectionOptions } from "./command/connection.js";
import { complete } from "./completion/complete.js";
import { completion } from "./completion/scripts.js";
import { applyConfiguration, diffConfiguration, exportConfiguration } from "./configuration/commands.js";
import { add, build, dev } from "./dev/commands.js";
import { doctor } from "./doctor/commands.js";
import { mcp } from "./mcp/mcp.js";
import { newService } from "./new/new-service.js";
import { auth } from "./nouns/auth.js";
import { releaseNames } from "./nouns/grpc-name.js";
import { login, logout } from "./nouns/login.js";
import { usage } from "./nouns/usage.js";
import { user } from "./nouns/user.js";
import { report, usageError } from "./report.js";
import { adoptServices } from "./roles/adopt-services.js";
import { roles } from "./roles/commands.js";
import { addService, importServices, listServices, removeService, setService } from "./services/services.js";
import { examples, newCommand, pathOf } from "./terminal/command.js";
import { CommandError, EXIT } from "./terminal/exit.js";
import type { Io } from "./terminal/io.js";
import { outputOption } from "./terminal/output.js";
import { hasColours, paintFor } from "./terminal/text.js";
import { versionText } from "./terminal/version.js";

/**
 * Runs one command line. `args` do not contain the program's own name.
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
  const usageErrors: string[] = [];
  const program = createProgram(io, onExit, json ? (text) => void usageErrors.push(text) : undefined);
  try {
    await program.parseAsync(args, { from: "user" });
    return exit;
  } catch (error) {
    const usage = usageErrors.length > 0 ? new CommandError(usageErrors.join("").trim(), EXIT.usage) : undefined;
    return report(usage ?? error, io, json);
  }
}

/**
 * Whether the words ask for JSON. Read from the words directly, because they may contain a usage
 * error.
 */
function asksForJson(args: readonly string[]): boolean {
  return args.some((word, index) => {
    const joined = /^(?:-o=?|--output=)(.+)$/.exec(word)?.[1];
    const separate = word === "-o" || word === "--output" ? args[index + 1] : undefined;
    return (joined ?? separate) === "json";
  });
}

/**
 * @param onExit receives the exit code of a role, when the role has ended.
 * @param onUsageError receives the text of a usage error. By default the text is written to stderr,
 * with a pointer to the help.
 */
export function createProgram(io: Io, onExit: (code: number) => void, onUsageError?: (text: string) => void): Command {
  const program = newCommand("portico", "One front door for many services.")
    .addArgument(new CompletedArgument("[service]", serviceNames))
    .addArgument(new CompletedArgument("[words...]", afterService))
    .usage("[options] <command>")
    .version(versionText(), "-V, --version", "print the version")
    .enablePositionalOptions()
    .passThroughOptions();
  for (const option of [outputOption(), ...connectionOptions()]) program.addOption(option);
  examples(
    program,
    "portico server                                  start here",
    "portico login                                   as admin",
    "portico helloworld call --name=Ada              call a service",
    `portico call helloworld Call '{"name":"Ada"}'   the same with JSON`,
    "portico auth list rules                         who may call what",
  );
  program.action(async (service: string | undefined, words: string[]) => {
    if (service === undefined) program.outputHelp();
    else await callService(io, program, service, words);
  });
  const group = (heading: string, commands: Command[]) => {
    for (const command of commands) program.addCommand(command.helpGroup(heading));
  };
  group("Run Portico:", [...roles(io, onExit), doctor(io, onExit)]);
  group("Log in:", [login(io), logout(io), user(io)]);
  group("Manage:", [auth(io), usage(io), exportConfiguration(io), diffConfiguration(io), applyConfiguration(io)]);
  group("Call services:", [
    services(io)
      .addCommand(addService(io))
      .addCommand(setService(io))
      .addCommand(removeService(io))
      .addCommand(listServices(io))
      .addCommand(importServices(io))
      .addCommand(releaseNames(io))
      .addCommand(adoptServices(io)),
    describe(io),
    openapi(io),
    call(io),
    client(io),
    mcp(io),
  ]);
  group("Write services:", [newService(io), dev(io, onExit), build(io), add(io)]);
  group("Other:", [completion(io), help(io, program)]);
  configure(program, io, onUsageError);
  return program;
}

/**
 * `portico help`: the help of a command, or of a service. The command's name may have several
 * words.
 */
function help(io: Io, program: Command): Command {
  const command = newCommand("help [command...]", "show the help of a command, or of a service");
  examples(command, "portico help login", "portico help auth create rule", "portico help helloworld");
  return command.action(async (words: string[]) => {
    let found = program;
    for (const word of words) {
      const next = found.commands.find((sub) => sub.name() === word);
      if (next === undefined && found === program) return callService(io, program, word, [...words.slice(1), "--help"]);
      if (next === undefined) throw new CommandError(`There is no command ${words.join(" ")}`, EXIT.usage);
      found = next;
    }
    found.outputHelp();
  });
}

/**
 * Makes a command and all its subcommands write to `io`, throw instead of exiting, and use 80
 * columns.
 */
function configure(command: Command, io: Io, onUsageError: ((text: string) => void) | undefined): void {
  const width = () => Math.min(io.stdout.columns ?? 80, 80);
  const writeErr = (text: string) => void (onUsageError === undefined && io.stderr.write(text));
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
        const words = usageError(text, command);
        if (onUsageError === undefined) write(paintFor(io.stderr, io.env)("red", words));
        else onUsageError(words);
      },
      getOutHelpWidth: width,
      getErrHelpWidth: width,
      getOutHasColors: () => hasColours(io.stdout, io.env),
      getErrHasColors: () => hasColours(io.stderr, io.env),
    });
  for (const sub of command.commands) configure(sub, io, onUsageError);
}
