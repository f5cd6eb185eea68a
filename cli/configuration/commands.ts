/** `portico export`, `diff` and `apply`: the configuration of a namespace in a file, for Git. */
import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { Option } from "commander";
import { CompletedOption } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import type { CommandConnection } from "../command/connection.js";
import { completionOf } from "../roles/commands.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { fileProblem } from "../terminal/file-problem.js";
import { readAll } from "../terminal/input.js";
import type { Io } from "../terminal/io.js";
import { printItem } from "../terminal/output.js";
import { ask, canAsk } from "../terminal/prompt.js";
import { checkServices, type Plan, placed, planFor, printPlan } from "./plan.js";
import type { ConfigurationFile } from "./read.js";

/** Maximum size of a file, in bytes. */
const MAX_FILE = 16 * 1024 ** 2;
const STDIN = "-";

const OTHER_PLAN =
  "This is another plan: the file or the configuration has changed since. Nothing was changed; look at the new one";

interface PlanFlags {
  readonly file: string;
  readonly prune?: true;
}
interface ApplyFlags extends PlanFlags {
  readonly dryRun?: true;
  readonly yes?: true;
  readonly plan?: string;
}

const fileOption = () =>
  new CompletedOption(
    "-f, --file <file>",
    "the configuration in YAML; - for standard input",
    completionOf({ values: "file" }),
  ).makeOptionMandatory();

const pruneOption = () => new Option("--prune", "delete what the sections of the file do not list");

export const exportConfiguration = gatewayCommand({
  usage: "export",
  summary: "print rules, limits, accounts, services, issuers and trusts as YAML",
  examples: ["portico export > portico.yaml", "portico export --schema > portico.schema.json"],
  options: [new Option("--schema", "print the JSON schema of such a file, for editors")],
  formats: [],
  async run({ io, client }, { schema }: { readonly schema?: true }) {
    if (schema) {
      const { schemaOfConfiguration } = await import("./schema.js");
      io.stdout.write(schemaOfConfiguration());
      return;
    }
    const { configuration } = await client.ask("auth/Configurations/Read");
    const { writeConfiguration } = await import("./write.js");
    io.stdout.write(writeConfiguration(configuration));
  },
});

export const diffConfiguration = gatewayCommand({
  usage: "diff",
  summary: "show what a file would change, and for whose calls; changes nothing",
  examples: ["portico diff -f portico.yaml", "portico diff -f portico.yaml --prune -o json"],
  options: [
    fileOption(),
    pruneOption(),
    new Option("--exit-code", `end with ${EXIT.differs} where something would change`),
  ],
  formats: ["json", "yaml"],
  readsInput: true,
  async run(connection, { file, prune, exitCode }: PlanFlags & { readonly exitCode?: true }) {
    const plan = await showPlan(connection, await open(connection.io, file), prune === true);
    const differs = plan.changes.length > 0;
    if (differs && exitCode) throw new CommandError(`What is set differs from ${file}`, EXIT.differs);
    if (connection.output === undefined)
      connection.io.stderr.write(differs ? `Nothing was changed yet. Plan ${plan.plan}\n` : "Nothing to change\n");
  },
});

export const applyConfiguration = gatewayCommand({
  usage: "apply",
  summary: "change everything as a file says, in one revision or not at all",
  examples: [
    "portico apply -f portico.yaml",
    "portico apply -f portico.yaml --prune",
    "portico apply -f portico.yaml --prune --yes --plan=4be10b8c…    in CI",
  ],
  options: [
    fileOption(),
    pruneOption(),
    new Option("--dry-run", "change nothing; the same as portico diff"),
    new Option("--yes", "delete without a question, where --prune deletes something"),
    new Option("--plan <plan>", "only if this is still the plan, as portico diff has printed it"),
  ],
  formats: ["json", "yaml"],
  readsInput: true,
  async run(connection, { file: path, prune: prunes, dryRun, yes, plan: expected }: ApplyFlags) {
    const { io, client, output } = connection;
    const prune = prunes === true;
    const file = await open(io, path);
    const plan = await showPlan(connection, file, prune);
    if (expected !== undefined && expected !== plan.plan) throw new CommandError(OTHER_PLAN);
    if (dryRun) return void io.stderr.write("Nothing was changed yet\n");
    if (plan.changes.length === 0) return void io.stderr.write("Nothing to change\n");
    if (!yes) await confirmDeletions(io, plan);
    const { configuration } = file;
    const request = client.ask("auth/Configurations/Apply", { configuration, prune, etag: plan.etag });
    const { revision } = await placed(file, request);
    const done = `Applied in revision ${revision}`;
    if (output === undefined) await printItem(io, undefined, { name: revision, value: undefined, text: [done] });
    else io.stderr.write(`${done}\n`);
    printNextSteps(io, plan);
  },
});

async function showPlan(connection: CommandConnection, file: ConfigurationFile, prune: boolean): Promise<Plan> {
  const plan = await planFor(connection, file, prune);
  await checkServices(connection, file, plan);
  await printPlan(connection, plan);
  return plan;
}

/** @throws {CommandError} if the file cannot be read, with the place of each problem in it */
async function open(io: Io, path: string): Promise<ConfigurationFile> {
  const { readConfiguration } = await import("./read.js");
  const tooLarge = () => new CommandError(`${path} is larger than ${MAX_FILE / 1024 ** 2} MiB`, EXIT.usage);
  if (path === STDIN)
    return readConfiguration(textOf(await readAll(io.stdin, MAX_FILE, tooLarge), "standard input"), "standard input");
  return readConfiguration(textOf(bytesOf(path, tooLarge), path), path);
}

function bytesOf(path: string, tooLarge: () => CommandError): Buffer {
  try {
    if (statSync(path).size > MAX_FILE) throw tooLarge();
    return readFileSync(path);
  } catch (error) {
    throw error instanceof CommandError ? error : new CommandError(fileProblem(error, path), EXIT.usage);
  }
}

/** @throws {CommandError} for another coding: names in it would silently become other names */
function textOf(bytes: Uint8Array, file: string): string {
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  throw new CommandError(`${file} is not in UTF-8; save it in that coding`, EXIT.usage);
}

/** @throws {CommandError} unless the user agrees to what is deleted */
async function confirmDeletions(io: Io, { changes }: Plan): Promise<void> {
  const deleted = changes.filter(({ change }) => change === "delete").length;
  if (deleted === 0) return;
  if (!canAsk(io)) {
    const text = `${deleted} would be deleted, and there is no terminal to ask on. Nothing was changed. Give --yes`;
    throw new CommandError(text);
  }
  const response = await ask(io, `Delete ${deleted}? (yes or no)`, { default: "no" });
  if (!/^y(?:es)?$/i.test(response.trim())) throw new CommandError("Nothing was changed");
}

/** Says what a file cannot have: secrets. */
function printNextSteps(io: Io, { changes }: Plan): void {
  const created = changes.filter(({ change, kind }) => change === "create" && kind === "account");
  if (created.length > 0) {
    const names = created.map(({ name }) => name).join(", ");
    const [{ name: first } = { name: "" }] = created;
    io.stderr.write(
      `Created without a password: ${names}. A person logs in after: portico auth set password ${first}\n`,
    );
    io.stderr.write(`A program calls with a key: portico auth create key NAME --account=${first}\n`);
  }
  for (const { kind, name, fields } of changes) {
    const isOn = fields.some((field) => field.name === "assertion" && field.after === true);
    if (kind !== "service" || !isOn) continue;
    const again = `portico services set ${name} --no-assertion && portico services set ${name} --assertion`;
    io.stderr.write(`${name} gets caller assertions. Its key is shown to whoever turns them on: ${again}\n`);
  }
}
