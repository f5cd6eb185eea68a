/**
 * The audit trail of a namespace, bounded in three shares, so that callers with few rights cannot push out the records
 * of others: changes by administrators and the authority itself; changes by other accounts, of which the account with the
 * most records loses its oldest; and failed logins, for which a client needs no account at all.
 *
 * A start replays every change, so adding a record costs no look at the others, but where the accounts' share is full.
 */
import type { AuditRecord } from "../../../src/gen/portico/auth/v1/audit.js";

/** Most records of changes by administrators and by the authority itself. */
export const MAX_AUDIT = 5_000;
/** Most records of changes by other accounts. */
export const MAX_ACCOUNTS_AUDIT = 5_000;
/** Most records of failed logins. */
export const MAX_FAILED_AUDIT = 1_000;

/** The action of records of failed logins. */
export const LOGIN_FAILED = "login failed";
/**
 * Who failed to log in, where no account has the name that was given: a name that is not known may be a password that was typed
 * into the wrong field. No account can be called so, because of the space.
 */
export const UNKNOWN_ACCOUNT = "unknown account";

/** The audit trail of one namespace. */
export class AuditTrail {
  // Each oldest first.
  readonly #administrators: AuditRecord[] = [];
  readonly #accounts: AuditRecord[] = [];
  readonly #failedLogins: AuditRecord[] = [];
  /** How many records of the accounts' share each account has. */
  readonly #counts = new Map<string, number>();

  get #shares(): readonly (readonly AuditRecord[])[] {
    return [this.#administrators, this.#accounts, this.#failedLogins];
  }

  /** The newest records before a revision, newest first; all of them without a limit. */
  latest(limit = Number.POSITIVE_INFINITY, before?: bigint): AuditRecord[] {
    const shares = this.#shares.map((records) => ({ records, left: endBefore(records, before) }));
    const found: AuditRecord[] = [];
    while (found.length < limit) {
      const [first, ...others] = shares.filter(({ left }) => left > 0);
      if (first === undefined) break;
      const revisionOf = ({ records, left }: typeof first): bigint => records[left - 1]!.revision;
      const newest = others.reduce((most, one) => (revisionOf(one) > revisionOf(most) ? one : most), first);
      found.push(newest.records[--newest.left]!);
    }
    return found;
  }

  /** All records, oldest first in each share; added in this order, they give the same trail. */
  copy(): AuditRecord[] {
    return this.#shares.flat();
  }

  /** Adds the newest record; one of its share gives way where there are too many. */
  add(record: AuditRecord): void {
    if (record.action === LOGIN_FAILED) push(this.#failedLogins, record, MAX_FAILED_AUDIT);
    else if (record.administrator) push(this.#administrators, record, MAX_AUDIT);
    else this.#addOfAccount(record);
  }

  #addOfAccount(record: AuditRecord): void {
    this.#accounts.push(record);
    this.#count(record.actor, 1);
    if (this.#accounts.length <= MAX_ACCOUNTS_AUDIT) return;
    const [busiest] = [...this.#counts].reduce((most, one) => (one[1] > most[1] ? one : most));
    const oldest = this.#accounts.findIndex(({ actor }) => actor === busiest);
    this.#accounts.splice(oldest, 1);
    this.#count(busiest, -1);
  }

  #count(actor: string, more: number): void {
    const count = (this.#counts.get(actor) ?? 0) + more;
    if (count === 0) this.#counts.delete(actor);
    else this.#counts.set(actor, count);
  }
}

function push(records: AuditRecord[], record: AuditRecord, max: number): void {
  records.push(record);
  if (records.length > max) records.shift();
}

/** How many of the records, oldest first, are of an earlier revision. */
function endBefore(records: readonly AuditRecord[], before: bigint | undefined): number {
  if (before === undefined) return records.length;
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (records[middle]!.revision < before) low = middle + 1;
    else high = middle;
  }
  return low;
}
