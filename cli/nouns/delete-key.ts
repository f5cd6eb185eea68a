/** `portico auth delete key`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printItem } from "../terminal/output.js";
import { keyPrefix } from "./key-prefix.js";

export function deleteKey(io: Io): Command {
  const command = dataCommand("key <key>", "revoke an API key; nothing accepts it when this returns");
  examples(command, "portico auth delete key ci", "portico auth delete key ptk_4fGh81    by its prefix");
  return command.action(async (key: string) => {
    const { client, output } = connect(io, command);
    const prefix = await keyPrefix(client, key);
    const answer = await client.authority("Keys/Revoke", { prefix });
    await printItem(io, output, { name: prefix, value: answer, text: ["Key deleted"] });
  });
}
