/** `portico logout`: revokes the login's tokens and forgets them. */
import type { Command } from "commander";
import { clientCommand, connect } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";

export function logout(io: Io): Command {
  const command = clientCommand("logout", "log out, and revoke the login's tokens");
  examples(command, "portico logout", "portico logout --profile bob");
  return command.action(async () => {
    const { login, client } = connect(io, command);
    try {
      const done = await login.logout();
      io.stderr.write(done ? `Logged out of ${client.address}\n` : `Not logged in to ${client.address}\n`);
    } catch (error) {
      if (!(error instanceof CommandError) || error.exit === EXIT.login) throw error;
      throw new CommandError(
        `${error.message}\nThe login is deleted here, but was not revoked: it ends within 30 days.`,
      );
    }
  });
}
