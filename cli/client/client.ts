/**
 * `portico client`: writes a client of a service from the contract that the gateway serves to this
 * caller.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Option } from "commander";
import { serviceNames } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { CommandError } from "../terminal/exit.js";
import { readContract, type ServiceContract } from "./contract.js";
import { type ClientFile, clientFile, goModule, LANGUAGES, type Language, MARK } from "./files.js";

interface ClientOptions {
  readonly lang: Language;
  readonly dir?: string;
}

export const client = gatewayCommand({
  usage: "client <service...>",
  summary: "write a client of services, in TypeScript, Python or Go",
  examples: [
    "portico client helloworld --lang ts > helloworld.ts",
    "portico client helloworld --lang python --dir .",
    "portico client helloworld --lang go --dir helloworld",
    "portico client notes event id --lang ts --dir src",
  ],
  options: [
    new Option("--lang <language>", "ts, python or go").choices(LANGUAGES).makeOptionMandatory(),
    new Option("--dir <folder>", "write the file into this folder instead of to stdout"),
  ],
  completion: [serviceNames],
  formats: [],
  async run({ io, client }, services: string[], { lang, dir }: ClientOptions) {
    const names = [...new Set(services.map((service) => service.toLowerCase()))];
    const contracts: ServiceContract[] = [];
    for (const name of names) contracts.push(readContract(name, await client.openApi(name)));
    const file = clientFile(lang, contracts);
    if (dir === undefined) io.stdout.write(file.text);
    else for (const path of writeFiles(resolve(dir), lang, file)) io.stdout.write(`${path}\n`);
  },
});

/**
 * @returns the paths of the written files
 * @throws {CommandError} when a file exists that is not a generated client
 */
function writeFiles(folder: string, language: Language, file: ClientFile): string[] {
  const path = join(folder, file.name);
  if (existsSync(path) && !readFileSync(path, "utf8").slice(0, 1000).includes(MARK)) {
    throw new CommandError(`${path} is there already, and is not a client that Portico wrote. Choose another folder`);
  }
  mkdirSync(folder, { recursive: true });
  const files = [file, ...(language === "go" && !isInModule(folder) ? [goModule(file)] : [])];
  return files.map(({ name, text }) => {
    const written = join(folder, name);
    writeFileSync(`${written}.${process.pid}.new`, text);
    renameSync(`${written}.${process.pid}.new`, written);
    return written;
  });
}

/** Whether a folder belongs to a Go module. Then the client is a package of that module. */
function isInModule(folder: string): boolean {
  const parent = dirname(folder);
  return existsSync(join(folder, "go.mod")) || (parent !== folder && isInModule(parent));
}
