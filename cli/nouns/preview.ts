/** What `--dry-run` shows: whose calls would be answered otherwise if a rule were created or deleted. */
import { Option } from "commander";
import type { Connection } from "../http/connection.js";
import type { Io } from "../terminal/io.js";
import { type Column, printList } from "../terminal/output.js";

type Change = { readonly create: object } | { readonly delete: string };

interface Effect {
  readonly before: number;
  readonly after: number;
  readonly resources: readonly string[];
  readonly nobody: boolean;
  readonly everyAccount: boolean;
  readonly accounts: readonly string[];
  readonly moreAccounts: number;
}

/** An effect at one of its resources. */
type Row = Omit<Effect, "resources"> & { readonly resource: string };

interface Listed {
  readonly services: readonly { readonly endpoints: readonly { readonly resource: string }[] }[];
}

const COLUMNS: readonly Column<Row>[] = [
  ["Resource", ({ resource }) => resource],
  ["Now", ({ before }) => `${before}`],
  ["Then", ({ after }) => `${after}`, (code) => (code === "200" ? "green" : "red")],
  ["For", callers],
];

export function dryRunOption(): Option {
  return new Option("--dry-run", "change nothing; show who would be answered otherwise");
}

/** Asks about every endpoint that the registry lists. */
export async function printPreview(io: Io, { client, output }: Connection, change: Change): Promise<void> {
  const listed: Listed = JSON.parse(await client.call("registry", "List", "{}"));
  const resources = listed.services.flatMap(({ endpoints }) => endpoints.map(({ resource }) => resource));
  const { effects } = await client.authority<{ effects: Effect[] }>("Rules/Preview", { ...change, resources });
  const rows = effects.flatMap(({ resources, ...effect }) => resources.map((resource) => ({ resource, ...effect })));
  if (rows.length > 0 || output !== undefined) await printList(io, output, rows, COLUMNS);
  io.stderr.write(rows.length > 0 ? "Nothing was changed yet\n" : "No call would be answered otherwise\n");
}

function callers({ nobody, everyAccount, accounts, moreAccounts }: Row): string {
  if (nobody && everyAccount) return "everyone";
  const known = everyAccount ? ["every account"] : accounts;
  const more = moreAccounts > 0 ? [`${moreAccounts} more`] : [];
  return [...(nobody ? ["calls without a token"] : []), ...known, ...more].join(", ");
}
