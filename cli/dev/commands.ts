/**
 * `portico dev`, `portico build` and `portico add`. Their code is loaded only when they start, so
 * that other commands start fast.
 */
import type { Command } from "commander";
import { type Flags, SETTINGS } from "../../src/config/config.js";
import { CompletedArgument, CompletedOption, serviceNames } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
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

export function add(io: Io): Command {
  const command = newCommand("add", "add to the project in this folder");
  return examples(command, "portico add proto orders").addCommand(addProto(io));
}

const addProto = gatewayCommand({
  usage: "proto <service>",
  summary: "add the definition of a service that the project calls",
  examples: ["portico add proto orders", "portico add proto orders --dir greeter"],
  options: [new CompletedOption("--dir <folder>", "the folder of the project", folders).default(".", "this one")],
  completion: [serviceNames],
  formats: [],
  run: async (connection, service: string, { dir }: { readonly dir: string }) =>
    (await import("./add-proto.js")).addProto(service, dir, connection),
});

export function build(io: Io): Command {
  const command = newCommand("build", "build a service into dist/, which runs elsewhere");
  command.addArgument(new CompletedArgument("[folder]", folders).default(".", "this one"));
  examples(command, "portico build", "portico build greeter");
  return command.action(async (folder: string) => (await import("./build.js")).build(folder, io));
}
