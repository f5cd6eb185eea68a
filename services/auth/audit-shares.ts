/**
 * What an audit trail keeps. Who may do little must not be able to push out what others did, so a namespace's records
 * have three shares: what administrators and the authority itself did; what other accounts did, of which the account with
 * the most records gives way; and failed logins, which need no account at all.
 */
import type { AuditRecord } from "../../src/gen/portico/auth/v1/audit.js";

/** Most records of changes by administrators and by the authority itself. */
export const MAX_AUDIT = 5_000;
/** Most records of changes by other accounts. */
export const MAX_ACCOUNTS_AUDIT = 5_000;
/** Most records of failed logins. */
export const MAX_FAILED_AUDIT = 1_000;

export const LOGIN_FAILED = "login failed";

/** Adds the newest record; the oldest one of its share gives way where there are too many. */
export function addRecord(audit: AuditRecord[], record: AuditRecord): void {
  audit.push(record);
  const { max, belongs } = shareOf(record);
  if (audit.length <= max) return;
  const records = audit.filter(belongs);
  if (records.length <= max) return;
  const oldest = records[0] as AuditRecord;
  audit.splice(audit.indexOf(isOfAccount(record) ? oldestOfBusiest(records) : oldest), 1);
}

interface Share {
  /** How many of its records are kept. */
  readonly max: number;
  readonly belongs: (record: AuditRecord) => boolean;
}

function shareOf(record: AuditRecord): Share {
  if (isFailedLogin(record)) return { max: MAX_FAILED_AUDIT, belongs: isFailedLogin };
  if (record.administrator) return { max: MAX_AUDIT, belongs: ({ administrator }) => administrator };
  return { max: MAX_ACCOUNTS_AUDIT, belongs: isOfAccount };
}

function isFailedLogin({ action }: AuditRecord): boolean {
  return action === LOGIN_FAILED;
}

function isOfAccount(record: AuditRecord): boolean {
  return !record.administrator && !isFailedLogin(record);
}

/** The oldest record of the account that has the most. */
function oldestOfBusiest(records: readonly AuditRecord[]): AuditRecord {
  const counts = new Map<string, number>();
  for (const { actor } of records) counts.set(actor, (counts.get(actor) ?? 0) + 1);
  const [busiest] = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most));
  return records.find(({ actor }) => actor === busiest) as AuditRecord;
}
