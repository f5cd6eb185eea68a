/** `portico auth delete namespace`. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { clientCommand, connect } from "../connection.js";
import { named } from "../did-you-mean.js";
import type { Io } from "../io.js";

export function deleteNamespace(io: Io): Command {
  const command = clientCommand("namespace <name>", "delete a namespace with all that is in it");
  examples(command, "portico auth delete namespace team");
  return command.action(async (name: string) => {
    const { client } = connect(io, command);
    const known = async () => {
      const { namespaces } = await client.authority<{ namespaces: { name: string }[] }>("Namespaces/List");
      return namespaces.map((one) => one.name);
    };
    await named(client.authority("Namespaces/Delete", { name }), name, known);
    io.stdout.write("Namespace deleted\n");
  });
}
