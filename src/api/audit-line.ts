/** A record of the audit trail as a line of JSON: the same from every export. */
import type { AuditRecord } from "./types.js";

/** The fields of a line, in this order. docs/audit.md describes them. */
export const AUDIT_FIELDS = [
  ...["cursor", "revision", "time", "namespace", "actor", "action", "subject", "administrator"],
  ...["address", "key", "requestId"],
] as const as readonly (keyof AuditRecord)[];

export function auditLine(record: AuditRecord): string {
  return `${JSON.stringify(Object.fromEntries(AUDIT_FIELDS.map((field) => [field, record[field]])))}\n`;
}
