/** How every command is declared. Its help shows examples first, and fits a terminal of 80 columns. */
import { Command } from "commander";

/** @param usage name and arguments, `rule <id>` */
export function newCommand(usage: string, summary: string): Command {
  const [name, ...declared] = usage.split(" ");
  const command = new Command(name).description(summary);
  for (const one of declared) command.argument(one);
  return command;
}

/** Puts examples before everything else in a command's help. */
export function examples(command: Command, ...lines: string[]): Command {
  return command.addHelpText("before", `Examples:\n${lines.map((line) => `  ${line}\n`).join("")}`);
}

/** `portico auth list` */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
