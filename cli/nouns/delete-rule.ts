/** `portico auth delete rule`. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { connect, dataCommand } from "../http/connection.js";
import type { Io } from "../io.js";
import { printItem } from "../output/output.js";
import { named } from "./did-you-mean.js";
import { dryRunOption, printPreview } from "./preview.js";
import type { Rule } from "./rule.js";

export function deleteRule(io: Io): Command {
  const command = dataCommand("rule <id>", "delete a rule; nothing is granted by it when this returns", [
    dryRunOption(),
  ]);
  examples(command, "portico auth delete rule default --dry-run", "portico auth delete rule default");
  return command.action(async (id: string, { dryRun }: { dryRun?: boolean }) => {
    const connection = connect(io, command);
    const { client, output } = connection;
    const known = async () => (await client.authority<{ rules: Rule[] }>("Rules/List")).rules.map((rule) => rule.id);
    if (dryRun) return named(printPreview(io, connection, { delete: id }), id, known);
    const answer = await named(client.authority("Rules/Delete", { id }), id, known);
    await printItem(io, output, { name: id, value: answer, text: ["Rule deleted"] });
  });
}
