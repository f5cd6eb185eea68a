/** `portico new`: creates a folder with a minimal service in TypeScript, Python or Go. */
import { lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { RESERVED_NAMES, SELF_GOVERNED } from "../../src/contract/names.js";
import { BUILT_IN_SERVICES } from "../roles/built-in-services.js";
import { examples, newCommand } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { filesOf } from "./files.js";
import { goFilesOf } from "./go.js";
import { packInstallation, VENDOR } from "./pack.js";
import { pythonFilesOf } from "./python.js";

/** The name is also a package in a .proto file. */
const NAME = /^[a-z][a-z0-9]{0,62}$/;
/** Names of Portico's own services and paths. */
const TAKEN: ReadonlySet<string> = new Set([...RESERVED_NAMES, ...SELF_GOVERNED, ...Object.keys(BUILT_IN_SERVICES)]);

export function newService(io: Io): Command {
  const command = newCommand("new <name>", "make a folder with a new service in TypeScript, Python or Go");
  command.addOption(new Option("--lang <language>", "ts, python or go").choices(Object.keys(LANGUAGES)).default("ts"));
  examples(command, "portico new greeter", "portico new greeter --lang python");
  return command.action(async (name: string, { lang }: { lang: keyof typeof LANGUAGES }) => {
    checkName(name);
    const folder = resolve(name);
    const { files, steps, isPacked } = LANGUAGES[lang];
    await create(folder, files(name), async (draft) => {
      if (isPacked) await packInstallation(join(draft, VENDOR), io);
    });
    io.stdout.write(nextSteps(name, folder, steps));
  });
}

interface Language {
  /** The texts of a new service, by path. */
  readonly files: (name: string) => ReadonlyMap<string, string>;
  /** Commands in its folder. The second list is typed in another terminal, with the call. */
  readonly steps: readonly [readonly string[], readonly string[]];
  /** Whether it depends on the package of Portico. */
  readonly isPacked: boolean;
}

const PYTHON = [
  "python3 -m venv .venv",
  ".venv/bin/pip install -r requirements.txt",
  ".venv/bin/python service.py",
] as const;

const LANGUAGES = {
  ts: { files: filesOf, steps: [["npm install", "portico dev"], []], isPacked: true },
  python: { files: pythonFilesOf, steps: [PYTHON, ["portico dev"]], isPacked: false },
  go: { files: goFilesOf, steps: [["go generate && go mod tidy", "go run ."], ["portico dev"]], isPacked: false },
} as const satisfies Record<string, Language>;

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
async function create(
  folder: string,
  files: ReadonlyMap<string, string>,
  addTo: (draft: string) => Promise<void>,
): Promise<void> {
  if (lstatSync(folder, { throwIfNoEntry: false }) !== undefined) {
    throw new CommandError(`${folder} is there already. Choose another name, or another folder to be in`);
  }
  const draft = `${folder}.${process.pid}.new`;
  try {
    for (const [file, text] of files) {
      mkdirSync(dirname(join(draft, file)), { recursive: true });
      writeFileSync(join(draft, file), text, { flag: "wx" });
    }
    await addTo(draft);
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function nextSteps(name: string, folder: string, [here, elsewhere]: Language["steps"]): string {
  const call = `curl 'http://127.0.0.1:8080/${name}?name=Ada'`;
  const parts = elsewhere.length === 0 ? [[call]] : [[`cd ${name}`, ...elsewhere], [call]];
  const text = [[`cd ${name}`, ...here], ...parts].map((lines) => lines.map((line) => `  ${line}\n`).join(""));
  const [first, ...others] = text;
  const places = ["another", "a third"];
  const more = others.map((part, index) => `\nand in ${places[index]} terminal:\n\n${part}`);
  return [`${folder} is a service. Next:\n\n${first}`, ...more].join("");
}
