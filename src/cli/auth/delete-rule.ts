/** `portico auth delete rule`. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { connect, dataCommand } from "../connection.js";
import type { Io } from "../io.js";
import { dryRunOption, printPreview } from "./preview.js";

export function deleteRule(io: Io): Command {
  const command = dataCommand("rule <id>", "delete a rule; nothing is granted by it when this returns", [
    dryRunOption(),
  ]);
  examples(command, "portico auth delete rule default --dry-run", "portico auth delete rule default");
  return command.action(async (id: string, { dryRun }: { dryRun?: boolean }) => {
    const connection = connect(io, command);
    if (dryRun) return printPreview(io, connection, { delete: id });
    await connection.client.authority("Rules/Delete", { id });
    io.stdout.write("Rule deleted\n");
  });
}
