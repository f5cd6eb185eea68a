/** The audit trail as a file: CSV for a spreadsheet, or a JSON object on each line. */
import { auditLine } from "../../../src/api/audit-line.js";
import type { AuditRecord } from "../../../src/api/types.js";

const FIELDS = ["revision", "time", "actor", "action", "subject", "address", "key", "requestId"] as const;

/**
 * RFC 4180. A cell that a spreadsheet would take for a formula begins with an apostrophe, because
 * callers choose some of the texts.
 */
export function toCsv(records: readonly AuditRecord[]): string {
  const rows = records.map((record) => FIELDS.map((field) => cell(String(record[field]))).join(","));
  return [FIELDS.join(","), ...rows, ""].join("\r\n");
}

export function toJsonLines(records: readonly AuditRecord[]): string {
  return records.map(auditLine).join("");
}

function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
