/** What an authority counts for metrics. */
import { droppedRecords } from "./log/audit/audit-records.js";
import type { Journal } from "./log/changelog/journal.js";
import type { Leases } from "./log/leases/leases.js";
import type { FailedLogins } from "./login/failed-logins.js";

type Counts = Iterable<readonly [label: string, count: number]>;

export interface AuthorityMeasures {
  /** The revision of the newest change in the state. */
  readonly revision: number;
  /** How many guards follow this authority, its own included. */
  readonly guards: number;
  /** How many changes were refused because of the store or the clock, by reason. */
  readonly refused: Counts;
  /** How many audit records were overwritten by newer ones of their share, by the kind of share. */
  readonly droppedRecords: Counts;
  /** How many sign-ins succeeded, by kind. */
  readonly signIns: Counts;
  /** How many attempts with a password failed, by reason. */
  readonly failedLogins: Counts;
}

/** The current values: each is read when it is asked for. */
export function measuresOf(journal: Journal, leases: Leases, failedLogins: FailedLogins): AuthorityMeasures {
  return {
    get revision() {
      return journal.state.revision;
    },
    get guards() {
      return leases.size;
    },
    get refused() {
      return journal.refusals.counts;
    },
    get droppedRecords() {
      return droppedRecords(journal.state.auditShares);
    },
    get signIns() {
      return journal.signIns.counts;
    },
    get failedLogins() {
      return failedLogins.counts;
    },
  };
}
