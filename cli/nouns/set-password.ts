/** `portico auth set password`: for an account whose owner has lost it. */
import { type Command, Option } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printItem } from "../terminal/output.js";
import { newPassword } from "../terminal/prompt.js";

export function setPassword(io: Io): Command {
  const command = dataCommand("password <account>", "set an account's password, and log it out everywhere", [
    new Option("--password-stdin", "read the password from standard input"),
  ]);
  examples(command, "portico auth set password bob");
  return command.action(async (name: string, options: { passwordStdin?: true }) => {
    const { client, output } = connect(io, command, "read");
    await client.token();
    const password = await newPassword(io, options.passwordStdin === true);
    const answer = await client.authority("Accounts/SetPassword", { name, newPassword: password });
    await printItem(io, output, { name, value: answer, text: ["Password set"] });
  });
}
