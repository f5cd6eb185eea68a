/** `portico user namespace`: prints the namespace that calls go to. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printItem } from "../terminal/output.js";

export function userNamespace(io: Io): Command {
  const command = dataCommand("namespace", "print the namespace that calls go to");
  examples(command, 'curl -H "Platform-Namespace: $(portico user namespace)" …');
  return command.action(async () => {
    const { client, output, asked, stored } = connect(io, command);
    const own = async () => (await client.authority<{ namespace: string }>("WhoAmI")).namespace;
    const implied = io.env.PORTICO_TOKEN ? own : () => stored?.namespace ?? "default";
    const namespace = asked ?? (await implied());
    await printItem(io, output, { name: namespace, value: { namespace }, text: [namespace] });
  });
}
