/** `portico auth create account`. */
import { type Command, Option } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { collect } from "../terminal/options.js";
import { printItem } from "../terminal/output.js";
import { newPassword } from "../terminal/prompt.js";

interface Options {
  readonly scope?: readonly string[];
  readonly passwordStdin?: true;
}

export function createAccount(io: Io): Command {
  const command = dataCommand("account <name>", "create an account; asks for its password", [
    new Option("--scope <scope>", "scope it holds; again for more").argParser(collect),
    new Option("--password-stdin", "read its password from standard input"),
  ]);
  examples(
    command,
    "portico auth create account bob",
    "portico auth create account alice --scope=admin --scope=billing",
    "portico auth create account ci --password-stdin < password.txt",
  );
  return command.action(async (name: string, options: Options) => {
    const { client, output } = connect(io, command, "read");
    await client.token();
    const password = await newPassword(io, options.passwordStdin === true);
    const created = await client.authority("Accounts/Create", { name, password, scopes: options.scope });
    await printItem(io, output, { name, value: created, text: ["Account created"] });
  });
}
