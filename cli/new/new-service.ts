/** `portico new`: creates a folder with a minimal service in TypeScript. */
import { lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { RESERVED_NAMES, SELF_GOVERNED } from "../../src/contract/names.js";
import { BUILT_IN_SERVICES } from "../roles/built-in-services.js";
import { examples, newCommand } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { filesOf } from "./files.js";
import { packInstallation, VENDOR } from "./pack.js";

/** The name is also a package in a .proto file. */
const NAME = /^[a-z][a-z0-9]{0,62}$/;
/** Names of Portico's own services and paths. */
const TAKEN: ReadonlySet<string> = new Set([...RESERVED_NAMES, ...SELF_GOVERNED, ...Object.keys(BUILT_IN_SERVICES)]);

export function newService(io: Io): Command {
  const command = newCommand("new <name>", "make a folder with a new service in TypeScript");
  examples(command, "portico new greeter");
  return command.action(async (name: string) => {
    checkName(name);
    const folder = resolve(name);
    await create(folder, filesOf(name), io);
    io.stdout.write(nextSteps(name, folder));
  });
}

function checkName(name: string): void {
  if (!NAME.test(name)) {
    const shown = JSON.stringify(name.slice(0, 80));
    throw new CommandError(
      `The name ${shown} must be 1 to 63 lower-case letters and digits, starting with a letter`,
      EXIT.usage,
    );
  }
  if (TAKEN.has(name)) throw new CommandError(`The name ${name} is taken by Portico. Choose another one`, EXIT.usage);
}

/**
 * Creates the folder with all its files, or nothing.
 * @throws {CommandError} when the folder exists.
 */
async function create(folder: string, files: ReadonlyMap<string, string>, io: Io): Promise<void> {
  if (lstatSync(folder, { throwIfNoEntry: false }) !== undefined) {
    throw new CommandError(`${folder} is there already. Choose another name, or another folder to be in`);
  }
  const draft = `${folder}.${process.pid}.new`;
  try {
    for (const [file, text] of files) {
      mkdirSync(dirname(join(draft, file)), { recursive: true });
      writeFileSync(join(draft, file), text, { flag: "wx" });
    }
    await packInstallation(join(draft, VENDOR), io);
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function nextSteps(name: string, folder: string): string {
  return `${folder} is a service. Next:

  cd ${name}
  npm install
  portico dev

and in another terminal:

  curl 'http://127.0.0.1:8080/${name}?name=Ada'
`;
}
