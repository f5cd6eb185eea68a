/**
 * Declares a command that calls the gateway: its words, options and examples, and what it does once
 * it is connected.
 */
import type { Command, Option } from "commander";
import { examples, newCommand } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { FORMATS, type Format, outputOption } from "../terminal/output.js";
import { CompletedArgument, type Source } from "./candidates.js";
import { type CommandConnection, connect, connectionOptions } from "./connection.js";

/** @typeParam A the arguments, followed by the options, as Commander passes them. */
export interface GatewayCommand<A extends readonly unknown[]> {
  /** Name and arguments, `rule <id>`. */
  readonly usage: string;
  /** What the command does, in one line. */
  readonly summary: string;
  /** Command lines that are shown first in the command's help. */
  readonly examples: readonly string[];
  readonly options?: readonly Option[];
  /** The completion of each argument, in order. */
  readonly completion?: readonly Source[];
  /**
   * The formats that `-o` accepts. By default it accepts all formats. A command that prints no data
   * accepts none.
   */
  readonly formats?: readonly Exclude<Format, undefined>[];
  /**
   * Whether the command reads standard input. If not, data that is redirected to it is rejected.
   */
  readonly readsInput?: true;
  /** @throws {CommandError} */
  readonly run: (connection: CommandConnection, ...args: A) => Promise<void>;
}

/** Makes the command for an input and output. */
export type CommandFactory = (io: Io) => Command;

export function gatewayCommand<A extends readonly unknown[]>(declared: GatewayCommand<A>): CommandFactory {
  const { usage, summary, options = [], completion = [], formats = FORMATS, readsInput = false, run } = declared;
  const [name = "", ...words] = usage.split(" ");
  return (io) => {
    const command = examples(newCommand(name, summary), ...declared.examples);
    for (const [index, word] of words.entries()) command.addArgument(new CompletedArgument(word, completion[index]));
    const output = formats.length > 0 ? [outputOption(formats)] : [];
    for (const option of [...options, ...output, ...connectionOptions()]) command.addOption(option);
    // The last argument is the command itself.
    return command.action((...args) => run(connect(io, command, readsInput), ...(args.slice(0, -1) as unknown as A)));
  };
}
