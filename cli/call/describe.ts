/** `portico describe`: a service's endpoints and messages. */
import type { Command } from "commander";
import { type Connection, connect, dataCommand } from "../http/connection.js";
import { named } from "../http/did-you-mean.js";
import { listServices, type Service } from "../nouns/services.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { type Column, printItem, printList } from "../terminal/output.js";
import { visibleLines } from "../terminal/text.js";

type Endpoint = Service["endpoints"][number];

const COLUMNS: readonly Column<Endpoint>[] = [
  ["Endpoint", ({ resource }) => resource.slice(resource.lastIndexOf(":") + 1)],
  ["Path", ({ path }) => path],
  ["Summary", ({ summary }) => summary],
];

export function describe(io: Io): Command {
  const command = dataCommand("describe <service>", "show a service's endpoints and messages");
  examples(command, "portico describe helloworld", "portico describe helloworld -o json");
  return command.action((service: string) => describeService(io, connect(io, command), service));
}

export async function describeService(io: Io, { client, output }: Connection, name: string): Promise<void> {
  const fields = new URLSearchParams({ service: name });
  const names = async () => (await listServices(client)).map((service) => service.name);
  const json = await named(client.query("registry", "describe", fields), name, names);
  const answer: { service: Service; proto: string } = JSON.parse(json);
  const { service, proto } = answer;
  await printItem(io, output, { name: service.name, value: answer, text: [visibleLines(service.summary), ""] });
  if (output !== undefined) return;
  await printList(io, undefined, service.endpoints, COLUMNS);
  io.stdout.write(`\n${visibleLines(proto.trimEnd())}\n`);
}
