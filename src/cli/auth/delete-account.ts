/** `portico auth delete account`. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { clientCommand, connect } from "../connection.js";
import { named } from "../did-you-mean.js";
import type { Io } from "../io.js";

export function deleteAccount(io: Io): Command {
  const command = clientCommand("account <name>", "delete an account with its logins and keys");
  examples(command, "portico auth delete account bob");
  return command.action(async (name: string) => {
    const { client } = connect(io, command);
    const known = async () => {
      const { accounts } = await client.authority<{ accounts: { name: string }[] }>("Accounts/List");
      return accounts.map((one) => one.name);
    };
    await named(client.authority("Accounts/Delete", { name }), name, known);
    io.stdout.write("Account deleted\n");
  });
}
