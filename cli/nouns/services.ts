/** `portico services`: what can be called. */
import type { Command } from "commander";
import type { Client } from "../http/client.js";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { type Column, printList } from "../terminal/output.js";

/** portico.registry.v1.Service */
export interface Service {
  readonly name: string;
  readonly summary: string;
  readonly endpoints: readonly { readonly resource: string; readonly path: string; readonly summary: string }[];
  readonly instances: number;
}

const COLUMNS: readonly Column<Service>[] = [
  ["Name", (service) => service.name],
  ["Endpoints", (service) => `${service.endpoints.length}`],
  ["Instances", (service) => `${service.instances}`],
  ["Summary", (service) => firstSentence(service.summary)],
];

export function services(io: Io): Command {
  const command = dataCommand("services", "list the services that you may call");
  examples(command, "portico services", "portico services -o name");
  return command.action(async () => {
    const { client, output } = connect(io, command);
    await printList(io, output, await listServices(client), COLUMNS);
  });
}

/** @throws {CommandError} */
export async function listServices(client: Client): Promise<readonly Service[]> {
  const answer: { services: Service[] } = JSON.parse(await client.query("registry", "list"));
  return answer.services;
}

export function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}
