/** `portico user namespace`: prints the namespace that calls go to. */
import type { Command } from "commander";
import { examples } from "./command.js";
import { clientCommand, connect } from "./connection.js";
import type { Io } from "./io.js";

export function userNamespace(io: Io): Command {
  const command = clientCommand("namespace", "print the namespace that calls go to");
  examples(command, 'curl -H "Platform-Namespace: $(portico user namespace)" …');
  return command.action(async () => {
    const { client, asked, stored } = connect(io, command);
    const own = async () => (await client.authority<{ namespace: string }>("WhoAmI")).namespace;
    const implied = io.env.PORTICO_TOKEN ? own : () => stored?.namespace ?? "default";
    io.stdout.write(`${asked ?? (await implied())}\n`);
  });
}
