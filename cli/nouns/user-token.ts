/** `portico user token`: prints the token and nothing else, for `$(portico user token)`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printItem } from "../terminal/output.js";

export function userToken(io: Io): Command {
  const command = dataCommand("token", "print the token to call with, good for a minute at least");
  examples(command, 'curl -H "Authorization: Bearer $(portico user token)" …');
  return command.action(async () => {
    const { client, output } = connect(io, command);
    const token = await client.token();
    await printItem(io, output, { name: token, value: { token }, text: [token] });
  });
}
