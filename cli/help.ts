/** `portico help`: the help of a command, also of one several words long. */
import type { Command } from "commander";
import { examples, newCommand } from "./terminal/command.js";
import { CommandError, EXIT } from "./terminal/exit.js";

export function help(program: Command): Command {
  const command = newCommand("help [command...]", "show the help of a command");
  examples(command, "portico help login", "portico help auth create rule");
  return command.action((words: string[]) => {
    let found = program;
    for (const word of words) {
      const next = found.commands.find((one) => one.name() === word);
      if (next === undefined) throw new CommandError(`There is no command ${words.join(" ")}`, EXIT.usage);
      found = next;
    }
    found.outputHelp();
  });
}
