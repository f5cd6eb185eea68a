/** The audit log: who changed what. */
import { Option } from "commander";
import type { AuditRecord } from "../../src/api/types.js";
import { gatewayCommand } from "../command/command.js";
import { type Column, instant, printList } from "../terminal/output.js";
import { exportAudit } from "./audit-export.js";
import type { Noun } from "./noun.js";

const COLUMNS: readonly Column<AuditRecord>[] = [
  ["Revision", ({ revision }) => revision],
  ["Time", ({ time }) => instant(time)],
  ["Actor", ({ actor }) => actor],
  ["Action", ({ action }) => action],
  ["Subject", ({ subject }) => subject],
  ["Address", ({ address }) => address],
  ["With", ({ key }) => key],
  ["Request", ({ requestId }) => requestId],
];

export const audit: Noun = {
  list: gatewayCommand({
    usage: "audit",
    summary: "list who changed what, newest first",
    examples: ["portico auth list audit", "portico auth list audit --limit 10 --before 512"],
    options: [
      new Option("--limit <number>", "how many, 1 to 1000 (default 100)"),
      new Option("--before <revision>", "only changes before this one"),
    ],
    async run({ io, client, output }, { limit, before }: { limit?: string; before?: string }) {
      const { records } = await client.ask("auth/Audit/List", { limit, before });
      await printList(io, output, records, COLUMNS);
    },
  }),
  export: exportAudit,
};
