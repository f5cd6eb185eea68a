/** `portico auth list namespaces`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { type Column, instant, printList } from "../terminal/output.js";

interface Namespace {
  readonly name: string;
  readonly created: string;
}

const COLUMNS: readonly Column<Namespace>[] = [
  ["Name", (namespace) => namespace.name],
  ["Created", (namespace) => instant(namespace.created)],
];

export function listNamespaces(io: Io): Command {
  const command = dataCommand("namespaces", "list the namespaces");
  examples(command, "portico auth list namespaces", "portico auth list namespaces -o json");
  return command.action(async () => {
    const { client, output } = connect(io, command);
    const { namespaces } = await client.authority<{ namespaces: Namespace[] }>("Namespaces/List");
    await printList(io, output, namespaces, COLUMNS);
  });
}
