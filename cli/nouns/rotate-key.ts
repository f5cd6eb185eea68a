/** `portico auth rotate key`. */
import { type Command, Option } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { duration } from "../terminal/options.js";
import { instant } from "../terminal/output.js";
import type { CreatedKey } from "./create-key.js";
import { keyPrefix } from "./key-prefix.js";
import { printSecret } from "./secret.js";

export function rotateKey(io: Io): Command {
  const command = dataCommand("key <key>", "replace an API key by a new one; prints it once", [
    new Option("--overlap <time>", "how long the old one lives on, such as 24h (default 0s)").argParser(duration),
  ]);
  examples(command, "portico auth rotate key ci", "portico auth rotate key ptk_4fGh81 --overlap=24h");
  return command.action(async (key: string, { overlap }: { overlap?: string }) => {
    const { client, output } = connect(io, command);
    const prefix = await keyPrefix(client, key);
    const answer = await client.authority<CreatedKey>("Keys/Rotate", { prefix, ...(overlap && { overlap }) });
    const talk = `This key is good until ${instant(answer.key.expires)}.`;
    await printSecret(io, output, answer, answer.secret, talk);
  });
}
