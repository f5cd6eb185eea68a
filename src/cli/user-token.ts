/** `portico user token`: prints the token and nothing else, for `$(portico user token)`. */
import type { Command } from "commander";
import { examples } from "./command.js";
import { clientCommand, connect } from "./connection.js";
import type { Io } from "./io.js";

export function userToken(io: Io): Command {
  const command = clientCommand("token", "print the token to call with, good for a minute at least");
  examples(command, 'curl -H "Authorization: Bearer $(portico user token)" …');
  return command.action(async () => {
    const { client } = connect(io, command);
    io.stdout.write(`${await client.token()}\n`);
  });
}
