/** `portico user password`: changes one's own password. */
import { type Command, Option } from "commander";
import { clientCommand, connect } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { currentPassword, newPassword } from "../terminal/prompt.js";

export function userPassword(io: Io): Command {
  const command = clientCommand("password", "change your password, which logs you out everywhere", [
    new Option("--password-stdin", "read the new one from standard input; the old one is PORTICO_PASSWORD"),
  ]);
  examples(command, "portico user password");
  return command.action(async (options: { passwordStdin?: true }) => {
    const { client } = connect(io, command, "read");
    await client.token();
    const current = await currentPassword(io, "Current password:");
    const next = await newPassword(io, options.passwordStdin === true);
    await client.authority("Accounts/SetPassword", { currentPassword: current, newPassword: next });
    io.stderr.write("Password changed. Log in again: portico login\n");
  });
}
