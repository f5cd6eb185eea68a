/** `portico logout`: revokes the login's tokens and forgets them. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { CommandError, EXIT } from "../exit.js";
import { clientCommand, connect } from "../http/connection.js";
import type { Io } from "../io.js";

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
