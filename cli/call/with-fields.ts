/**
 * `portico helloworld call --name=Ada`: if the first word is not a command, it is a service.
 * Options after it are fields of the request. So Portico's own options come before it, except `-o`.
 * Fields are sent as query parameters, because the gateway knows their types.
 */
import type { Command } from "commander";
import { nearest } from "../../src/contract/nearest.js";
import { connect } from "../command/connection.js";
import type { GatewayClient } from "../http/client.js";
import { CallFailure, TAKES_STREAM } from "../http/failure.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { refuseInput } from "../terminal/input.js";
import type { Io } from "../terminal/io.js";
import { printResponses } from "../terminal/output.js";
import { findEndpoint, readContract } from "./contract.js";
import { printCallHelp } from "./help.js";
import { printEndpoints } from "./service.js";
import { type NamedValue, readWords } from "./words.js";

/** @throws {CommandError} */
export async function callService(io: Io, program: Command, service: string, words: readonly string[]): Promise<void> {
  const connection = connect(io, program, true);
  const { client } = connection;
  try {
    const { endpoint, fields, output = connection.output, help } = readWords(service, words);
    if (help) return await printCallHelp({ ...connection, output }, service, endpoint);
    const asJson = `portico call ${service} ${endpoint ?? "Call"} -`;
    refuseInput(io, `Standard input is not read here. To send it as the request: ${asJson}`);
    const query = await queryOf(client, service, endpoint, fields);
    try {
      await printResponses(io, output, client.get(service, endpoint, query));
    } catch (error) {
      if (words.length > 0 || !(await hasNoCall(error, client, service))) throw error;
      await printEndpoints(connection, service);
    }
  } catch (error) {
    throw takesStream(misplacedOption(mistypedCommand(error, service, program)), service, words);
  }
}

/**
 * Whether a service without words was not found because it has no endpoint `Call`. The service's
 * own endpoint may also respond with 404.
 */
async function hasNoCall(error: unknown, client: GatewayClient, service: string): Promise<boolean> {
  if (!(error instanceof CallFailure) || error.status !== 404 || error.service === "gateway") return false;
  const endpoints = await readContract(client, service).catch(() => []);
  return endpoints.length > 0 && findEndpoint(endpoints, undefined) === undefined;
}

/**
 * Fields as query parameters.
 * @throws {CommandError} for a field without a value that is not a boolean.
 */
async function queryOf(
  client: GatewayClient,
  service: string,
  endpoint: string | undefined,
  fields: readonly NamedValue[],
): Promise<URLSearchParams> {
  const query = new URLSearchParams();
  const isBoolean = fields.some(([, value]) => value === undefined)
    ? await booleansOf(client, service, endpoint)
    : () => false;
  for (const [name, value] of fields) {
    if (value === undefined && !isBoolean(name)) throw noValue(name);
    query.append(name, value ?? "true");
  }
  return query;
}

/**
 * The names of the boolean fields. If the contract cannot be read, no field is known as a boolean.
 */
async function booleansOf(client: GatewayClient, service: string, endpoint: string | undefined) {
  const endpoints = await readContract(client, service).catch((error) => {
    if (error instanceof CallFailure) return [];
    throw error;
  });
  const fields = findEndpoint(endpoints, endpoint)?.fields ?? [];
  const booleans = new Set(fields.filter(({ type }) => type === "boolean").map(({ name }) => normalized(name)));
  return (name: string) => booleans.has(normalized(name));
}

/**
 * Converts both forms of a field's name, `userId` and `user_id`, into the same text, for
 * comparison.
 */
function normalized(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}

function noValue(name: string): CommandError {
  return new CommandError(`--${name} needs a value: --${name}=…`, EXIT.usage);
}

/**
 * The error for calling an endpoint that takes a stream of messages with fields. Any other error is
 * returned unchanged.
 */
function takesStream(error: unknown, service: string, [endpoint = "Call"]: readonly string[]): unknown {
  if (!(error instanceof CallFailure) || error.status !== TAKES_STREAM) return error;
  const advice = `Give them as JSON, one a line: portico call ${service} ${endpoint} < messages`;
  return new CommandError(`${service} ${endpoint} takes a stream of messages. ${advice}`, EXIT.usage);
}

/**
 * The error for a word that is not a service, and for a gateway that does not respond. The word may
 * be a mistyped command.
 */
function mistypedCommand(error: unknown, word: string, program: Command): unknown {
  const noService = error instanceof CallFailure && error.status === 404 && error.service === "gateway";
  const isUnanswered = error instanceof CommandError && !(error instanceof CallFailure) && error.exit !== EXIT.usage;
  if (!noService && !isUnanswered) return error;
  const commands = program.commands.map((command) => command.name());
  const meant = nearest(word, commands);
  const [, suggested = meant] = /; did you mean \/([^/?]+)/.exec(error.message) ?? [];
  const none = `There is no command or service ${word}.`;
  if (meant !== undefined) {
    // The gateway's error text is repeated only if it says something else.
    const more = isUnanswered || suggested !== meant ? `\n${error.message}` : "";
    return new CommandError(`${none} Did you mean ${meant}?${more}`, EXIT.usage);
  }
  if (isUnanswered || suggested !== undefined) return error;
  return new CommandError(`${none} To see what there is: portico services, portico --help`, EXIT.usage);
}

const OWN_OPTIONS: ReadonlySet<string> = new Set(["url", "profile", "namespace", "output"]);

/**
 * The error for an unknown field that is an option of Portico: the option is at the wrong place.
 */
function misplacedOption(error: unknown): unknown {
  if (!(error instanceof CallFailure) || error.status !== 400) return error;
  const [, name = ""] = /^(\w+): .*parameter/.exec(error.message) ?? [];
  if (!OWN_OPTIONS.has(name)) return error;
  const place = name === "output" ? "is -o here" : "stands before the service";
  return error.with(`. Portico's own option --${name} ${place}`);
}
