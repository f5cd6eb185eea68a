/** `portico auth delete key`. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { connect, dataCommand } from "../connection.js";
import type { Io } from "../io.js";
import { printItem } from "../output.js";

export function deleteKey(io: Io): Command {
  const command = dataCommand("key <prefix>", "revoke an API key; nothing accepts it when this returns");
  examples(command, "portico auth delete key ptk_4fGh81");
  return command.action(async (prefix: string) => {
    const { client, output } = connect(io, command);
    const answer = await client.authority("Keys/Revoke", { prefix });
    await printItem(io, output, { name: prefix, value: answer, text: ["Key deleted"] });
  });
}
