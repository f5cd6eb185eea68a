/** `portico auth list keys`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { type Column, instant, printList } from "../terminal/output.js";

interface Key {
  readonly prefix: string;
  readonly name: string;
  readonly account: string;
  readonly expires: string;
  readonly lastUsed?: string;
  readonly resources: readonly string[];
}

const COLUMNS: readonly Column<Key>[] = [
  ["Prefix", (key) => key.prefix],
  ["Name", (key) => key.name],
  ["Account", (key) => key.account],
  ["Expires", (key) => instant(key.expires)],
  ["Last used", (key) => instant(key.lastUsed) || "never"],
  ["Resources", (key) => key.resources.join(", ") || "all"],
];

export function listKeys(io: Io): Command {
  const command = dataCommand("keys", "list your API keys; an administrator's shows everyone's");
  examples(command, "portico auth list keys", "portico auth list keys -o json");
  return command.action(async () => {
    const { client, output } = connect(io, command);
    const { keys } = await client.authority<{ keys: Key[] }>("Keys/List");
    await printList(io, output, keys, COLUMNS);
  });
}
