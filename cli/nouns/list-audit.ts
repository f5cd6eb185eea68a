/** `portico auth list audit`: who changed what. */
import { type Command, Option } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { type Column, instant, printList } from "../terminal/output.js";

interface AuditRecord {
  readonly revision: string;
  readonly time: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
}

const COLUMNS: readonly Column<AuditRecord>[] = [
  ["Revision", (record) => record.revision],
  ["Time", (record) => instant(record.time)],
  ["Actor", (record) => record.actor],
  ["Action", (record) => record.action],
  ["Subject", (record) => record.subject],
];

export function listAudit(io: Io): Command {
  const command = dataCommand("audit", "list who changed what, newest first", [
    new Option("--limit <number>", "how many, 1 to 1000 (default 100)"),
    new Option("--before <revision>", "only changes before this one"),
  ]);
  examples(command, "portico auth list audit", "portico auth list audit --limit 10 --before 512");
  return command.action(async ({ limit, before }: { limit?: string; before?: string }) => {
    const { client, output } = connect(io, command);
    const { records } = await client.authority<{ records: AuditRecord[] }>("Audit/List", { limit, before });
    await printList(io, output, records, COLUMNS);
  });
}
