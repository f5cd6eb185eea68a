/**
 * `portico call`: calls an endpoint with JSON. Responses of a stream are printed as they arrive. If
 * an endpoint takes a stream, each line of standard input is sent as a message. The gateway's
 * response to a plain call shows whether the endpoint takes a stream. Raw bytes are printed
 * unchanged.
 */
import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { serviceNames } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import type { GatewayClient } from "../http/client.js";
import { CallFailure, TAKES_STREAM } from "../http/failure.js";
import { linesOf } from "../http/request.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { fileProblem } from "../terminal/file-problem.js";
import { inputOf, isRedirected, readAll, refuseInput } from "../terminal/input.js";
import type { Io } from "../terminal/io.js";
import { printResponses } from "../terminal/output.js";
import { endpointPaths } from "./completion.js";
import { findEndpoint, readContract } from "./contract.js";

/**
 * Maximum bytes of standard input that are read as a request. It is more than a gateway accepts by
 * default.
 */
const MAX_INPUT = 64 * 1024 * 1024;

export const call = gatewayCommand({
  usage: "call <service> <endpoint> [json]",
  summary: "call an endpoint with JSON (@file, -: stdin)",
  examples: [
    `portico call helloworld Call '{"name":"Ada"}'`,
    `portico call helloworld Stream '{"name":"Ada","messages":"3"}'`,
    "portico call helloworld Call @request.json",
    "portico call helloworld Call - < request.json",
    "portico call auth Rules/List",
  ],
  completion: [serviceNames, endpointPaths],
  readsInput: true,
  async run({ io, client, output }, service: string, endpoint: string, json: string | undefined) {
    if (json !== "-") await checkInput(io, client, service, endpoint, json);
    const request = await readRequest(io, json);
    try {
      await printResponses(io, output, client.post(service, endpoint, request));
    } catch (error) {
      if (!(error instanceof CallFailure) || error.status !== TAKES_STREAM) throw error;
      const input = json?.startsWith("@") ? json.slice(1) : "standard input";
      const messages = messagesOf(request === undefined ? inputOf(io) : [Buffer.from(request)], input);
      await printResponses(io, output, client.converse(service, endpoint, messages)).finally(() => io.stdin.destroy());
    }
  },
});

/**
 * Rejects data on standard input that the command would not read.
 * @throws {CommandError}
 */
async function checkInput(io: Io, client: GatewayClient, service: string, endpoint: string, json: string | undefined) {
  if (!isRedirected(io.stdin)) return;
  if (json !== undefined) {
    return refuseInput(io, "Standard input is not read where the request is given. Leave out one of the two");
  }
  // If the contract cannot be read, the call fails later and reports the reason.
  const endpoints = await readContract(client, service).catch(() => []);
  const takesStream = findEndpoint(endpoints, endpoint)?.takesStream;
  if (takesStream !== false) return;
  refuseInput(io, `Standard input is not read. To send it as the request: portico call ${service} ${endpoint} -`);
}

/**
 * The request as given, from the file of `@file`, or from standard input.
 * @throws {CommandError} when it cannot be read, or is too large.
 */
async function readRequest(io: Io, json: string | undefined): Promise<string | Buffer | undefined> {
  if (json === "-") {
    if (io.stdin.isTTY) io.stderr.write("Type the request, then Ctrl-D on a line of its own\n");
    return readAll(inputOf(io), MAX_INPUT, () => tooLarge("Standard input"));
  }
  if (!json?.startsWith("@")) return json;
  const path = json.slice(1);
  if (path === "") throw new CommandError("@ needs the name of a file: @request.json", EXIT.usage);
  try {
    return await readAll(createReadStream(path), MAX_INPUT, () => tooLarge(path));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`The request cannot be read: ${fileProblem(error, path)}`, EXIT.usage);
  }
}

function tooLarge(input: string): CommandError {
  return new CommandError(`${input} is larger than 64 MiB`, EXIT.usage);
}

/**
 * Lines that are not blank, as they arrive.
 * @throws {CommandError} when a line is not UTF-8.
 */
async function* messagesOf(
  input: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  name: string,
): AsyncGenerator<string> {
  let number = 0;
  for await (const line of linesOf(input)) {
    number++;
    if (!isUtf8(line)) throw new CommandError(`Line ${number} of ${name} is not UTF-8`, EXIT.usage);
    const text = line.toString();
    if (text.trim() !== "") yield text;
  }
}
