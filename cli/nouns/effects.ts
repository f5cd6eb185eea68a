/** Shows whose calls would get another status by a change. */
import { previewAll } from "../../src/api/preview.js";
import type { Effect, PreviewRequest } from "../../src/api/types.js";
import { services } from "../command/candidates.js";
import type { CommandConnection } from "../command/connection.js";
import type { GatewayClient } from "../http/client.js";
import type { Io } from "../terminal/io.js";
import { type Column, type Format, printList } from "../terminal/output.js";
import { visible } from "../terminal/text.js";

/** The text for a change without effects. */
export const NO_EFFECT = "No call would be answered otherwise";

/** A row of the table: the effect of a change on one resource. */
type Row = Omit<Effect, "resources"> & { readonly resource: string };

const EFFECT_COLUMNS: readonly Column<Row>[] = [
  ["Resource", ({ resource }) => resource],
  ["Now", ({ before }) => `${before}`],
  ["Then", ({ after }) => `${after}`, (code) => (code === "200" ? "green" : "red")],
  ["For", callers],
];

/** Every endpoint that the registry lists. */
export async function everyResource(client: GatewayClient): Promise<string[]> {
  const listed = await services.list(client);
  return listed.flatMap(({ endpoints }) => endpoints.map(({ resource }) => resource));
}

export async function printEffects(io: Io, format: Format, effects: readonly Effect[]): Promise<void> {
  const rows = effects.flatMap(({ resources, ...effect }) => resources.map((resource) => ({ resource, ...effect })));
  await printList(io, format, rows, EFFECT_COLUMNS);
}

/**
 * Prints the callers for whom the decision would change. Asks about every endpoint that the
 * registry lists.
 */
export async function printPreview({ io, client, output }: CommandConnection, change: PreviewRequest): Promise<void> {
  const ask = async (resources: string[]) => (await client.ask("auth/Rules/Preview", { ...change, resources })).effects;
  const effects = await previewAll(ask, await everyResource(client));
  if (effects.length > 0 || output !== undefined) await printEffects(io, output, effects);
  io.stderr.write(effects.length > 0 ? "Nothing was changed yet\n" : `${NO_EFFECT}\n`);
}

function callers({ agent, ...row }: Row): string {
  return agent === undefined ? accountsOf(row) : visible(`${agent} for ${accountsOf(row)}`);
}

function accountsOf({ nobody, everyAccount, accounts, moreAccounts }: Omit<Row, "agent">): string {
  if (nobody && everyAccount) return "everyone";
  const known = everyAccount ? ["every account"] : accounts;
  const more = moreAccounts > 0 ? [`${moreAccounts} more`] : [];
  return [...(nobody ? ["calls without a token"] : []), ...known, ...more].join(", ");
}
