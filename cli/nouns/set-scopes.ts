/** `portico auth set scopes`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printItem } from "../terminal/output.js";

export function setScopes(io: Io): Command {
  const command = dataCommand("scopes <account> [scopes...]", "replace the scopes that an account holds");
  examples(command, "portico auth set scopes bob billing support", "portico auth set scopes bob    none at all");
  return command.action(async (name: string, scopes: string[]) => {
    const { client, output } = connect(io, command);
    const account = await client.authority("Accounts/SetScopes", { name, scopes });
    await printItem(io, output, { name, value: account, text: ["Scopes set"] });
  });
}
