/** `portico auth create namespace`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printSecret } from "./secret.js";

export function createNamespace(io: Io): Command {
  const command = dataCommand("namespace <name>", "create a namespace; prints its admin's password once");
  examples(
    command,
    "portico auth create namespace team",
    "portico login --namespace team --profile team    with the password printed",
  );
  return command.action(async (name: string) => {
    const { client, output } = connect(io, command);
    const answer = await client.authority<{ adminPassword: string }>("Namespaces/Create", { name });
    const talk = `This is the password of account admin in ${name}. It has no rules yet: every call is refused.`;
    await printSecret(io, output, answer, answer.adminPassword, talk);
  });
}
