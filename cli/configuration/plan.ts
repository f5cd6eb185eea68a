/**
 * Asks the authority what a configuration file would change, and prints it: first whose calls, then
 * the changes.
 */
import { createHash } from "node:crypto";
import { previewAll } from "../../src/api/preview.js";
import type { Configuration, Effect, PlanConfigurationResponse } from "../../src/api/types.js";
import type { CommandConnection } from "../command/connection.js";
import { CallFailure } from "../http/failure.js";
import { everyResource, NO_EFFECT, printEffects } from "../nouns/effects.js";
import { CommandError } from "../terminal/exit.js";
import { type Column, printItem, printList } from "../terminal/output.js";
import { visibleLines } from "../terminal/text.js";
import type { ConfigurationFile } from "./read.js";
import { type ApiItem, type FieldValue, type FileSection, itemsIn, SECTIONS, statedFields } from "./sections.js";

/** A change of one item. */
export interface PlannedChange {
  readonly change: "create" | "change" | "delete";
  readonly kind: string;
  readonly name: string;
  /** What is set, changes or is lost: `before` absent for a new item, `after` for a deleted one. */
  readonly fields: readonly { readonly name: string; readonly before?: FieldValue; readonly after?: FieldValue }[];
}

export interface Plan {
  /** What `--plan` takes: a hash of the etag and the changes. */
  readonly plan: string;
  /** Of the configuration for which the plan was made. */
  readonly etag: string;
  readonly effects: readonly Effect[];
  readonly changes: readonly PlannedChange[];
  /** What the file does not list, and stays: the number by the section's name. */
  readonly kept: Readonly<Record<string, number>>;
}

const PLAN_DIGITS = 32;

/** @throws {CommandError} with the place in the file, where something in it is refused */
export async function planFor(
  { client }: Pick<CommandConnection, "client">,
  file: ConfigurationFile,
  prune: boolean,
): Promise<Plan> {
  const { configuration } = file;
  let plan: PlanConfigurationResponse | undefined;
  const ask = async (resources: string[]) => {
    const response = await placed(file, client.ask("auth/Configurations/Plan", { configuration, prune, resources }));
    plan ??= response;
    if (plan.etag !== response.etag) throw new CommandError("The configuration changes just now. Try again");
    return response.effects;
  };
  const effects = await previewAll(ask, await everyResource(client));
  const { etag, before, after, kept } = plan!;
  const counts = SECTIONS.map((section) => [section.name, itemsIn(kept, section)?.length ?? 0] as const);
  const changes = SECTIONS.flatMap((section) => changesIn(section, before, after));
  return {
    plan: createHash("sha256")
      .update(JSON.stringify([etag, changes]))
      .digest("hex")
      .slice(0, PLAN_DIGITS),
    etag,
    effects,
    changes,
    kept: Object.fromEntries(counts.filter(([, count]) => count > 0)),
  };
}

/**
 * Text that begins with the place of an item, such as `rules[3].scope: `, or
 * `configuration.rules.rules[3].scope: ` where the gateway refuses the request.
 */
const PLACE = /^(?:configuration\.\w+\.)?(\w+\[\d+\](?:\.\w+(?:\[\d+\])?)*): /;

/**
 * Waits for a call. If it refuses something in the file, the error begins with the file, the line
 * and the column.
 */
export async function placed<T>({ placeOf }: ConfigurationFile, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const [, path] = error instanceof CallFailure ? (PLACE.exec(error.message) ?? []) : [];
    throw path === undefined ? error : (error as CallFailure).with("", `${placeOf(path)}: `);
  }
}

function changesIn(section: FileSection, before: Configuration, after: Configuration): PlannedChange[] {
  const byName = (configuration: Configuration) =>
    new Map(itemsIn(configuration, section)?.map((item) => [String(item[section.key]), item]));
  const [old, now] = [byName(before), byName(after)];
  const created = [...now].filter(([name]) => !old.has(name));
  const rows: [PlannedChange["change"], [string, ApiItem][]][] = [
    ["create", created],
    ["change", [...now].filter(([name]) => old.has(name))],
    ["delete", [...old].filter(([name]) => !now.has(name))],
  ];
  return rows.flatMap(([change, items]) =>
    items.map(([name]) => ({
      change,
      kind: section.noun,
      name,
      fields: fieldsOf(section, old.get(name), now.get(name)),
    })),
  );
}

function fieldsOf(
  section: FileSection,
  before: ApiItem | undefined,
  after: ApiItem | undefined,
): PlannedChange["fields"] {
  const [old, now] = [before, after].map((item) => new Map(item && statedFields(section, item)));
  return section.fields.flatMap(({ name }) => {
    const [was, is] = [old!.get(name), now!.get(name)];
    if (name === section.key || JSON.stringify(was) === JSON.stringify(is)) return [];
    return [{ name, ...(was !== undefined && { before: was }), ...(is !== undefined && { after: is }) }];
  });
}

const COLOURS = { create: "green", delete: "red" } as Readonly<Record<string, "green" | "red">>;

const COLUMNS: readonly Column<PlannedChange>[] = [
  ["Change", ({ change }) => change, (cell) => COLOURS[cell]],
  ["What", ({ kind, name }) => `${kind} ${name}`],
  ["Fields", (change) => change.fields.map((field) => fieldInWords(change, field)).join(", ")],
];

function fieldInWords({ change }: PlannedChange, { name, before, after }: PlannedChange["fields"][number]): string {
  if (change === "create") return `${name}: ${valueInWords(after)}`;
  return change === "delete"
    ? `${name}: ${valueInWords(before)}`
    : `${name}: ${valueInWords(before)} → ${valueInWords(after)}`;
}

const MAX_SHOWN = 80;

function valueInWords(value: FieldValue | undefined): string {
  if (value === undefined) return "default";
  const text = typeof value === "object" ? `[${value.join(", ")}]` : String(value);
  return text.length > MAX_SHOWN || text.includes("\n") ? `(${text.length} characters)` : text;
}

/** Prints whose calls change, then the changes, then what the file does not list and stays. */
export async function printPlan({ io, output }: CommandConnection, { etag: _, ...plan }: Plan): Promise<void> {
  const { effects, changes, kept } = plan;
  if (output !== undefined) return printItem(io, output, { name: plan.plan, value: plan, text: [] });
  if (effects.length > 0) {
    await printEffects(io, undefined, effects);
    io.stdout.write("\n");
  }
  if (changes.length > 0) await printList(io, undefined, changes, COLUMNS);
  if (changes.length > 0 && effects.length === 0) io.stderr.write(`${NO_EFFECT}\n`);
  const stays = Object.entries(kept).map(([name, count]) => `${count} ${count === 1 ? name.slice(0, -1) : name}`);
  if (stays.length > 0) io.stderr.write(`Not in the file, and kept: ${stays.join(", ")}. --prune deletes them\n`);
}

/**
 * Checks that the contracts of services that are created or change can be served, as `portico
 * services add` does. Prints what of a contract is not.
 * @throws {CommandError} with the place in the file
 */
export async function checkServices(
  { io, client }: Pick<CommandConnection, "io" | "client">,
  file: ConfigurationFile,
  { changes }: Plan,
): Promise<void> {
  const section = SECTIONS.find(({ name }) => name === "services")!;
  const services = itemsIn(file.configuration, section) ?? [];
  const changing = new Set(changes.filter(({ kind }) => kind === section.noun).map(({ name }) => name));
  for (const [index, service] of services.entries()) {
    const name = String(service.name);
    if (!changing.has(name)) continue;
    const found = await servable(file, index, client.ask("registry/Services/Put", { service, dryRun: true } as never));
    for (const problem of found.problems) io.stderr.write(`${name}: ${visibleLines(problem)}\n`);
    if (found.error !== "")
      io.stderr.write(`The contract of ${name} cannot be read now: ${visibleLines(found.error)}\n`);
  }
}

async function servable<T>({ placeOf }: ConfigurationFile, index: number, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    const [, field = ""] = /^service\.([\w.[\]]+): /.exec(error.message) ?? [];
    throw error.with("", `${placeOf(`services[${index}].${field}`)}: `);
  }
}
