/** `portico auth delete namespace`. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { clientCommand, connect } from "../connection.js";
import type { Io } from "../io.js";

export function deleteNamespace(io: Io): Command {
  const command = clientCommand("namespace <name>", "delete a namespace with all that is in it");
  examples(command, "portico auth delete namespace team");
  return command.action(async (name: string) => {
    const { client } = connect(io, command);
    await client.authority("Namespaces/Delete", { name });
    io.stdout.write("Namespace deleted\n");
  });
}
