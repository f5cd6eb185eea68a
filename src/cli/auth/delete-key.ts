/** `portico auth delete key`. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { clientCommand, connect } from "../connection.js";
import type { Io } from "../io.js";

export function deleteKey(io: Io): Command {
  const command = clientCommand("key <prefix>", "revoke an API key; nothing accepts it when this returns");
  examples(command, "portico auth delete key ptk_4fGh81");
  return command.action(async (prefix: string) => {
    const { client } = connect(io, command);
    await client.authority("Keys/Revoke", { prefix });
    io.stdout.write("Key deleted\n");
  });
}
