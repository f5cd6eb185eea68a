/**
 * `portico call`: calls an endpoint with JSON. What an endpoint streams is printed as it comes. One that takes a stream
 * is sent each line of standard input; that it does is known from the gateway's answer to a plain call. Raw bytes
 * are written as they are.
 */
import { StringDecoder } from "node:string_decoder";
import type { Command } from "commander";
import { examples } from "./command.js";
import { clientCommand, connect } from "./connection.js";
import { CommandError, EXIT } from "./exit.js";
import { CallFailure, TAKES_STREAM } from "./http.js";
import type { Io } from "./io.js";
import { outputOption, printAnswers } from "./output.js";

/** More than a gateway accepts by default; one that accepts more is called with another client. */
const MAX_INPUT = 64 * 1024 * 1024;

export function call(io: Io): Command {
  const command = clientCommand("call <service> <endpoint> [json]", "call an endpoint with JSON (-: from stdin)", [
    outputOption(["json", "yaml"]),
  ]);
  examples(
    command,
    `portico call helloworld Call '{"name":"Ada"}'`,
    `portico call helloworld Stream '{"name":"Ada","messages":"3"}'`,
    "portico call helloworld Call - < request.json",
    "portico call auth Rules/List",
  );
  return command.action(async (service: string, endpoint: string, json?: string) => {
    const { client, output } = connect(io, command);
    const request = json === "-" ? await readAll(io) : json;
    try {
      await printAnswers(io, output, client.callForMany(service, endpoint, request));
    } catch (error) {
      if (!(error instanceof CallFailure) || error.status !== TAKES_STREAM) throw error;
      const messages = json === undefined ? linesOf(io.stdin) : linesOf([request ?? ""]);
      await printAnswers(io, output, client.converse(service, endpoint, messages)).finally(() => io.stdin.destroy());
    }
  });
}

async function readAll(io: Io): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of io.stdin) {
    size += chunk.length;
    if (size > MAX_INPUT) throw new CommandError("Standard input is larger than 64 MiB", EXIT.usage);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks);
}

/** Lines that are not blank, as they come. */
async function* linesOf(
  pieces: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const piece of pieces) {
    const lines = (rest + (typeof piece === "string" ? piece : decoder.write(piece))).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_INPUT) throw new CommandError("A line is larger than 64 MiB", EXIT.usage);
    for (const line of lines) if (line.trim() !== "") yield line;
  }
  if (rest.trim() !== "") yield rest;
}
