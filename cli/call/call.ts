/**
 * `portico call`: calls an endpoint with JSON. What an endpoint streams is printed as it comes. One that takes a stream
 * is sent each line of standard input; that it does is known from the gateway's answer to a plain call. Raw bytes
 * are written as they are.
 */
import { isUtf8 } from "node:buffer";
import type { Command } from "commander";
import type { Client } from "../http/client.js";
import { clientCommand, connect } from "../http/connection.js";
import { CallFailure, TAKES_STREAM } from "../http/failure.js";
import { linesOf } from "../http/lines.js";
import { examples } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { isRedirected, refuseInput } from "../terminal/input.js";
import type { Io } from "../terminal/io.js";
import { outputOption, printAnswers } from "../terminal/output.js";
import { findEndpoint, readContract } from "./contract.js";

/** More than a gateway accepts by default; one that accepts more is called with another client. */
const MAX_INPUT = 64 * 1024 * 1024;

export function call(io: Io): Command {
  const command = clientCommand("call <service> <endpoint> [json]", "call an endpoint with JSON (-: from stdin)", [
    outputOption(),
  ]);
  examples(
    command,
    `portico call helloworld Call '{"name":"Ada"}'`,
    `portico call helloworld Stream '{"name":"Ada","messages":"3"}'`,
    "portico call helloworld Call - < request.json",
    "portico call auth Rules/List",
  );
  return command.action(async (service: string, endpoint: string, json?: string) => {
    const { client, output } = connect(io, command, "read");
    if (json !== "-") await checkInput(io, client, service, endpoint, json);
    const request = json === "-" ? await readAll(io) : json;
    try {
      await printAnswers(io, output, client.callForMany(service, endpoint, request));
    } catch (error) {
      if (!(error instanceof CallFailure) || error.status !== TAKES_STREAM) throw error;
      const messages = messagesOf(request === undefined ? io.stdin : [Buffer.from(request)]);
      await printAnswers(io, output, client.converse(service, endpoint, messages)).finally(() => io.stdin.destroy());
    }
  });
}

/**
 * Refuses data on standard input that would not be read.
 * @throws {CommandError}
 */
async function checkInput(io: Io, client: Client, service: string, endpoint: string, json: string | undefined) {
  if (!isRedirected(io.stdin)) return;
  if (json !== undefined) {
    return refuseInput(io, "Standard input is not read where the request is given as JSON. Leave out one of the two");
  }
  // A stream of messages is read from it. What the contract does not tell, the call will.
  const endpoints = await readContract(client, service).catch(() => []);
  const takesStream = findEndpoint(endpoints, endpoint)?.takesStream;
  if (takesStream !== false) return;
  refuseInput(io, `Standard input is not read. To send it as the request: portico call ${service} ${endpoint} -`);
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

/**
 * Lines that are not blank, as they come.
 * @throws {CommandError} where one is not UTF-8.
 */
async function* messagesOf(input: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<string> {
  let number = 0;
  for await (const line of linesOf(input)) {
    number++;
    if (!isUtf8(line)) throw new CommandError(`Line ${number} of standard input is not UTF-8`, EXIT.usage);
    const text = line.toString();
    if (text.trim() !== "") yield text;
  }
}
