/** What `--dry-run` shows: the callers who would get another answer if a rule were created or deleted. */
import { Option } from "commander";
import type { Effect, PreviewRequest } from "../../src/api/types.js";
import type { Connection } from "../http/connection.js";
import { services } from "../http/services.js";
import { type Column, printList } from "../terminal/output.js";

/** An effect at one of its resources. */
type Row = Omit<Effect, "resources"> & { readonly resource: string };

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
export async function printPreview({ io, client, output }: Connection, change: PreviewRequest): Promise<void> {
  const listed = await services.list(client);
  const resources = listed.flatMap(({ endpoints }) => endpoints.map(({ resource }) => resource));
  const { effects } = await client.ask("auth/Rules/Preview", { ...change, resources });
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
