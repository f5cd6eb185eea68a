/** `portico auth delete rule`. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { clientCommand, connect } from "../connection.js";
import type { Io } from "../io.js";

export function deleteRule(io: Io): Command {
  const command = clientCommand("rule <id>", "delete a rule; nothing is granted by it when this returns");
  examples(command, "portico auth delete rule default");
  return command.action(async (id: string) => {
    const { client } = connect(io, command);
    await client.authority("Rules/Delete", { id });
    io.stdout.write("Rule deleted\n");
  });
}
