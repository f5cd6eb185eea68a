/**
 * `portico dev` and `portico build`. Their code is loaded only when they start, so that other
 * commands start fast.
 */
import type { Command } from "commander";
import { type Flags, SETTINGS } from "../../src/config/config.js";
import { CompletedArgument, CompletedOption } from "../command/candidates.js";
import { completionOf } from "../roles/commands.js";
import { examples, newCommand } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";

/** Completes the names of folders. */
const folders = completionOf(SETTINGS.data);

/** @param onExit receives the exit code when `portico dev` has ended. */
export function dev(io: Io, onExit: (code: number) => void): Command {
  const command = newCommand("dev", "run the services below a folder, and reload what is saved");
  const { http } = SETTINGS;
  command.addArgument(new CompletedArgument("[folder]", folders).default(".", "this one"));
  command.addOption(
    new CompletedOption("--http <address>", `${http.meaning} (default ${http.default})`, completionOf(http)),
  );
  const data = "folder that holds the store (default .portico in the folder)";
  command.addOption(new CompletedOption("--data <folder>", data, folders));
  examples(command, "portico dev", "portico dev services --http 127.0.0.1:9090");
  return command.action(async (folder: string, flags: Flags) =>
    onExit(await (await import("./dev.js")).runDev(folder, flags, io)),
  );
}

export function build(io: Io): Command {
  const command = newCommand("build", "build a service into dist/, which runs elsewhere");
  command.addArgument(new CompletedArgument("[folder]", folders).default(".", "this one"));
  examples(command, "portico build", "portico build greeter");
  return command.action(async (folder: string) => (await import("./build.js")).build(folder, io));
}
