/**
 * `portico server`, and its parts as separate commands. Their code is loaded only when they start,
 * so that other commands start fast.
 */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { type Flags, flagName, SETTINGS } from "../../src/config/config.js";
import type { RoleName } from "../../src/config/setting.js";
import { ConfigError } from "../../src/config/setting.js";
import type { Values } from "../../src/config/setting-values.js";
import { type Candidate, CompletedArgument, CompletedOption, type Source } from "../command/candidates.js";
import { examples, newCommand } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import type { BackupFlags } from "./backup.js";
import { BUILT_IN_SERVICES } from "./built-in-services.js";
import type { CopyFlags } from "./copy-store.js";
import type { RecoverFlags } from "./recover.js";
import type { RestoreFlags } from "./restore.js";

/** @param onExit receives the exit code when the role has ended. */
export function roles(io: Io, onExit: (code: number) => void): Command[] {
  const server = role("server", "run everything in one process");
  examples(server, "portico server", "portico server --http 127.0.0.1:0 --data ./data");
  server.action(async (flags: Flags) => onExit(await (await import("./server.js")).runServer(flags, io)));

  const gateway = role("gateway", "run a gateway alone");
  examples(gateway, "portico gateway --authority 10.0.0.5:8081", "portico gateway --workers 4");
  gateway.action(async (flags: Flags) => onExit(await (await import("./workers.js")).runGateway(flags, io)));

  const authority = role("authority", "run the authority alone, with the registry");
  examples(authority, "portico authority --grpc 0.0.0.0:8081");
  authority.action(async (flags: Flags) => onExit(await (await import("./authority.js")).runAuthority(flags, io)));

  const service = role("service", "run one of Portico's own services alone");
  service.addArgument(new CompletedArgument("<name>", ownServices));
  examples(service, "portico service helloworld --authority 10.0.0.5:8081");
  service.action(async (name: string, flags: Flags) =>
    onExit(await (await import("./service.js")).runService(name, flags, io)),
  );

  const enrol = newCommand("enrol <name>", "print an enrolment token, made in the store itself");
  for (const key of ["data", "store"] as const) enrol.addOption(optionOf(key));
  examples(
    enrol,
    "portico enrol gateway",
    "portico enrol helloworld --data ./data",
    "kubectl exec deploy/portico-authority -- portico enrol gateway",
  );
  enrol.action(async (name: string, flags: Flags) => (await import("./enrol.js")).enrol(name, flags, io));
  return [server, gateway, authority, service, enrol, recover(io), store(io), backup(io), restore(io)];
}

/** Commands for an operator who has the store but cannot log in. */
function recover(io: Io): Command {
  const admin = newCommand("admin", "set the administrator's password, in the store itself");
  for (const key of ["data", "store"] as const) admin.addOption(optionOf(key));
  admin.option("--password-stdin", "read the password from standard input; without it, one is made up and printed");
  examples(admin, "portico recover admin", "portico recover admin --data ./data --password-stdin < password.txt");
  admin.addHelpText(
    "after",
    "\nThe account admin gets the scope admin again, and is made again where it was\ndeleted. Authorities may run meanwhile.",
  );
  admin.action(async (flags: RecoverFlags) => (await import("./recover.js")).recover(flags, io));
  const command = newCommand("recover", "let the administrator log in again").addCommand(admin);
  return examples(command, "portico recover admin");
}

/** Commands for a store while no process runs on it. */
function store(io: Io): Command {
  const copy = newCommand("copy <from> <to>", "copy a store to another, which must be absent or empty");
  copy.addOption(optionOf("data"));
  copy.option("--services", "the store of services, which PORTICO_SERVICE_STORE names, not the authority's");
  const stopped = new Option("--stopped", "no authority runs, although one that was killed has left its claim");
  copy.addOption(stopped.conflicts("services"));
  copy.option("--as-copy", "the copy is for another installation, which runs beside the original");
  examples(
    copy,
    "portico store copy sqlite: postgres://portico@127.0.0.1/portico",
    "portico store copy postgres://portico@127.0.0.1/portico sqlite:copy.sqlite",
    "portico store copy --services sqlite: postgres://services@127.0.0.1/portico",
    "portico store copy --as-copy sqlite: sqlite:staging/portico.sqlite",
  );
  copy.addHelpText("after", "\nThe database's password is taken from PGPASSWORD, or from ~/.pgpass.");
  copy.action(async (from: string, to: string, flags: CopyFlags) =>
    (await import("./copy-store.js")).copy(from, to, flags, io),
  );
  const command = newCommand("store", "copy the authority's store, or that of services").addCommand(copy);
  return examples(command, "portico store copy sqlite: postgres://portico@127.0.0.1/portico");
}

const SERVICES = "the store of services, which PORTICO_SERVICE_STORE names, not the authority's";

/** Copies a store to a file, also while processes run on it. */
function backup(io: Io): Command {
  const command = newCommand("backup <file>", "copy the store to one file, also while Portico runs");
  for (const key of ["data", "store"] as const) command.addOption(optionOf(key));
  command.option("--services", SERVICES);
  examples(
    command,
    "portico backup /var/backups/portico.backup",
    "portico backup --services /var/backups/services.backup",
  );
  command.addHelpText("after", "\nFor SQLite. An earlier backup of that name is replaced. On Postgres, use\npg_dump.");
  return command.action(async (file: string, flags: BackupFlags) =>
    (await import("./backup.js")).backup(file, flags, io),
  );
}

/** Makes a backup the store again, while no process runs on it. */
function restore(io: Io): Command {
  const command = newCommand("restore <file>", "make a backup the store again, while Portico is stopped");
  for (const key of ["data", "store"] as const) command.addOption(optionOf(key));
  command.option("--services", SERVICES);
  command.option("--as-copy", "make it another installation, in an empty data folder");
  command.option("--keep-logins", "keep the logins and grants of the backup, also those that were ended since");
  command.option("--yes", "do not ask");
  examples(
    command,
    "portico restore /var/backups/portico.backup",
    "portico restore --services /var/backups/services.backup",
    "portico restore --as-copy --data ./staging --yes portico.backup",
  );
  command.addHelpText(
    "after",
    "\nIt says first what will be valid again and what is lost. The old store stays\nbeside the new one.",
  );
  return command.action(async (file: string, flags: RestoreFlags) =>
    (await import("./restore.js")).restore(file, flags, io),
  );
}

export const ownServices: Source = () => Object.keys(BUILT_IN_SERVICES).map((text) => ({ text }));

/**
 * A command with every setting that has an effect in this role and is allowed on a command line.
 */
function role(name: RoleName, summary: string): Command {
  const command = newCommand(name, summary);
  for (const [key, setting] of Object.entries(SETTINGS)) {
    if ("secret" in setting) continue;
    const option = optionOf(key as keyof typeof SETTINGS);
    command.addOption(setting.roles.includes(name) ? option : refused(option, name, setting.roles));
  }
  if (SETTINGS.store.roles.includes(name)) {
    command.option("--accept-time", "take the clock as right, also where the store has a later time; for one start");
  }
  const otherWays =
    "Those with a value have a variable, such as PORTICO_MAX_BODY, and a name in\nthe configuration file, such as maxBody.";
  return command.addHelpText("after", `\n${otherWays}`);
}

/** The option of a setting. */
export function optionOf(key: keyof typeof SETTINGS): Option {
  const setting = SETTINGS[key];
  const fallback = setting.default === undefined ? "" : ` (default ${setting.default})`;
  const option = new CompletedOption(`--${flagName(key)} <value>`, setting.meaning + fallback, completionOf(setting));
  option.attributeName = () => key;
  return option;
}

/**
 * Makes an option an error in this role. The help does not list it. It is declared so that the
 * error can name the roles that have it.
 */
function refused(option: Option, name: RoleName, roles: readonly RoleName[]): Option {
  const fits = roles.map((role) => `portico ${role}`).join(", ");
  return option.hideHelp().argParser(() => {
    throw new ConfigError(`portico ${name} has no option ${option.long}. It fits: ${fits}`);
  });
}

/**
 * The completion for the value of a setting: its possible words, or the names of files and folders.
 */
export function completionOf({ values }: { readonly values?: Values | undefined }): Source | undefined {
  if (values === "file") return ({ current }) => pathsAt(current);
  if (values === "folder") return ({ current }) => pathsAt(current).filter(({ open }) => open);
  return values && (() => values.map((text) => ({ text })));
}

/**
 * Files and folders whose path begins with the typed text. Hidden ones are listed only if their dot
 * is typed.
 */
function pathsAt(typed: string): (Candidate & { open: boolean })[] {
  const end = typed.lastIndexOf("/") + 1;
  const [folder, start] = [typed.slice(0, end), typed.slice(end)];
  const names = readdirSync(folder || ".").filter(
    (name) => name.startsWith(start) && (start !== "" || !name.startsWith(".")),
  );
  return names.map((name) => {
    const isFolder = statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() === true;
    return { text: `${folder}${name}${isFolder ? "/" : ""}`, open: isFolder };
  });
}
