/**
 * Services that can be called: `portico services` lists them, `describe` and `openapi` show the
 * contract of one.
 */
import type { Endpoint, Service } from "../../src/api/types.js";
import { services as collection, firstSentence, serviceNames, withSuggestion } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import type { CommandConnection } from "../command/connection.js";
import { type Column, printItem, printList, printResponse } from "../terminal/output.js";
import { visibleLines } from "../terminal/text.js";

const COLUMNS: readonly Column<Service>[] = [
  ["Name", ({ name }) => name],
  ["Endpoints", ({ endpoints }) => `${endpoints.length}`],
  ["Instances", ({ instances }) => `${instances}`],
  ["Summary", ({ summary }) => firstSentence(summary)],
];

const UNSPECIFIED = "SERVICE_SOURCE_UNSPECIFIED";
/** Where a service was named that joined by its address; empty for any other. */
const SOURCE: Column<Service> = ["From", ({ source }) => (source === UNSPECIFIED ? "" : source.toLowerCase())];
const NO_ENDPOINTS = { summary: "", endpoints: [], instances: 0, subject: "", problems: [] };

const ENDPOINT_COLUMNS: readonly Column<Endpoint>[] = [
  ["Endpoint", ({ resource }) => resource.slice(resource.lastIndexOf(":") + 1)],
  ["Path", ({ path }) => path],
  ["Summary", ({ summary }) => firstSentence(summary)],
];

export const services = gatewayCommand({
  usage: "services",
  summary: "list the services that you may call",
  examples: ["portico services", "portico services -o name"],
  async run({ io, client, output }) {
    const { services: listed, unread } = await client.ask("registry/Registry/List");
    if (output !== undefined) return printList(io, output, listed, COLUMNS);
    const isConfigured = unread.length > 0 || listed.some(({ source }) => source !== UNSPECIFIED);
    const absent = unread.map((service) => ({ ...NO_ENDPOINTS, ...service }));
    await printList(io, output, [...listed, ...absent], isConfigured ? [...COLUMNS, SOURCE] : COLUMNS);
    for (const { name, error } of unread) io.stderr.write(`${name} has no endpoint yet: ${visibleLines(error)}\n`);
    for (const { name, problems } of listed) {
      for (const problem of problems) io.stderr.write(`Not served as ${name} declares it: ${visibleLines(problem)}\n`);
    }
  },
});

export const describe = gatewayCommand({
  usage: "describe <service>",
  summary: "show a service's endpoints and messages",
  examples: ["portico describe helloworld", "portico describe helloworld -o json"],
  completion: [serviceNames],
  run: describeService,
});

/** @throws {CommandError} when there is no such service. */
export async function describeService({ io, client, output }: CommandConnection, name: string): Promise<void> {
  const response = await withSuggestion(
    client.ask("registry/Registry/Describe", { service: name }),
    name,
    client,
    collection,
  );
  const { service, proto } = response;
  await printItem(io, output, { name: service.name, value: response, text: [visibleLines(service.summary), ""] });
  if (output !== undefined) return;
  await printList(io, undefined, service.endpoints, ENDPOINT_COLUMNS);
  io.stdout.write(`\n${visibleLines(proto.trimEnd())}\n`);
}

/**
 * Prints the endpoints of a service that this caller may call.
 * @throws {CommandError} when there is no such service.
 */
export async function printEndpoints({ io, client, output }: CommandConnection, service: string): Promise<void> {
  const response = await client.ask("registry/Registry/Describe", { service });
  await printList(io, output, response.service.endpoints, ENDPOINT_COLUMNS);
  io.stderr.write(`For one of them: portico ${service} <endpoint> --help\n`);
}

/** The document as the gateway serves it to this caller. */
export const openapi = gatewayCommand({
  usage: "openapi <service>",
  summary: "print a service's OpenAPI document",
  examples: ["portico openapi helloworld > helloworld.json", "portico openapi helloworld -o yaml"],
  formats: ["json", "yaml"],
  completion: [serviceNames],
  async run({ io, client, output }, service: string) {
    const served = await client.openApi(service);
    // The document gives its server relative to its own address. A file has no address.
    const json = served.replace('"servers":[{"url":"/"}]', `"servers":[{"url":${JSON.stringify(client.address)}}]`);
    if (output !== "yaml") return printResponse(io, output, json);
    const { jsonToYaml } = await import("../terminal/yaml.js");
    io.stdout.write(jsonToYaml(json));
  },
});
