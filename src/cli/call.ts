/** `portico call`: calls an endpoint with JSON. */
import type { Command } from "commander";
import { examples } from "./command.js";
import { clientCommand, connect } from "./connection.js";
import { CommandError, EXIT } from "./exit.js";
import type { Io } from "./io.js";
import { outputOption, printAnswer } from "./output.js";

/** More than a gateway accepts by default; one that accepts more is called with another client. */
const MAX_INPUT = 64 * 1024 * 1024;

export function call(io: Io): Command {
  const command = clientCommand("call <service> <endpoint> [json]", "call an endpoint with JSON (-: from stdin)", [
    outputOption(["json", "yaml"]),
  ]);
  examples(
    command,
    `portico call helloworld Call '{"name":"Ada"}'`,
    "portico call helloworld Call - < request.json",
    "portico call auth Rules/List",
  );
  return command.action(async (service: string, endpoint: string, json = "{}") => {
    const { client, output } = connect(io, command);
    const request = json === "-" ? await readAll(io) : json;
    await printAnswer(io, output, await client.call(service, endpoint, request));
  });
}

async function readAll(io: Io): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of io.stdin) {
    size += chunk.length;
    if (size > MAX_INPUT) throw new CommandError("Standard input is larger than 64 MiB", EXIT.usage);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks).toString("utf8");
}
