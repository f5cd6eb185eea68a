/** `portico auth delete rule`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { named } from "../http/did-you-mean.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printItem } from "../terminal/output.js";
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
