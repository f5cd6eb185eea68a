/** `portico auth delete account`, `enrolment` and `namespace`. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { clientCommand, connect } from "../connection.js";
import { named } from "../did-you-mean.js";
import type { Io } from "../io.js";

export const deleteAccount = deletes("Account", "delete an account with its logins and keys", "bob");
export const deleteEnrolment = deletes("Enrolment", "delete an enrolment token", "helloworld");
export const deleteNamespace = deletes("Namespace", "delete a namespace with all that is in it", "team");

function deletes(kind: string, description: string, example: string): (io: Io) => Command {
  const noun = kind.toLowerCase();
  return (io) => {
    const command = clientCommand(`${noun} <name>`, description);
    examples(command, `portico auth delete ${noun} ${example}`);
    return command.action(async (name: string) => {
      const { client } = connect(io, command);
      const known = async () => {
        const answer = await client.authority<Record<string, { name: string }[]>>(`${kind}s/List`);
        return (answer[`${noun}s`] ?? []).map((one) => one.name);
      };
      await named(client.authority(`${kind}s/Delete`, { name }), name, known);
      io.stdout.write(`${kind} deleted\n`);
    });
  };
}
