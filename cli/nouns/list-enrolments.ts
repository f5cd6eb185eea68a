/** `portico auth list enrolments`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { type Column, instant, printList } from "../terminal/output.js";

interface Enrolment {
  readonly name: string;
  readonly id: string;
  readonly created: string;
}

const COLUMNS: readonly Column<Enrolment>[] = [
  ["Name", (enrolment) => enrolment.name],
  ["ID", (enrolment) => enrolment.id],
  ["Created", (enrolment) => instant(enrolment.created)],
];

export function listEnrolments(io: Io): Command {
  const command = dataCommand("enrolments", "list who may join: gateways and services");
  examples(command, "portico auth list enrolments", "portico auth list enrolments -o json");
  return command.action(async () => {
    const { client, output } = connect(io, command);
    const { enrolments } = await client.authority<{ enrolments: Enrolment[] }>("Enrolments/List");
    await printList(io, output, enrolments, COLUMNS);
  });
}
