/** `portico auth delete account` and `namespace`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { named } from "../http/did-you-mean.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printItem } from "../terminal/output.js";

export const deleteAccount = deletes("Account", "delete an account with its logins and keys", "bob");
export const deleteNamespace = deletes("Namespace", "delete a namespace with all that is in it", "team");

function deletes(kind: string, description: string, example: string): (io: Io) => Command {
  const noun = kind.toLowerCase();
  return (io) => {
    const command = dataCommand(`${noun} <name>`, description);
    examples(command, `portico auth delete ${noun} ${example}`);
    return command.action(async (name: string) => {
      const { client, output } = connect(io, command);
      const known = async () => {
        const answer = await client.authority<Record<string, { name: string }[]>>(`${kind}s/List`);
        return (answer[`${noun}s`] ?? []).map((one) => one.name);
      };
      const answer = await named(client.authority(`${kind}s/Delete`, { name }), name, known);
      await printItem(io, output, { name, value: answer, text: [`${kind} deleted`] });
    });
  };
}
