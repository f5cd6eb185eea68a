/**
 * `portico helloworld call --help`: the help of an endpoint or a service, made from its contract.
 */
import { Help } from "commander";
import { nearest } from "../../src/contract/nearest.js";
import type { CommandConnection } from "../command/connection.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { printItem } from "../terminal/output.js";
import { quoted, visibleLines } from "../terminal/text.js";
import { type CommandEndpoint, type CommandField, findEndpoint, readContract } from "./contract.js";
import { describeService } from "./service.js";

/** Maximum number of endpoints in the examples of a service. */
const MAX_EXAMPLES = 3;
/** Maximum number of flags in the example of an endpoint. */
const MAX_FLAGS = 3;

/**
 * @param endpoint as the user typed it, or undefined for the help of the service.
 * @throws {CommandError} when there is no such service or endpoint.
 */
export async function printCallHelp(
  connection: CommandConnection,
  service: string,
  endpoint: string | undefined,
): Promise<void> {
  const { io, client, output } = connection;
  const endpoints = await readContract(client, service);
  if (endpoint === undefined) {
    if (output === undefined) write(io, examplesOf(service, endpoints.slice(0, MAX_EXAMPLES)));
    return describeService(connection, service);
  }
  const found = findEndpoint(endpoints, endpoint);
  if (found === undefined) throw noEndpoint(service, endpoint, endpoints);
  await printItem(io, output, { name: found.name, value: found, text: [] });
  if (output === undefined) write(io, helpOf(service, found, Math.min(io.stdout.columns ?? 80, 80)));
}

function write({ stdout }: Io, text: string): void {
  stdout.write(`${visibleLines(text)}\n`);
}

function noEndpoint(service: string, given: string, endpoints: readonly CommandEndpoint[]): CommandError {
  const meant = nearest(
    given.replaceAll("/", " ").toLowerCase(),
    endpoints.map(({ words }) => words),
  );
  const advice = meant === undefined ? `To see them: portico describe ${service}` : `Did you mean ${meant}?`;
  return new CommandError(`${service} has no endpoint ${given}. ${advice}`, EXIT.usage);
}

function examplesOf(service: string, endpoints: readonly CommandEndpoint[]): string {
  return `Examples:\n${endpoints.map((endpoint) => `  ${exampleOf(service, endpoint)}\n`).join("")}`;
}

/**
 * A command line that calls the endpoint: with flags if the endpoint takes flags, otherwise with
 * JSON.
 */
function exampleOf(service: string, endpoint: CommandEndpoint): string {
  const { words, takesFlags, takesStream, fields } = endpoint;
  if (takesStream) return `portico call ${service} ${endpoint.path} < messages.ndjson`;
  if (!takesFlags) return jsonExampleOf(service, endpoint);
  const shown = fields.filter(({ example }) => example !== undefined).slice(0, MAX_FLAGS);
  return ["portico", service, words, ...shown.map(({ name, example = "" }) => `--${name}=${quoted(example)}`)].join(
    " ",
  );
}

function jsonExampleOf(service: string, { path, example }: CommandEndpoint): string {
  return `portico call ${service} ${path}${example === undefined ? "" : ` ${quoted(example)}`}`;
}

function helpOf(service: string, endpoint: CommandEndpoint, width: number): string {
  const { words, comment, deprecated, takesFlags, takesStream, fields } = endpoint;
  const examples = [exampleOf(service, endpoint), ...(takesFlags ? [jsonExampleOf(service, endpoint)] : [])];
  const rest = takesFlags ? `${words}${fields.length > 0 ? " [--field=value ...]" : ""}` : "";
  const usage = takesFlags
    ? `portico ${service} ${rest} [-o json|yaml|name]`
    : `portico call ${service} ${endpoint.path} ${takesStream ? "< messages" : "<json>"} [-o json|yaml|name]`;
  const title = takesFlags
    ? "Fields:"
    : takesStream
      ? "Members of a message, one JSON object a line:"
      : "Members of the JSON:";
  const helper = new Help();
  const paragraphs = [
    `Examples:\n${examples.map((line) => `  ${line}`).join("\n")}`,
    `Usage: ${usage}`,
    ...(comment === "" ? [] : [wrapped(helper, comment, width)]),
    ...(deprecated ? ["Deprecated."] : []),
    ...(fields.length === 0 ? [] : [`${title}\n${fieldsOf(helper, endpoint, width)}`]),
  ];
  return paragraphs.join("\n\n");
}

/** One line for each field: its flag, type and comment. */
function fieldsOf(helper: Help, { fields, takesFlags }: CommandEndpoint, width: number): string {
  const term = ({ name, type }: CommandField) => `${takesFlags ? "--" : ""}${name} <${type}>`;
  // At most half of the width, because a type may be a long list of values.
  const termWidth = Math.min(Math.max(...fields.map((field) => term(field).length)), Math.floor(width / 2));
  helper.prepareContext({ helpWidth: width });
  const line = (field: CommandField) => {
    const words = [oneLine(field.comment), ...(field.required ? ["Required."] : []), ...again(field, takesFlags)];
    return helper.formatItem(term(field), termWidth, words.filter((text) => text !== "").join(" "), helper);
  };
  return fields.map(line).join("\n");
}

function again({ repeated, name }: CommandField, takesFlags: boolean): string[] {
  if (!repeated) return [];
  if (!takesFlags) return ["A list."];
  return [name.endsWith("[key]") ? "Again for more keys." : "Again for more."];
}

function wrapped(helper: Help, text: string, width: number): string {
  return text
    .split(/\n\n+/)
    .map((paragraph) => helper.boxWrap(oneLine(paragraph), width))
    .join("\n\n");
}

/** The text without the line breaks of the .proto file. */
function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, " ");
}
