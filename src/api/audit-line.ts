/** A record of the audit trail as a line of JSON: the same from every export. */
import type { AuditRecord } from "./types.js";

/** The fields of a line, in this order. docs/audit.md describes them. */
export const AUDIT_FIELDS = [
  ...["cursor", "revision", "time", "namespace", "actor", "action", "subject", "administrator"],
  ...["address", "key", "requestId"],
] as const as readonly (keyof AuditRecord)[];

/** The time is in milliseconds, because not every reader of JSON takes more digits. */
export function auditLine({ time, ...record }: AuditRecord): string {
  const line = { ...record, time: time.replace(MORE_THAN_MS, "$1Z").replace(".000Z", "Z") };
  return `${JSON.stringify(Object.fromEntries(AUDIT_FIELDS.map((field) => [field, line[field]])))}\n`;
}

const MORE_THAN_MS = /(\.\d{3})\d+Z$/;
