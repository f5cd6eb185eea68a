/** `portico auth list accounts`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { type Column, instant, printList } from "../terminal/output.js";

interface Account {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly created: string;
}

const COLUMNS: readonly Column<Account>[] = [
  ["Name", (account) => account.name],
  ["Scopes", (account) => account.scopes.join(", ")],
  ["Created", (account) => instant(account.created)],
];

export function listAccounts(io: Io): Command {
  const command = dataCommand("accounts", "list the accounts and the scopes they hold");
  examples(command, "portico auth list accounts", "portico auth list accounts -o json");
  return command.action(async () => {
    const { client, output } = connect(io, command);
    const { accounts } = await client.authority<{ accounts: Account[] }>("Accounts/List");
    await printList(io, output, accounts, COLUMNS);
  });
}
